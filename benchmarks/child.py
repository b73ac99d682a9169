"""What needs a process of its own: ``python -m benchmarks.child MODE ROWS FILE``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from .plugin import ROOT

__all__ = ["ask"]


def ask(mode: str, size: int, path: Path, *more: str) -> dict[str, Any]:
    """What a child tells.

    Raises:
        CalledProcessError: it failed; its own words are on stderr.
    """
    command = [sys.executable, "-m", "benchmarks.child", mode, str(size), str(path)]
    done = subprocess.run(  # noqa: S603 - ourselves
        command, cwd=ROOT, input="".join(more), stdout=subprocess.PIPE, text=True, check=True
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _main(mode: str, size: int, path: Path) -> None:
    from . import compaction, memory, verification

    if mode in ("levels", "prose"):
        told: dict[str, Any] = compaction.first_in_process(path, size, prose=mode == "prose")
    elif mode == "imports":
        told = compaction.imports(path, size, json.load(sys.stdin))
    elif mode == "verify":
        told = verification.checked(path, size)
    elif mode == "rehash":
        told = verification.rehashed(path, size)
    else:
        told = memory.peak_of(mode, path, size)
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
