"""``python -m benchmarks replay``: all of it, and the report."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..plugin import ROOT
from ..report import machine
from .builtin import Builtin, NoHost, Rules
from .data import DATA, conversations, sets_in
from .ours import replay
from .tables import Pair, aims, as_json, tables

__all__ = ["main"]

_WINDOWS = (8_000, 16_000, 32_000, 64_000, 128_000)


def main(arguments: Sequence[str]) -> int:
    """Replay, write the tables to standard output; 0 whatever the figures are, 2 without a host."""
    asked = _parser().parse_args(arguments)
    try:
        with Builtin(_python(asked.host)) as theirs:
            pairs = _pairs(asked, theirs)
    except (NoHost, LookupError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    about = {key: value for key, value in machine().items() if key not in ("method", "SQLite")}
    for name, value in about.items():
        sys.stdout.write(f"{name}: {value}\n")
    sys.stdout.write(f"\nlcm / Hermes's compressor\n\n{tables(pairs)}\n\n{aims(pairs)}\n")
    if asked.json:
        told = {"machine": about, "command": " ".join(arguments), "replays": as_json(pairs)}
        asked.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return 0


def _pairs(asked: argparse.Namespace, theirs: Builtin) -> list[Pair]:
    pairs = []
    for group in asked.sets or sets_in(asked.data):
        for name, rows in conversations(asked.data, group, asked.limit):
            for window in asked.windows:
                began = time.monotonic()
                rules = theirs.rules(window)
                with tempfile.TemporaryDirectory(prefix="lcm-replay-", dir=asked.folder) as folder:
                    path = Path(folder) / "lcm.db"
                    ours = replay(rows, window, path, _settings(window, rules, asked.set))
                pair = Pair(group, name, window, ours, theirs.replay(rows, window))
                pairs.append(pair)
                seconds = time.monotonic() - began
                ratio = pair.ours.cost / max(pair.theirs.cost, 1)
                sys.stderr.write(f"{group} {name} {window:,}: {ratio:.3f} ({seconds:.0f} s)\n")
    return pairs


def _settings(window: int, rules: Rules, more: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """What makes our side compact where the compressor does, and keep as much."""
    same = {"threshold": rules.threshold / window, "fresh_tail_tokens": rules.tail}
    return same | dict(more)


def _python(given: Path | None) -> Path:
    named = given or Path(os.environ.get("LCM_HOST_OLD") or ROOT / ".venvs" / "old")
    return named / "bin" / "python" if named.is_dir() else named


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks replay", description=__doc__)
    parser.add_argument("--windows", type=_whole, default=_WINDOWS, help="tokens, by commas")
    parser.add_argument("--sets", type=_names, help="data sets, by commas (default: all)")
    parser.add_argument("--limit", type=int, help="conversations of each data set")
    parser.add_argument("--data", type=Path, default=DATA, help=f"default: {DATA}")
    parser.add_argument(
        "--host", type=Path, help="Python of hermes-agent 0.19.0, or its environment"
        " (default: $LCM_HOST_OLD, else .venvs/old)",
    )  # fmt: skip
    parser.add_argument(
        "--set", type=_pair, action="append", default=[], metavar="KEY=VALUE",
        help="another setting of lcm, to try out",
    )  # fmt: skip
    parser.add_argument("--json", type=Path, help="write every replay there")
    parser.add_argument("--folder", type=Path, help="disk for the databases")
    return parser


def _whole(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split(","))


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _pair(text: str) -> tuple[str, Any]:
    key, _, value = text.partition("=")
    return key, json.loads(value)
