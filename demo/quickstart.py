"""``scripts/quickstart``: the whole job, seen here, or the plugin in a Hermes of one's own."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import environment, story
from .environment import Trouble
from .files import copy_plugin
from .install import find_home, into, out_of
from .model import MODEL, SUMMARY_MODEL, Request, Script, ScriptedModel
from .terminal import Step, Terminal

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".venvs"
HERE = Path(__file__).resolve().parent
MARK = "LCM-DEMO "

#: Fewer compactions than this would show nothing about a graph of summaries.
ENOUGH = 3

EXPLANATION = """\
Without options: makes an environment in .venvs/quickstart, installs Hermes and this plugin
there with a home folder of its own, holds a long conversation with the real agent against a
scripted model on this machine (no key, no network but the package registry), and shows what
became of it. About a minute after the installation. To undo it: delete .venvs/quickstart*.
"""

ENVIRONMENT = """\
environment:
  PYTHON      the Python 3.11, 3.12 or 3.13 that runs this script and makes the environment:
              PYTHON=python3.12 scripts/quickstart (default: the first that is found).
              Another one than the last time makes the environment anew.
"""


@dataclass
class Seen:
    """What happened in the conversation."""

    engine: str = ""
    compactions: list[dict[str, Any]] = field(default_factory=list)
    final: str = ""


def config(url: str) -> dict[str, Any]:
    """The config.yaml of the demonstration's home (JSON is YAML)."""
    endpoint = {"provider": "custom", "base_url": url, "api_key": "no-key-needed"}
    return {
        "model": {**endpoint, "default": MODEL, "context_length": 65536},
        "context": {"engine": "lcm"},
        "plugins": {"enabled": ["lcm"]},
        # Smaller than by default, so that a talk of a minute has summaries of summaries.
        "lcm": {"leaf_tokens": 2000, "condense_fanin": 2},
        "auxiliary": {
            "compression": {**endpoint, "model": SUMMARY_MODEL, "context_length": 131072},
            "title_generation": {"enabled": False},
        },
    }


def surroundings(home: Path) -> dict[str, str]:
    """A process's environment that knows this home and none of the user's keys."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HERMES", "LCM_", "PYTHON")) and not name.endswith("_API_KEY")
    }
    local = "127.0.0.1,localhost"
    return {
        **kept,
        "HERMES_HOME": str(home),
        "HOME": str(home.parent),
        "HERMES_YOLO_MODE": "1",
        "NO_PROXY": local,
        "no_proxy": local,
    }


def lay_out(folder: Path, url: str) -> Path:
    """An empty home with the plugin, its config and the project to work on; the home."""
    shutil.rmtree(folder, ignore_errors=True)
    home = folder / "hermes"
    copy_plugin(ROOT, home / "plugins" / "lcm")
    (home / "config.yaml").write_text(json.dumps(config(url), indent=2), encoding="utf-8")
    story.lay_out(folder / "project")
    return home


def events(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """The driver's events, as they come; what the host prints beside them is dropped."""
    for line in process.stdout or ():
        if line.startswith(MARK):
            yield json.loads(line.removeprefix(MARK))


def hold(python: Path, home: Path, texts: list[str], step: Step, terminal: Terminal) -> Seen:
    """Hold the conversation; raises Trouble with the host's last words if it breaks off."""
    seen = Seen()
    errors = home.parent / "errors.txt"
    with (
        errors.open("w") as complaints,
        subprocess.Popen(  # noqa: S603
            [str(python), "-P", str(HERE / "drive.py")],
            cwd=home.parent / "project",
            env=surroundings(home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
        ) as process,
    ):
        if process.stdin:
            process.stdin.write(json.dumps(texts))
            process.stdin.close()
        for event in events(process):
            note(event, seen, step, len(texts), terminal)
    if process.returncode:
        raise Trouble(f"the conversation broke off:\n{errors.read_text()[-2000:]}")
    return seen


def note(event: dict[str, Any], seen: Seen, step: Step, total: int, terminal: Terminal) -> None:
    """Remember one event and let the terminal know."""
    if event["event"] == "engine":
        seen.engine = event["name"]
    elif event["event"] == "turn":
        seen.final = event["final"]
        step.detail = f"turn {event['number']} of {total}, {len(seen.compactions)} compactions"
    elif event["event"] == "compaction":
        seen.compactions.append(event)
        terminal.say(f"  {compaction(len(seen.compactions), event)}")


def compaction(number: int, event: dict[str, Any]) -> str:
    """One compaction in a line."""
    rows = event["rows"]
    return (
        f"compaction {number}: {event['before']:,} -> {event['after']:,} tokens,"
        f" {rows[0]} -> {rows[1]} messages, {event['seconds']} s"
    )


def hermes(python: Path, home: Path, *arguments: str) -> str:
    """What ``hermes`` prints for *arguments*; raises Trouble if it fails."""
    done = subprocess.run(  # noqa: S603
        [str(python.with_name("hermes")), *arguments],
        env=surroundings(home),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        said = f"{done.stdout}\n{done.stderr}".strip()
        raise Trouble(f"`hermes {' '.join(arguments)}` failed:\n{said[-2000:]}")
    return done.stdout.strip()


def asked(requests: list[Request], tool: str) -> Request:
    """The request that the model answered by calling *tool*."""
    for request in requests:
        if any(call.name == tool for call in request.reply.calls):
            return request
    raise Trouble(f"the agent never called {tool}")


def show_recall(requests: list[Request], seen: Seen, terminal: Terminal) -> None:
    """How the agent found again what had left its context."""
    search, opening = asked(requests, "lcm_grep"), asked(requests, "lcm_expand")
    final = requests[-1]
    context = json.dumps(search.messages, ensure_ascii=False)
    gone = "no longer in the context" if story.ODD_FACT not in context else "STILL IN THE CONTEXT"
    terminal.title("A fact of the first day, asked for on the last")
    terminal.say(f'user:   "{story.ODD_QUESTION}"   (the sentence is {gone})')
    terminal.say(f"agent:  lcm_grep {search.reply.calls[0].wire}")
    terminal.say(f"answer: {opening.messages[-1]['content'][:400]}")
    terminal.say(f"agent:  lcm_expand {opening.reply.calls[0].wire}")
    terminal.say(f"answer: {final.messages[-1]['content'][:400]}")
    terminal.say(f"agent:  {seen.final}")


def demonstrate(terminal: Terminal) -> int:
    """Install, converse, show. Raises Trouble where a person has to see to something."""
    wanted = [environment.HERMES, *environment.requirements(ROOT)]
    with terminal.step("Hermes, in .venvs/quickstart") as step:
        python = environment.make(
            PLACE / "quickstart", wanted, lambda line: setattr(step, "detail", line.strip())
        )
    return perform(python, PLACE / "quickstart-home", terminal)


def perform(python: Path, folder: Path, terminal: Terminal) -> int:
    """Converse with the Hermes of *python*, in *folder*, and show what became of it."""
    turns = story.turns()
    with ScriptedModel(Script(turns)) as model:
        home = lay_out(folder, model.url)
        with terminal.step(f"{len(turns)} turns with the real agent") as step:
            step.detail = "Hermes starts"
            seen = hold(python, home, [turn.user for turn in turns], step, terminal)
        requests = model.spoken
    return show(python, home, requests, seen, terminal)


def show(python: Path, home: Path, requests: list[Request], seen: Seen, terminal: Terminal) -> int:
    """The closing show; 0 if everything is as it should be."""
    with terminal.step("Reading the database with `hermes lcm`"):
        tree = hermes(python, home, "lcm", "tree")
        verified = hermes(python, home, "lcm", "verify")
    terminal.title(f"Compactions by the engine `{seen.engine}` (window 65,536 tokens)")
    for number, event in enumerate(seen.compactions, 1):
        terminal.say(compaction(number, event))
    terminal.title("The graph of summaries (hermes lcm tree)")
    terminal.say(tree)
    show_recall(requests, seen, terminal)
    terminal.title("The store (hermes lcm verify)")
    terminal.say(verified)
    terminal.say()
    terminal.say("Look around, in the environment and the home of this run:")
    terminal.say(f"  export HERMES_HOME={shlex.quote(str(home))}")
    terminal.say(f"  export PATH={shlex.quote(str(python.parent))}:$PATH")
    terminal.say("  hermes lcm status     # and why, tree, search WORDS, view --open")
    terminal.say("Into your own Hermes, in a new shell: scripts/quickstart --into ~/.hermes")
    good = seen.engine == "lcm" and story.ODD_FACT in seen.final and len(seen.compactions) >= ENOUGH
    return 0 if good else 1


def arguments(given: list[str]) -> argparse.Namespace:
    """The command line, read."""
    parser = argparse.ArgumentParser(
        prog="scripts/quickstart",
        description=EXPLANATION,
        epilog=ENVIRONMENT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--into", metavar="HERMES_HOME", help="install into a Hermes of your own")
    where.add_argument("--out-of", metavar="HERMES_HOME", help="undo that; the database stays")
    parser.add_argument(
        "--python",
        help="with --into and --out-of: the Python that runs that Hermes, "
        "if `hermes` is not on PATH",
    )
    parser.add_argument("--yes", action="store_true", help="change things without asking")
    return parser.parse_args(given)


def main(given: list[str]) -> int:
    """Run the command line; 0 if all went well."""
    options = arguments(given)
    terminal = Terminal()
    try:
        if options.into:
            home = find_home(options.into, options.python, PLACE)
            return into(ROOT, home, terminal, yes=options.yes)
        if options.out_of:
            home = find_home(options.out_of, options.python, PLACE, undo=True)
            return out_of(home, terminal, yes=options.yes)
        return demonstrate(terminal)
    except Trouble as trouble:
        sys.stderr.write(f"scripts/quickstart: {trouble}\n")
        return 1
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        sys.stderr.write(f"scripts/quickstart: {error.strerror or error}{where}\n")
        if options.into:
            sys.stderr.write("Start it again, or undo what was done with --out-of.\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("\nscripts/quickstart: stopped. It can be started again.\n")
        return 130
