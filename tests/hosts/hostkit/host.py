"""Knows where the two Hermes environments are."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

#: A generation, and the variable that names its environment if it is not ``.venvs/NAME``.
GENERATIONS = {"old": "LCM_HOST_OLD", "new": "LCM_HOST_NEW"}


@dataclass(frozen=True)
class Host:
    """One Hermes environment."""

    generation: str  # "old" or "new"
    environment: Path

    @property
    def python(self) -> Path:
        return self.environment / "bin" / "python"

    @property
    def hermes(self) -> Path:
        return self.environment / "bin" / "hermes"

    @property
    def site_packages(self) -> Path:
        return next(self.environment.glob("lib/python3*/site-packages"))

    @property
    def engine_folder(self) -> Path:
        """Where the host itself looks for an engine called lcm."""
        return self.site_packages / "plugins" / "context_engine" / "lcm"

    def clean(self) -> None:
        """Leave no engine in the host's own folder: it would win over every other copy."""
        shutil.rmtree(self.engine_folder, ignore_errors=True)

    @contextlib.contextmanager
    def unchanged(self) -> Iterator[None]:
        """Nobody puts an engine into the host's own folder meanwhile, or takes one away."""
        with (self.environment / "engine_folder.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    @property
    def is_new(self) -> bool:
        return self.generation == "new"


def find_host(generation: str) -> Host | None:
    """The environment of *generation*, or None where it has not been made."""
    named = os.environ.get(GENERATIONS[generation])
    host = Host(generation, Path(named) if named else ROOT / ".venvs" / generation)
    return host if host.hermes.exists() else None
