"""Which files of a clone are the plugin, and how they get into a Hermes home."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path


def plugin_parts(root: Path) -> list[str]:
    """The names, below *root*, of everything that an installed plugin consists of.

    pyproject.toml says which rooms there are, so a new one is never forgotten here.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    packages = project["tool"]["setuptools"]["packages"]
    rooms = sorted(name.split(".")[1] for name in packages if name.count(".") == 1)
    files = ["__init__.py", "plugin.yaml", "py.typed", "LICENSE", "README.md"]
    return [*(name for name in files if (root / name).exists()), *rooms]


def copy_plugin(root: Path, target: Path) -> None:
    """Make *target* hold the plugin and nothing else. An older copy is replaced."""
    if target.exists():
        shutil.rmtree(target)
    target.mkdir(parents=True)
    for name in plugin_parts(root):
        source = root / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target / name)
