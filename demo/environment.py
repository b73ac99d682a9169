"""Finds the Python that runs a Hermes, and brings what the plugin needs into it."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

#: The released Hermes that the demonstration runs.
HERMES = "hermes-agent==0.19.0"

#: An installer's lines that say how far it is, and how much of one is worth showing.
TELLING = ("Collecting", "Downloading", "Installing", "Processing", "Resolved", "Prepared")
SHORT = 50

#: Prints the requirements, of those given as arguments, that are not met.
UNMET = """
import sys
from importlib.metadata import PackageNotFoundError, version
try:
    from packaging.requirements import Requirement
except ImportError:
    print(*sys.argv[1:], sep="\\n")
    sys.exit()
for text in sys.argv[1:]:
    wanted = Requirement(text)
    try:
        met = wanted.specifier.contains(version(wanted.name), prereleases=True)
    except PackageNotFoundError:
        met = False
    if not met:
        print(text)
"""

#: Prints the names of all distributions that are installed, as :func:`plain_name` has them.
INSTALLED = """
import re
from importlib.metadata import distributions
for each in distributions():
    try:
        name = each.metadata["Name"]
    except Exception:  # half removed: nobody's to take out
        continue
    if name:
        print(re.sub(r"[-_.]+", "-", name).lower())
"""


class Trouble(Exception):
    """Something that the person has to see to; the text says what."""


def requirements(root: Path) -> list[str]:
    """What pyproject.toml says that the plugin needs."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    return list(project["project"]["dependencies"])


def _output(command: Sequence[str | Path]) -> str | None:
    """What *command* printed, or None if it failed."""
    try:
        done = subprocess.run(  # noqa: S603 - our own commands
            [str(part) for part in command],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def stream(command: Sequence[str | Path], tell: Callable[[str], None]) -> None:
    """Run *command*, hand each line it prints to *tell*; raise Trouble with its end if it fails."""
    lines: list[str] = []
    with subprocess.Popen(  # noqa: S603
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
    ) as process:
        for line in process.stdout or ():
            lines.append(line.rstrip())
            if lines[-1].startswith(TELLING):
                tell(lines[-1][:SHORT])
    if process.returncode:
        raise Trouble("\n".join([f"this failed: {shown(command)}", *lines[-15:]]))


def runs_hermes(python: Path) -> bool:
    """Whether a Hermes can be imported there."""
    return _output([python, "-c", "import hermes_cli"]) is not None


def _interpreters(script: Path) -> list[str]:
    """The Pythons that a ``hermes`` script names: in its first line, or where it hands over."""
    try:
        text = script.read_text(encoding="utf-8", errors="replace")[:4096]
    except OSError:
        return []
    named = re.findall(r"^#!\s*(\S*python[\w.]*)", text)
    named += re.findall(r"""["']?(/[^\s"']*/bin/python[\w.]*)""", text)
    # A wrapper may call another hermes, whose neighbour is the Python.
    named += [f"{folder}/python" for folder in re.findall(r"""(/[^\s"']*/bin)/hermes\b""", text)]
    return named


def _hermes_on_path(apart_from: Path | None) -> tuple[str | None, str]:
    """(the first ``hermes`` on PATH that is not below *apart_from*, one that is)."""
    passed = ""
    for folder in os.get_exec_path():
        if found := shutil.which("hermes", path=folder):
            if apart_from is None or not Path(found).resolve().is_relative_to(apart_from.resolve()):
                return found, passed
            passed = passed or found
    return None, passed


def python_of_hermes(named: str | None, apart_from: Path | None = None) -> Path:
    """The Python that runs the user's Hermes: as *named*, or of the ``hermes`` on PATH.

    A ``hermes`` below *apart_from*, where this clone makes environments of its own, is not the user's.

    Raises Trouble, with what to do, if there is none.
    """
    if named:
        path = Path(shutil.which(named) or named).absolute()
        if not path.exists():
            raise Trouble(f"--python: there is no `{named}`.")
        if not runs_hermes(path):
            raise Trouble(f"{named} cannot import hermes_cli: it is not the Python of a Hermes.")
        return path
    command, passed = _hermes_on_path(apart_from)
    if command is None and passed:
        raise Trouble(
            f"the `hermes` on PATH is the demonstration's ({passed}), and there is no other. "
            "Open a new shell, or name the Python that runs your Hermes with --python."
        )
    if command is None:
        raise Trouble("there is no `hermes` on PATH; name the Python that runs it with --python.")
    script = Path(command).resolve()
    for candidate in [*_interpreters(script), str(script.parent / "python")]:
        if runs_hermes(Path(candidate)):
            return Path(candidate)
    raise Trouble(f"the Python that runs {command} is not found; name it with --python.")


def unmet(python: Path, wanted: Sequence[str]) -> list[str]:
    """Those of *wanted* that are not installed there."""
    printed = _output([python, "-c", UNMET, *wanted])
    return list(wanted) if printed is None else printed.split()


def installed(python: Path) -> frozenset[str] | None:
    """The names of all distributions there, or None if it does not say."""
    printed = _output([python, "-c", INSTALLED])
    return None if printed is None else frozenset(printed.split())


def plain_name(requirement: str) -> str:
    """The name in a requirement, in the one spelling that all its spellings stand for."""
    name = re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def installer(python: Path) -> list[list[str]]:
    """The commands, to be completed by requirements, that install into *python*'s environment.

    pip where it is, else uv, else pip brought back by ensurepip; Trouble if nothing is there.
    """
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
    if _output([python, "-m", "pip", "--version"]) is not None:
        return [pip]
    uv = shutil.which("uv")
    if uv:
        return [[uv, "pip", "install", "--python", str(python)]]
    if _output([python, "-c", "import ensurepip"]) is not None:
        return [[str(python), "-m", "ensurepip", "--default-pip"], pip]
    raise Trouble(
        f"{python} has neither pip nor ensurepip, and there is no uv on PATH. Install the "
        "packages named above into that environment by the means that made it, and try again."
    )


def shown(command: Sequence[str | Path]) -> str:
    """A command as a person would type it."""
    return shlex.join(str(part) for part in command)


def uninstaller(python: Path, packages: Sequence[str]) -> str:
    """The command that takes *packages*, given as requirements or names, out again: pip, if it came too, last."""
    names = sorted(dict.fromkeys(map(plain_name, packages)), key=lambda name: name == "pip")
    uv = shutil.which("uv")
    if uv and _output([python, "-m", "pip", "--version"]) is None:
        return shown([uv, "pip", "uninstall", "--python", python, *names])
    return shown([python, "-m", "pip", "uninstall", *names])


def bring(python: Path, wanted: Sequence[str], tell: Callable[[str], None]) -> list[str]:
    """Install *wanted*; the names of all that was not there before, in whatever version.

    What *wanted* needs itself comes with it; what was there in another version is not to be taken out afterwards.
    """
    before = installed(python)
    install(python, wanted, tell)
    after = installed(python)
    if before is None or after is None:
        return [plain_name(each) for each in wanted]
    return sorted(after - before)


def install(python: Path, wanted: Sequence[str], tell: Callable[[str], None]) -> None:
    """Install *wanted*; raises Trouble with the installer's last words."""
    *preparations, last = installer(python)
    for command in preparations:
        stream(command, tell)
    stream([*last, *wanted], tell)


def make(folder: Path, wanted: Sequence[str], tell: Callable[[str], None]) -> Path:
    """A virtual environment with *wanted* in *folder*, made anew unless it is there; its Python."""
    python = folder / "bin" / "python"
    stamp = folder / "made-from"
    made_from = "\n".join([sys.version, *wanted])
    if python.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == made_from:
        return python
    if importlib.util.find_spec("ensurepip") is None:
        raise Trouble("this Python has no venv; on Debian: sudo apt-get install -y python3-venv")
    another = stamp.exists()
    shutil.rmtree(folder, ignore_errors=True)
    tell("another Python or other packages, so anew" if another else "making the environment")
    stream([sys.executable, "-m", "venv", folder], tell)
    install(python, wanted, tell)
    stamp.write_text(made_from, encoding="utf-8")
    return python
