"""A throw-away Hermes home with the plugin in it, and the commands run there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from lcm.demo.files import copy_plugin
from lcm.demo.model import MODEL, SUMMARY_MODEL

from .host import ROOT, Host

DRIVERS = Path(__file__).resolve().parent.parent / "drivers"

#: More than the slowest command takes on two busy cores, and still an end.
PATIENCE_SECONDS = 300


class Way(Enum):
    """The three places where a Hermes looks for the plugin."""

    HOME = "the folder plugins/lcm of the home"
    HOST = "the folder plugins/context_engine/lcm of the host"
    PIP = "the entry point of an installed distribution"


class HermesHome:
    """One home: its config, its plugin, its database, and whatever is run in it."""

    def __init__(self, folder: Path, host: Host, model_url: str) -> None:
        self.host = host
        self.folder = folder
        self.path = folder / "hermes"
        self.work = folder / "work"
        self.patience = PATIENCE_SECONDS
        for new in (self.path / "plugins", self.work, folder / "home"):
            new.mkdir(parents=True)
        self._python_path: list[str] = []
        self.variables: dict[str, str] = {}
        """More of the environment of whatever is run here."""
        endpoint = {"provider": "custom", "base_url": model_url, "api_key": "sk-nobody"}
        self.config: dict[str, Any] = {
            "model": {**endpoint, "default": MODEL, "context_length": 65536},
            "context": {"engine": "lcm"},
            "plugins": {"enabled": ["lcm"]},
            "auxiliary": {
                "compression": {**endpoint, "model": SUMMARY_MODEL, "context_length": 131072},
                "title_generation": {"enabled": False},
            },
            "compression": {"enabled": True},
            "memory": {"provider": "", "nudge_interval": 0},
            # A background review starts at its own time; test_traps.py has it on.
            "skills": {"creation_nudge_interval": 0},
        }

    @property
    def database(self) -> Path:
        return self.path / "lcm" / "lcm.db"

    def install(self, way: Way = Way.HOME) -> None:
        """Put the plugin where *way* says."""
        if way is Way.HOME:
            copy_plugin(ROOT, self.path / "plugins" / "lcm")
        elif way is Way.HOST:
            copy_plugin(ROOT, self.host.engine_folder)
        else:
            self._python_path.append(str(self._distribution()))

    def _distribution(self) -> Path:
        """The wheel of this clone, unpacked with its metadata, as pip does it."""
        source, target = self.folder / "source", self.folder / "site"
        copy_plugin(ROOT, source)
        shutil.copy(ROOT / "pyproject.toml", source)
        (source / "README.md").touch()
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        subprocess.run([*command, "--target", str(target), str(source)], check=True, timeout=600)
        return target

    def environment(self, **more: str) -> dict[str, str]:
        """A process's environment in which nothing of the user's is left."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("HERMES", "LCM_", "PYTEST", "COV_", "PYTHON"))
            and not name.endswith(("_API_KEY", "_TOKEN"))
        }
        return {
            **kept,
            "HOME": str(self.folder / "home"),
            "HERMES_HOME": str(self.path),
            "HERMES_YOLO_MODE": "1",
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": os.pathsep.join(self._python_path),
            "TERM": "dumb",
            **self.variables,
            **more,
        }

    def run(self, command: Sequence[str], **variables: str) -> subprocess.CompletedProcess[str]:
        """Run *command* in this home, with the config as it is now."""
        (self.path / "config.yaml").write_text(json.dumps(self.config, indent=2))
        return subprocess.run(
            list(command),
            env=self.environment(**variables),
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=self.patience,
            check=False,
        )

    def hermes(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the ``hermes`` command."""
        return self.run([str(self.host.hermes), *arguments])

    def start(self, driver: str, job: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
        """Run one of the drivers in the host's Python, whatever becomes of it."""
        job_file = self.folder / "job.json"
        job_file.write_text(json.dumps(job))
        return self.run([str(self.host.python), str(DRIVERS / f"{driver}.py"), str(job_file)])

    def drive(self, driver: str, job: Mapping[str, Any]) -> dict[str, Any]:
        """Run one of the drivers in the host's Python, and return its result.

        Raises AssertionError with what it printed if it gave none.
        """
        done = self.start(driver, job)
        results = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
        said = f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        assert done.returncode == 0, said
        assert results, said
        result: dict[str, Any] = json.loads(results[-1].removeprefix("RESULT "))
        return result

    def log(self) -> str:
        """Everything that the host has written to its logs."""
        return "\n".join(
            path.read_text(errors="replace") for path in (self.path / "logs").glob("*.log")
        )
