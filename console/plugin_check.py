"""The plugin as a host finds it: in its place, named, whole, and alone.

What hosts log of a plugin that cannot be loaded is where few look, or nowhere; so it is loaded here as
they load it, in their Python.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .check import Check, good, note, typed, wrong
from .config_file import read_config
from .pythons import asked

if TYPE_CHECKING:
    from .hosting import Hosting

__all__ = ["check_plugin"]

_NAME: Final = "lcm"


def check_plugin(host: Hosting, *, able: bool) -> Iterator[Check]:
    """Whether hosts find it and can load it; *able*: whether its packages are there, without which nobody can."""
    if host.folder:
        yield good("plugin", f"loaded from {host.folder}")
        return
    folder = host.home / "plugins" / _NAME
    try:
        found = _found(host, folder)
    except OSError as error:
        said = f"{error.filename or folder} cannot be read: {error.strerror}."
        how = typed("chmod", "-R", "u+rX", folder)
        remedy = f"Give the user that runs Hermes access: {how}; or install it again as that user."
        found = wrong("plugin", said, remedy)
    yield found
    if able and found.state == "ok" and (folder / "__init__.py").is_file():
        yield from _loads(host, folder)
    yield from _rivals(host)


def _found(host: Hosting, folder: Path) -> Check:
    """Whether it is where hosts look for it, and looks like a plugin."""
    again = f"Install it again: {_install(host)}."
    lacking = [name for name in ("plugin.yaml", "__init__.py") if not (folder / name).is_file()]
    if not lacking:
        return _named(folder, again)
    if folder.is_dir():
        said = f"{folder} lacks {' and '.join(lacking)}: hosts take it for no plugin."
        return wrong("plugin", said, again)
    if folder.is_symlink():
        said = f"{folder} is a link to {folder.readlink()}, where nothing is."
        return wrong("plugin", said, again)
    elsewhere = [each.parent for each in host.home.glob("plugins/*/plugin.yaml") if _is_ours(each)]
    if elsewhere:
        said = (
            f"The plugin is in `{elsewhere[0]}`. Hosts know it there by the name in its manifest alone, "
            "and only while lcm is in plugins.enabled."
        )
        return note("plugin", said, typed("mv", elsewhere[0], folder))
    python = host.python or sys.executable
    if asked(python, _AS_PACKAGE) == _NAME:
        said = f"installed as a package for {python}"
        unsure = " (no `hermes` on PATH: whether that runs it is not known)"
        return good("plugin", f"{said}{'' if host.python else unsure}")
    remedy = f"{_install(host)}. (Installed with pip it needs no folder.)"
    return wrong("plugin", f"It is not in `{folder}`.", remedy)


def _install(host: Hosting) -> str:
    return typed("scripts/quickstart", "--into", host.home)


def _named(folder: Path, again: str) -> Check:
    """Whether its manifest is one, and says what it is called and of which kind."""
    path = folder / "plugin.yaml"
    text = path.read_text("utf-8", "replace")
    (folder / "__init__.py").open("rb").close()
    try:
        unread = read_config(path).unread
    except ImportError:
        unread = ""
    if unread:
        return wrong("plugin", f"{unread}: hosts take it for no plugin.", again)
    if not _is_ours(path):
        return wrong(
            "plugin", f"{path} does not say `name: {_NAME}`: hosts know it by another.", again
        )
    if re.search(r"^kind:\s*standalone", text, re.MULTILINE):
        return good("plugin", f"it is in {folder}")
    return wrong("plugin", f"{path} says no `kind: standalone`: hosts may skip it.", again)


#: Load a plugin as hosts do, and copy its engine; say what is wrong, or that nothing is.
_LOAD: Final = """
import copy, importlib.util, os, sys, traceback
folder, said = sys.argv[1], sys.stdout
sys.stdout = sys.stderr
class Context:
    def register_context_engine(self, engine):
        self.engine = engine
try:
    spec = importlib.util.spec_from_file_location(
        "lcm", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
    module = sys.modules["lcm"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    context = Context()
    module.register(context)
    copy.deepcopy(context.engine)
    context.engine.clone_for_agent()
    said.write("whole")
except BaseException as error:
    at = traceback.extract_tb(error.__traceback__)[-1]
    file, line = getattr(error, "filename", None), getattr(error, "lineno", None)
    where = f"{file} line {line}" if file and line else f"{at.filename} line {at.lineno}"
    said.write(f"{type(error).__name__}: {error} ({where})")
"""


def _loads(host: Hosting, folder: Path) -> Iterator[Check]:
    """Whether its code can be loaded by the Python that runs Hermes, and its engine copied for each agent."""
    python = host.python or sys.executable
    answer = asked(python, _LOAD, str(folder))
    if answer == "whole":
        yield good("load", "it loads, and its engine can be copied for each agent")
    elif answer:
        said = f"It cannot be loaded: {answer}. Hosts then use their own compressor, and hardly say so."
        yield wrong("load", said, f"Install it again: {_install(host)}.")
    else:
        said = f"Whether it can be loaded is not known: {python} gave no answer in time, or ended."
        yield note("load", said, "Run the doctor again, when this machine has less to do.")


def _rivals(host: Hosting) -> Iterator[Check]:
    """Other plugins that are on and bring an engine: older hosts take that of the first alone."""
    enabled = host.get("plugins", "enabled")
    for name in enabled if isinstance(enabled, list) else ():
        code = host.home / "plugins" / str(name) / "__init__.py"
        try:
            brings = name != _NAME and b"register_context_engine" in code.read_bytes()
        except OSError:
            continue
        if brings:
            said = (
                f"The plugin {name} is in plugins.enabled too and brings a context engine: older hosts take "
                "that of the plugin which they load first, and no other."
            )
            yield wrong("rival", said, f"Take {name} out of `enabled:` under `plugins:`.")


def _is_ours(manifest: Path) -> bool:
    try:
        return bool(
            re.search(r"^name:\s*lcm\s*$", manifest.read_text("utf-8", "replace"), re.MULTILINE)
        )
    except OSError:
        return False


_AS_PACKAGE: Final = (
    "import importlib.metadata as m; found = m.entry_points(group='hermes_agent.plugins');"
    "print('lcm' if any(e.name == 'lcm' for e in found) else '')"
)
