"""Puts the plugin into a person's own Hermes home, and takes it out again.

Every change is shown first, and none is begun unless all can be written. The order is such that
a failure leaves a Hermes that works: dependencies, then files, then the config. The database is
never touched.
"""

from __future__ import annotations

import difflib
import itertools
import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import record
from .environment import (
    Trouble,
    bring,
    installer,
    python_of_hermes,
    requirements,
    shown,
    uninstaller,
    unmet,
)
from .files import copy_plugin, hand_over, plugin_parts, same_plugin, write_private
from .terminal import Terminal


def with_endings(text: str, old: str) -> str:
    """*text*, whose lines end in LF, with the line endings that its lines have in *old*."""
    lines, before = text.split("\n"), old.split("\n")
    end = "\r" if old.count("\r\n") * 2 > old.count("\n") else ""
    bare = [line.removesuffix("\r") for line in before]
    kept: list[str] = []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, bare, lines, autojunk=False).get_opcodes():
        same = tag == "equal"
        kept += before[i:j] if same else [f"{line}{end}" for line in lines[k:m]]
    kept[-1] = kept[-1].removesuffix("\r")  # nothing ends after the last line's end
    return "\n".join(kept)


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

    def config_bytes(self) -> bytes:
        return self.config.read_bytes() if self.config.exists() else b""

    def config_text(self) -> str:
        """The config as it stands; raises Trouble if it is no text."""
        try:
            return self.config_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Trouble(f"{self.config} cannot be read: {error}") from error

    def edited(self, action: str, before: dict[str, Any]) -> Edit:
        """The config after *action*; raises Trouble, with what to do by hand, if it is not to be read."""
        script = Path(__file__).with_name("config_edit.py")
        old = self.config_text()
        job = {"text": old.replace("\r\n", "\n"), "action": action, "before": before}
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
                f"{self.config} cannot be edited: {answer['error']}\nNothing was changed. Put it right with an "
                f"editor and try again. By hand: {_by_hand(action, before)}"
            )
        text = with_endings(answer["text"], old)
        return Edit(text, answer["before"], answer["remark"], compacts=answer["compacts"])

    def as_it_was(self, before: dict[str, Any]) -> Edit | None:
        """The config from before the installation, if nobody has changed it since; else None."""
        if before.get("wrote") != record.digest(self.config_bytes()):
            return None
        if before["backup"] is None:
            return Edit("", before, gone=True)
        backup = self.path / before["backup"]
        return Edit(backup.read_bytes().decode("utf-8"), before) if backup.exists() else None


def _by_hand(action: str, before: Mapping[str, Any]) -> str:
    """What a person does to a config in which the plugin cannot be switched "on" or "off"; *before*: what it said."""
    if action == "on":
        return "`lcm` in the list plugins.enabled, and `engine: lcm` under context."
    former = before.get("engine")
    engine = former if former not in (None, "lcm") else "compressor"
    return f"take `lcm` out of plugins.enabled, and write `engine: {engine}` under context in place of `engine: lcm`."


@dataclass(frozen=True)
class Edit:
    """What is to become of a config."""

    #: The whole new text, with its line endings.
    text: str
    #: What the config said before, for the record.
    before: dict[str, Any]
    #: The comment that stays behind ``context.engine`` though the value changes; "" if none.
    remark: str = ""
    #: There is to be no file, as there was none.
    gone: bool = False
    #: Hermes asks the engine that it uses to compact.
    compacts: bool = True


def find_home(folder: str, python: str | None, ours: Path, *, undo: bool = False) -> Home:
    """The home at *folder*; raises Trouble if it is no folder or no Hermes is found.

    *undo*: what was put in is to be taken out.

    *ours*: where this clone keeps environments and homes of its own. Its Hermes runs no home but those.
    """
    path = Path(folder).expanduser().resolve()
    if not path.is_dir():
        more = "There is nothing to undo." if undo else "Hermes makes its home at its first start."
        raise Trouble(f"{path} is no folder. {more}")
    own = path.is_relative_to(ours.resolve())
    return Home(path, python_of_hermes(python, None if own else ours))


def _unwritable(home: Home, *, config: bool, plugin: bool) -> Path | None:
    """The first place that a change would fail at, or None."""
    folders, files = [home.path], []
    if plugin:
        above = home.plugin.parent
        folders += [above] if os.path.lexists(above) else []
        if home.plugin.is_dir() and not home.plugin.is_symlink():
            folders += [home.plugin, *(p for p in home.plugin.rglob("*") if p.is_dir())]
    if config:
        target = home.config.resolve()
        folders.append(target.parent)
        files += [target] if target.exists() else []
    for folder in folders:
        if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            return folder
    return next((f for f in files if not f.is_file() or not os.access(f, os.W_OK)), None)


def _make_sure(home: Home, *, config: bool, plugin: bool) -> None:
    """Raise Trouble, before anything is changed, if something could not be written."""
    place = _unwritable(home, config=config, plugin=plugin)
    if place is not None:
        raise Trouble(
            f"{place} cannot be written. Nothing was changed.\nRun this as the user that Hermes "
            f"runs as, or make it writable (`ls -ld {place}` says whose it is, `lsattr -d {place}` "
            "whether it is immutable, which `chattr -i` undoes), and try again."
        )


def _backup_name(home: Home) -> Path:
    """A name that no earlier backup has."""
    plain = home.config.with_name(time.strftime("config.yaml.before-lcm-%Y%m%d-%H%M%S"))
    names = (plain.with_name(f"{plain.name}-{n}") for n in itertools.count(2))
    return plain if not plain.exists() else next(name for name in names if not name.exists())


def _write_config(home: Home, edit: Edit, kept: Path, terminal: Terminal) -> None:
    """Replace the config at once, and keep the old one as *kept*."""
    target = home.config.resolve()  # it may be a link into somebody's dotfiles
    like = target if target.exists() else home.path
    if target.exists():
        write_private(kept, target.read_bytes(), like=target)
        shutil.copystat(target, kept)
        terminal.say(f"Kept the config as it was: {kept}")
    if edit.gone:
        target.unlink()
    else:
        write_private(target, edit.text.encode("utf-8"), like=like)
    terminal.say(f"{'Removed' if edit.gone else 'Wrote'} {home.config}")


def _show_config(home: Home, edit: Edit, terminal: Terminal) -> bool:
    """Show what would change in the config; whether anything does."""
    text = home.config_text()
    if edit.text == text:
        terminal.say(f"- Nothing to change in {home.config}")
        return False
    terminal.say(f"- {'Remove' if edit.gone else 'Edit'} {home.config}:")
    old, new = (t.splitlines() for t in (text, edit.text))
    for line in difflib.unified_diff(old, new, "config.yaml", "config.yaml", lineterm="", n=2):
        terminal.say(f"    {line}")
    if edit.remark:
        terminal.say(f"  The comment behind `engine` stays: {edit.remark}")
        terminal.say("  If it speaks of the value before, change it by hand afterwards.")
    return True


def _show_packages(home: Home, missing: list[str], terminal: Terminal) -> None:
    if not missing:
        terminal.say("- Nothing to install: what the plugin needs is there.")
        return
    terminal.say(f"- Install there: {', '.join(missing)}")
    *preparations, last = installer(home.python)
    for command in (*preparations, [*last, *missing]):
        terminal.say(f"    {shown(command)}")


def into(root: Path, home: Home, terminal: Terminal, *, yes: bool) -> int:
    """Install the plugin of *root* into *home*. Doing it twice changes nothing the second time.

    Raises Trouble before the first change if something could not be written.
    """
    missing, former = unmet(home.python, requirements(root)), record.read(home.path)
    edit = home.edited("on", {})
    fresh = not same_plugin(root, home.plugin)
    terminal.title(f"The Hermes of {home.path}: what would change")
    terminal.say(f"Its Python: {home.python}")
    _show_packages(home, missing, terminal)
    verb = "Nothing to change in" if not fresh else "Replace" if home.plugin.exists() else "Make"
    terminal.say(f"- {verb} the folder {home.plugin}: {', '.join(plugin_parts(root))}")
    changed = _show_config(home, edit, terminal)
    if not (missing or fresh or changed):
        terminal.say("It is installed already. `hermes lcm status` says whether it is used.")
        _say_if_never_asked(home, edit, terminal)
        return 0
    _make_sure(home, config=changed, plugin=True)
    if not yes and not terminal.agree("Do this?"):
        terminal.say("Nothing was changed.")
        return 1
    came = _bring(home, missing, terminal)
    kept = _backup_name(home)
    wrote = record.digest(edit.text.encode("utf-8"))
    written = {"backup": kept.name if home.config.exists() else None, "wrote": wrote}
    record.write(home.path, record.with_what_is_known(former, edit.before, written, came))
    if fresh:
        _put(root, home)
        terminal.say(f"Wrote {home.plugin}")
    if changed:
        _write_config(home, edit, kept, terminal)
    _say_how_to_go_on(home, terminal)
    _say_if_never_asked(home, edit, terminal)
    return 0


def _bring(home: Home, missing: Sequence[str], terminal: Terminal) -> list[str]:
    """Install what the plugin needs, if it is not there; the names of all that came."""
    if not missing:
        return []
    with terminal.step("Installing what the plugin needs") as step:
        return bring(home.python, missing, lambda line: setattr(step, "detail", line))


def _say_how_to_go_on(home: Home, terminal: Terminal) -> None:
    terminal.say()
    terminal.say("Installed. Now start Hermes anew, and a gateway with `hermes gateway restart`:")
    terminal.say("what already runs goes on without it. `hermes lcm status` says whether it is on.")
    undo = ["scripts/quickstart", "--out-of", str(home.path), "--python", str(home.python)]
    terminal.say(f"To undo it: {shown(undo)}")


def _say_if_never_asked(home: Home, edit: Edit, terminal: Terminal) -> None:
    """Where compaction is switched off, which is a person's to decide, that nothing will ever be compacted."""
    if not edit.compacts:
        terminal.say()
        terminal.say(
            "compression.enabled is off: Hermes will never ask any engine to compact, this one neither."
        )
        terminal.say(
            f"To switch it on, write `enabled: true` under `compression:` in {home.config}"
        )


def _put(root: Path, home: Home) -> None:
    """Write the plugin, after the record: who tries again after a failure finds what was before."""
    plugins = home.plugin.parent
    given = home.plugin if plugins.exists() else plugins
    try:
        copy_plugin(root, home.plugin)
    finally:
        if given.exists():
            hand_over(given, home.path)


def out_of(home: Home, terminal: Terminal, *, yes: bool) -> int:
    """Take the plugin out of *home*; its database and the packages it needed stay.

    A config that nobody has changed since is put back byte for byte, any other is edited.
    Raises Trouble before the first change if something could not be written.
    """
    before = record.read(home.path)
    known = before if "engine" in before else {}
    edit = home.as_it_was(before) or home.edited("off", known)
    terminal.title(f"The Hermes of {home.path}: what would change")
    there = home.plugin.is_symlink() or home.plugin.exists()
    noted = record.place_in(home.path)
    for each in (*([home.plugin] if there else ()), *([noted] if noted.exists() else ())):
        terminal.say(f"- Remove {each}")
    changed = _show_config(home, edit, terminal)
    if changed and not known:
        terminal.say("  What it said before lcm came is written down nowhere.")
    if not (there or changed or noted.exists()):
        terminal.say("It is not installed there.")
        return 0
    _make_sure(home, config=changed, plugin=there)
    if not yes and not terminal.agree("Do this?"):
        terminal.say("Nothing was changed.")
        return 1
    if changed:
        _write_config(home, edit, _backup_name(home), terminal)
    _take_away(home)
    noted.unlink(missing_ok=True)  # the last: who tries again after a failure finds what was before
    if there:
        terminal.say(f"Removed {home.plugin}")
    _say_what_stays(home, before.get("packages"), terminal)
    return 0


def _take_away(home: Home) -> None:
    """Remove the plugin's folder, or the link in its place."""
    if home.plugin.is_symlink():
        home.plugin.unlink()
    elif home.plugin.exists():
        shutil.rmtree(home.plugin)


def _say_what_stays(home: Home, packages: Sequence[str] | None, terminal: Terminal) -> None:
    """What the way out leaves, for a person to delete or to keep; *packages*: None where nobody wrote them down."""
    terminal.say("Taken out. Start Hermes anew, and a gateway with `hermes gateway restart`.")
    terminal.say("What stays:")
    database = home.path / "lcm"
    if database.exists():
        terminal.say(f"- the database: {database}")
    if list(home.path.glob("config.yaml.before-lcm-*")):
        terminal.say(f"- backups of the config, yours to delete: {home.config}.before-lcm-*")
    if packages:
        terminal.say(
            "- the packages that were installed for it, unless something else needs them by now:"
        )
        terminal.say(f"    {uninstaller(home.python, packages)}")
    elif packages is None:
        terminal.say("- the packages in Hermes's Python")
    else:
        terminal.say(
            "- the packages in Hermes's Python: they were there already when it was installed"
        )
    terminal.say("- settings under `lcm:` in config.yaml, if any")
