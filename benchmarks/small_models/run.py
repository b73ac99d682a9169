"""Hold the garden's conversation with the real agent, and print every node that came of it."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...demo.install import copy_plugin
from ...demo.model import Script, ScriptedModel
from ...demo.quickstart import ROOT, config, hermes, hold
from ...demo.terminal import Terminal
from . import garden

#: Little more than what Hermes itself takes, so that a short conversation is compacted; nothing is
#: prepared ahead, so that what a summary takes is seen.
_SETTINGS = {"threshold": 0.2, "state_updates": "off"}
#: No Hermes takes a model for compression that reads less; the plugin finds out by itself.
_LEAST_CONTEXT = 65536


def main(given: Sequence[str]) -> int:
    """Play, print; 0 if the conversation went through to its end."""
    asked = _parser().parse_args(given)
    turns = garden.turns()
    terminal = Terminal()
    with ScriptedModel(Script(turns)) as chat:
        home = _lay_out(asked, chat.url)
        with terminal.step(f"{len(turns)} turns, summaries by {asked.model}") as step:
            seen = hold(asked.python, home, [turn.user for turn in turns], step, terminal)
        finals = len(turns) - len(chat.script.unsaid())
    tree = json.loads(hermes(asked.python, home, "lcm", "tree", "--depth", "9", "--json"))
    for node in _all(tree["nodes"]):
        kept = json.loads(hermes(asked.python, home, "lcm", "show", node["uid"], "--json"))
        _tell(terminal, node, kept)
    for verb in ("status", "verify"):
        terminal.title(f"hermes lcm {verb}")
        terminal.say(hermes(asked.python, home, "lcm", verb))
    terminal.say(f"{len(seen.compactions)} compactions, {finals} of {len(turns)} turns answered")
    return 0 if finals == len(turns) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.small_models.run")
    parser.add_argument("--python", type=Path, required=True, help="the Python that runs a Hermes")
    parser.add_argument("--url", required=True, help="of the server, with /v1")
    parser.add_argument("--model", required=True, help="what the server calls its model")
    parser.add_argument(
        "--leaf", type=int, default=600, help="tokens of messages under one summary"
    )
    parser.add_argument("--seconds", type=int, default=300, help="what one call may take")
    parser.add_argument("--folder", type=Path, required=True, help="made anew: home and project")
    return parser


def _lay_out(asked: argparse.Namespace, chat: str) -> Path:
    """An empty home with the plugin and its config, and the garden's files."""
    shutil.rmtree(asked.folder, ignore_errors=True)
    home: Path = asked.folder / "hermes"
    copy_plugin(ROOT, home / "plugins" / "lcm")
    garden.lay_out(asked.folder / "project")
    settings = config(chat)
    settings["auxiliary"]["transient_retries"] = 0
    settings["auxiliary"]["compression"] |= {
        "base_url": asked.url,
        "model": asked.model,
        "context_length": _LEAST_CONTEXT,
        "timeout": asked.seconds,
    }
    settings["lcm"] = {**_SETTINGS, "leaf_tokens": asked.leaf}
    (home / "config.yaml").write_text(json.dumps(settings, indent=2), "utf-8")
    return home


def _all(nodes: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for node in nodes:
        yield from _all(node.get("sources", ()))
        yield node


def _tell(terminal: Terminal, node: Mapping[str, Any], kept: Mapping[str, Any]) -> None:
    first, last = node["turns"]
    terminal.title(f"{node['uid'][:8]}, depth {node['depth']}, turns {first}-{last}")
    terminal.say(f"source: {node['tokens']} tokens; {node['degraded'] or 'written by the model'}")
    terminal.say(f"topic: {node['topic']}")
    terminal.say(f"hints: {'; '.join(kept['hints'])}")
    for level, text in kept["levels"].items():
        terminal.say(f"[{level}] {text}")
