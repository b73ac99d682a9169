"""Puts the plugin into a person's own Hermes home, and takes it out again.

Every change is shown first. The order is such that a failure leaves a Hermes that works:
dependencies, then files, then the config. The database is never touched.
"""

from __future__ import annotations

import difflib
import itertools
import json
import shutil
import subprocess
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .environment import Trouble, install, installer, python_of_hermes, requirements, unmet
from .terminal import Terminal

#: Remembers, beside the plugin, what the config said before.
RECORD = "installed.json"


def plugin_parts(root: Path) -> list[str]:
    """The names, below *root*, of everything that an installed plugin consists of.

    pyproject.toml says which rooms there are, so a new one is never forgotten here.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    packages = project["tool"]["setuptools"]["packages"]
    rooms = sorted({name.split(".")[1] for name in packages if "." in name})
    files = ["__init__.py", "plugin.yaml", "py.typed", "LICENSE", "README.md"]
    return [*(name for name in files if (root / name).exists()), *rooms]


def copy_plugin(root: Path, target: Path) -> None:
    """Make *target* hold the plugin and nothing else. An older copy is replaced."""
    if target.is_symlink():
        target.unlink()
    elif target.exists():
        shutil.rmtree(target)
    target.mkdir(parents=True)
    for name in plugin_parts(root):
        source = root / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target / name)


@dataclass(frozen=True)
class Home:
    """A Hermes home and the Python that runs its Hermes."""

    path: Path
    python: Path

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

    @property
    def plugin(self) -> Path:
        return self.path / "plugins" / "lcm"

    @property
    def record(self) -> Path:
        return self.plugin / RECORD

    def config_text(self) -> str:
        return self.config.read_text(encoding="utf-8") if self.config.exists() else ""

    def recorded(self) -> dict[str, Any]:
        """What the config said before the plugin came; nothing if that is not known."""
        if not self.record.exists():
            return {}
        return dict(json.loads(self.record.read_text(encoding="utf-8")))

    def edited(self, action: str, before: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The config's text after *action*, and what was there before it."""
        script = Path(__file__).with_name("config_edit.py")
        job = {"text": self.config_text(), "action": action, "before": before}
        done = subprocess.run(  # noqa: S603
            [str(self.python), "-P", str(script)],
            input=json.dumps(job),
            capture_output=True,
            text=True,
            check=False,
        )
        failed: dict[str, Any] = {"error": done.stderr[-800:]}
        answer: dict[str, Any] = failed if done.returncode else json.loads(done.stdout)
        if "error" in answer:
            raise Trouble(
                f"{self.config} cannot be edited: {answer['error']}\nBy hand: `lcm` in the list "
                "plugins.enabled, and `engine: lcm` under context."
            )
        return answer["text"], answer["before"]


def find_home(folder: str, python: str | None) -> Home:
    """The home at *folder*; raises Trouble if it is no folder or no Hermes is found."""
    path = Path(folder).expanduser().absolute()
    if not path.is_dir():
        raise Trouble(f"{path} is no folder. Hermes makes its home at its first start.")
    return Home(path, python_of_hermes(python))


def _backup_name(home: Home) -> Path:
    """A name that no earlier backup has."""
    plain = home.config.with_name(time.strftime("config.yaml.before-lcm-%Y%m%d-%H%M%S"))
    names = (plain.with_name(f"{plain.name}-{n}") for n in itertools.count(2))
    return plain if not plain.exists() else next(name for name in names if not name.exists())


def _write_config(home: Home, text: str, terminal: Terminal) -> None:
    target = home.config.resolve()  # it may be a link into somebody's dotfiles
    fresh = target.with_name("config.yaml.new")
    fresh.write_text(text, encoding="utf-8")
    if target.exists():
        kept = _backup_name(home)
        shutil.copy2(target, kept)
        shutil.copymode(target, fresh)
        terminal.say(f"Kept the config as it was: {kept}")
    fresh.replace(target)
    terminal.say(f"Wrote {home.config}")


def _show_difference(home: Home, text: str, terminal: Terminal) -> bool:
    """Show what would change in the config; whether anything does."""
    old, new = (t.splitlines() for t in (home.config_text(), text))
    lines = list(difflib.unified_diff(old, new, "config.yaml", "config.yaml", lineterm="", n=2))
    for line in lines or ["config.yaml: nothing to change"]:
        terminal.say(f"    {line}")
    return bool(lines)


def into(root: Path, home: Home, terminal: Terminal, *, yes: bool) -> int:
    """Install the plugin of *root* into *home*. Doing it twice changes nothing the second time."""
    missing = unmet(home.python, requirements(root))
    text, before = home.edited("on", {})
    before = home.recorded() or before
    terminal.title(f"What would change for the Hermes of {home.path}")
    terminal.say(f"Its Python: {home.python}")
    if missing:
        terminal.say(f"1. Install there: {', '.join(missing)}")
        for command in installer(home.python):
            terminal.say(f"    {' '.join(command)} ...")
    else:
        terminal.say("1. Nothing to install: what the plugin needs is there.")
    verb = "Replace" if home.plugin.exists() else "Make"
    terminal.say(f"2. {verb} the folder {home.plugin}: {', '.join(plugin_parts(root))}")
    terminal.say(f"3. Edit {home.config}:")
    changed = _show_difference(home, text, terminal)
    if not yes and not terminal.agree("Do this?"):
        terminal.say("Nothing was changed.")
        return 1
    if missing:
        with terminal.step("Installing what the plugin needs") as step:
            install(home.python, missing, lambda line: setattr(step, "detail", line))
    copy_plugin(root, home.plugin)
    home.record.write_text(json.dumps(before), encoding="utf-8")
    terminal.say(f"Wrote {home.plugin}")
    if changed:
        _write_config(home, text, terminal)
    terminal.say()
    terminal.say("Installed. The next Hermes that starts keeps everything: `hermes lcm status`.")
    terminal.say(f"To undo it: scripts/quickstart --out-of {home.path} --python {home.python}")
    return 0


def out_of(home: Home, terminal: Terminal, *, yes: bool) -> int:
    """Take the plugin out of *home*; its database and the packages it needed stay."""
    text, _ = home.edited("off", home.recorded())
    terminal.title(f"What would change for the Hermes of {home.path}")
    there = home.plugin.is_symlink() or home.plugin.exists()
    terminal.say(f"1. {'Remove' if there else 'Nothing to remove at'} {home.plugin}")
    terminal.say(f"2. Edit {home.config}:")
    changed = _show_difference(home, text, terminal)
    if not there and not changed:
        return 0
    if not yes and not terminal.agree("Do this?"):
        terminal.say("Nothing was changed.")
        return 1
    if changed:
        _write_config(home, text, terminal)
    if home.plugin.is_symlink():
        home.plugin.unlink()
    elif there:
        shutil.rmtree(home.plugin)
    database = home.path / "lcm"
    terminal.say(
        f"Taken out. The database stays: {database}" if database.exists() else "Taken out."
    )
    return 0
