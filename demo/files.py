"""Files in a person's own home: the plugin, and a config that holds keys.

What is written is complete before it takes its place, belongs to whom the home belongs to, and can be
read by nobody who could not read what was there.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import shutil
import tomllib
from pathlib import Path

#: Within the plugin's folder, a copy that is not complete yet.
BESIDE = ".new"


def plugin_parts(root: Path) -> list[str]:
    """The names, below *root*, of everything that an installed plugin consists of.

    pyproject.toml says which rooms there are, so a new one is never forgotten here.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    packages = project["tool"]["setuptools"]["packages"]
    rooms = sorted({name.split(".")[1] for name in packages if "." in name})
    others = [
        "__init__.py",
        "plugin.yaml",
        "py.typed",
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "dashboard",
        "docs",
        "skills",
    ]
    return [*(name for name in others if (root / name).exists()), *rooms]


def copy_plugin(root: Path, target: Path) -> None:
    """Make *target* hold the plugin, and nothing else. An older copy goes when the new one is whole."""
    if target.is_symlink():
        target.unlink()
    target.mkdir(parents=True, exist_ok=True)
    beside, names = target / BESIDE, plugin_parts(root)
    _remove(beside)
    beside.mkdir()
    try:
        for name in names:
            source = root / name
            if source.is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(source, beside / name, ignore=ignored)
            else:
                shutil.copy(source, beside / name)
        for old in target.iterdir():
            if old.name != BESIDE:
                _remove(old)
        for name in names:
            (beside / name).rename(target / name)
    finally:
        _remove(beside)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def same_plugin(root: Path, target: Path) -> bool:
    """Whether *target* already holds what :func:`copy_plugin` would put there."""
    if target.is_symlink() or not target.is_dir():
        return False

    def held(base: Path, names: list[str]) -> set[Path]:
        found = [p for name in names for p in (base / name, *(base / name).rglob("*"))]
        return {p.relative_to(base) for p in found if p.is_file() and p.suffix != ".pyc"}

    files = held(root, plugin_parts(root))
    there = held(target, [p.name for p in target.iterdir()])
    return files == there and all(
        filecmp.cmp(root / name, target / name, shallow=False) for name in files
    )


def write_private(path: Path, content: bytes, *, like: Path) -> None:
    """Make *path*, anew and at once, for the owner of *like*; nobody else can read it, not even meanwhile."""
    beside = path.with_name(f"{path.name}.new")
    beside.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
        hand_over(beside, like)
        if like.is_file():
            shutil.copymode(like, beside)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def hand_over(path: Path, like: Path) -> None:
    """Give *path*, and all below it, to whom *like* belongs to, as far as this user may: root may."""
    owner = like.stat()
    for each in (path, *path.rglob("*")):
        with contextlib.suppress(PermissionError):
            os.chown(each, owner.st_uid, owner.st_gid, follow_symlinks=False)
