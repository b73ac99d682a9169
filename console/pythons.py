"""The Python that runs Hermes: which one it is, and what it answers."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

__all__ = ["asked", "python_of_hermes"]

#: How the first lines of a program name its Python: itself, looked up by env, or behind a shell.
_SHEBANGS: Final = (
    re.compile(rb"#!\s*(?:/\S*/env\s+(?:-S\s+)?)?(\S*python\S*)"),
    re.compile(rb"#!\s*/bin/sh\n'''exec' [\"']?([^\"'\n]*?python[^\"'\s]*)"),
)


def python_of_hermes() -> str:
    """The Python in the first line of the `hermes` on PATH, whatever Python asks.

    Where none is on PATH it is this one, if it has Hermes; empty if it is not known.
    """
    program = shutil.which("hermes")
    if not program:
        return sys.executable if importlib.util.find_spec("hermes_cli") is not None else ""
    try:
        with Path(program).resolve().open("rb") as file:
            begin = file.read(600)
    except OSError:
        return ""
    found = next((match for each in _SHEBANGS if (match := each.match(begin))), None)
    name = found[1].decode("utf-8", "replace") if found else ""
    return name if "/" in name else shutil.which(name) or ""


def asked(python: str, code: str, *words: str) -> str | None:
    """What another Python prints; None if it cannot be asked."""
    try:
        done = subprocess.run(  # noqa: S603 - the Python that runs Hermes, and code of ours
            [python, "-B", "-c", code, *words],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
            cwd="/",
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
