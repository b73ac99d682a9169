"""``python -m benchmarks``: a group of figures, or ``all``; or ``replay|drift|ahead|recall|among|year``."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from .ahead import main as ahead
from .clock import Figure
from .compaction import compress
from .drift import main as drift
from .material import SETS, use
from .memory import memory
from .recall.among import main as among
from .recall.run import main as recall
from .replay.run import main as replay
from .report import as_json, machine, table
from .search import search
from .size import size
from .speed import ingest, turns
from .start import start
from .steady import steady
from .verification import verify
from .work import ROWS_PER_BLOCK
from .year import main as year

#: Sizes that are measured if nobody says otherwise.
_SIZES = {
    "ingest": (1_000, 10_000, 50_000),
    "turn": (1_000, 10_000),
    "compress": (1_000, 10_000),
    "steady": (10_000, 50_000),
    "memory": (10_000, 50_000),
    "verify": (10_000, 100_000),
    "search": (10_000, 100_000),
    "size": (10_000,),
    "start": (10_000, 50_000),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write the table to standard output; 0 whatever the figures are."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    others = {"replay": replay, "drift": drift, "ahead": ahead}
    others |= {"recall": recall, "among": among, "year": year}
    if given[:1] and given[0] in others:  # figures of another kind, and options of their own
        return others[given[0]](given[1:])
    asked = _parser().parse_args(given)
    figures: list[Figure] = []
    try:
        use(asked.transcripts)
    except LookupError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if asked.folder:
        asked.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="lcm-benchmarks-", dir=asked.folder) as folder:
        for group in _SIZES if asked.group == "all" else (asked.group,):
            sys.stderr.write(f"{group} ...\n")
            figures += _measure(group, Path(folder), asked)
    for name, value in (machine() | _material(asked.transcripts)).items():
        sys.stdout.write(f"{name}: {value}\n")
    sys.stdout.write(f"\n{table(figures)}\n")
    if asked.json:
        asked.json.write_text(json.dumps(as_json(figures), indent=1) + "\n", encoding="utf-8")
    return 0


def _material(transcripts: Path | None) -> dict[str, str]:
    said = f"{', '.join(SETS)}, repeated with changed text" if transcripts else "synthetic"
    return {"conversation": said}


def _measure(group: str, folder: Path, asked: argparse.Namespace) -> list[Figure]:
    sizes = asked.sizes or _SIZES[group]
    if group == "turn":
        return turns(folder, sizes, asked.stored, asked.runs)
    measures: dict[str, Callable[[Path, Sequence[int], int], list[Figure]]] = {
        "ingest": ingest,
        "compress": compress,
        "steady": steady,
        "memory": memory,
        "verify": verify,
        "search": search,
        "size": size,
        "start": start,
    }
    return measures[group](folder, sizes, asked.runs)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog="replay, drift, ahead, recall, among and year say with --help what they take",
    )
    parser.add_argument("group", nargs="?", choices=[*_SIZES, "all"], default="all")
    parser.add_argument("--sizes", type=_sizes, help="messages, separated by commas")
    parser.add_argument(
        "--stored", type=int, default=200_000, help="messages in the large database of turn"
    )
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each figure")
    parser.add_argument(
        "--transcripts",
        type=Path,
        metavar="FOLDER",
        help="measure with the real transcripts there (../shared/data/conv), repeated with changed text",
    )
    parser.add_argument("--json", type=Path, help="write every run there")
    parser.add_argument(
        "--folder", type=Path, help="disk to measure on (default: the temporary one)"
    )
    return parser


def _sizes(text: str) -> tuple[int, ...]:
    sizes = tuple(int(size) for size in text.split(","))
    if any(size <= 0 or size % ROWS_PER_BLOCK for size in sizes):
        raise argparse.ArgumentTypeError("sizes are multiples of four")
    return sizes


if __name__ == "__main__":
    sys.exit(main())
