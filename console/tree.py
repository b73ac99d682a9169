"""``tree``: the graph of summaries, from the top down to the messages."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ..dag.graph import Branch as Outline
from ..dag.graph import cycle, outline
from ..dag.source_text import message_text
from ..storage.errors import StoreDamaged
from ..storage.protocol import Store
from ..storage.records import Node, Session
from .branches import Branch, Branches, Label
from .present import present, standing
from .screen import flat, many
from .status import no_session
from .verb import Answer, Call, Progress, number_to

__all__ = ["DEPTH", "add", "gather", "run", "view"]

#: Levels of nodes that are shown unless asked otherwise.
DEPTH: Final = 3
_MOST_DEPTH: Final = 99
#: Summaries under no other that are shown unless all are asked for.
_NEWEST: Final = 50
_PREVIEW: Final = 200
_BARE: Final = "nothing compacted yet"
_UNREAD: Final = "under no summary that can be read"
_SHORT: Final = 8


def gather(
    store: Store,
    session: Session,
    *,
    depth: int = DEPTH,
    messages: bool = False,
    everything: bool = True,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """The summaries of the session's line, oldest first, and what is under none of them.

    Without *everything* only what is under the newest at the top is read, and no turn of a message, which
    :func:`view` does not show.

    Raises:
        StoreDamaged: the graph goes round in circles.
    """
    now = present(store, session)
    frame = now.frame
    nodes = standing(store, session.line, frame)
    if cycle(list(nodes.values())):
        raise StoreDamaged(
            "The graph of summaries is damaged. Run `hermes lcm verify`.", store.path
        )
    levels = {source.node or "": source.level for source in frame.sources} if frame else {}
    show = _Show(store, session.line, levels, messages=messages, turns=everything)
    top = list(outline(list(nodes.values())))
    shown = []
    for number, branch in enumerate(top, 1):
        wanted = everything or number > len(top) - _NEWEST
        shown.append(show.node(branch, depth if wanted else 1))
        if progress is not None:
            progress("summaries at the top", number, len(top))
    turns = [entry.turn for entry in now.behind]
    return {
        "session": session.name,
        "nodes": shown,
        "verbatim": {
            "messages": len(now.behind),
            "turns": [min(turns), max(turns)] if turns else None,
            "tokens": sum(entry.tokens for entry in now.behind),
        },
    }


class _Show:
    """Nodes and messages as data."""

    def __init__(
        self, store: Store, line: int, levels: Mapping[str, int], *, messages: bool, turns: bool
    ) -> None:
        self.store, self.line, self.levels = store, line, levels
        self.messages, self.turns = messages, turns

    def node(self, branch: Outline, depth: int) -> dict[str, Any]:
        """A node with what is under it, to that depth."""
        node = branch.node
        data: dict[str, Any] = {
            "uid": node.uid,
            "kind": node.kind,
            "depth": node.depth,
            "turns": [node.first_turn, node.last_turn],
            "messages": node.messages,
            "tokens": node.source_tokens,
            "topic": node.topic,
            "degraded": node.degraded,
            "shown_at": self.levels.get(node.uid),
        }
        if depth > 1:
            data["sources"] = [self.node(source, depth - 1) for source in branch.sources]
            if self.messages:
                data["leaves"] = self._leaves(node)
            return data
        if branch.sources:
            data["hidden"] = len(branch.sources)
            data["hidden_shown"] = sum(map(self._shown_in, branch.sources))
        own = sum(source.message is not None for source in node.sources)
        if self.messages and own:
            data["hidden_messages"] = own
        return data

    def _shown_in(self, branch: Outline) -> int:
        """How many nodes of a branch the summary row shows."""
        return (branch.node.uid in self.levels) + sum(map(self._shown_in, branch.sources))

    def _leaves(self, node: Node) -> list[dict[str, Any]]:
        """The node's own messages, in the version that was summarised."""
        pairs = [(s.message, s.version) for s in node.sources if s.message is not None]
        turns = self._turns(node, [number for number, _ in pairs]) if self.turns else {}
        return [
            {
                "uid": message.uid,
                "role": message.role,
                "turn": turns.get(message.id),
                "text": message_text(row)[:_PREVIEW],
            }
            for message, row in self.store.parsed(pairs, damaged=True)
        ]

    def _turns(self, node: Node, own: Sequence[int]) -> dict[int, int]:
        """The turn of each of its own messages: nearly always they are all that stands in its span."""
        if node.line == self.line and len(own) == node.messages:
            here = self.store.entries(
                self.line, first=node.first_seq, last=node.last_seq, brief="places"
            )
            turns = {entry.id: entry.turn for entry in here}
            if turns.keys() >= set(own):
                return turns
        return {entry.id: entry.turn for entry in self.store.placed(self.line, own)}


def view(data: Mapping[str, Any], *, everything: bool = True) -> Branches:
    """The tree; without *everything* the newest of very many summaries that are under no other."""
    return Branches(
        Branch([(f"session {flat(data['session'])}", "bold")], _below(data, everything))
    )


def _below(data: Mapping[str, Any], everything: bool) -> Iterator[Branch]:  # noqa: FBT001 - as it was given
    first = 0 if everything else max(len(data["nodes"]) - _NEWEST, 0)
    if first:
        them = "it" if first == 1 else "them"
        said = f"{many(first, 'older summary')}, and what is under {them}: --all"
        yield Branch([(said, "dim")])
    for node in data["nodes"][first:]:
        yield Branch(_label(node, top=True), _grown(node, 1))
    rest = data["verbatim"]
    what = "in the context word for word" if data["nodes"] else data.get("bare", _BARE)
    said = f"{many(rest['messages'], 'message')}, {many(rest['tokens'], 'token')}"
    where = f"{_turns(*rest['turns'])}, " if rest["turns"] else ""
    yield Branch([(f"{what}: {where}{said}", "")])


def _grown(node: Mapping[str, Any], level: int) -> Iterator[Branch]:
    """What is under a node that stands on that level, from 1."""
    for each in node.get("sources", ()):
        yield Branch(_label(each, top=False), _grown(each, level + 1))
    for leaf in node.get("leaves", ()):
        said = flat(leaf["text"])[: _PREVIEW // 2] or f"{flat(leaf['role'])}: (nothing)"
        yield Branch([(f"{leaf['uid'][:_SHORT]} {said}", "dim")])
    if hidden := node.get("hidden"):
        shown = node["hidden_shown"]
        said = (
            f" (further down, {shown} {'is' if shown == 1 else 'are'} in the context)"
            if shown
            else ""
        )
        yield Branch([(f"{hidden} more below{said}: --depth {level + 1}", "dim")])
    if hidden := node.get("hidden_messages"):
        yield Branch([(f"{many(hidden, 'message')} below: --depth {level + 1}", "dim")])


def _turns(first: int, last: int) -> str:
    return f"turn {first}" if first == last else f"turns {first}-{last}"


def _label(node: Mapping[str, Any], *, top: bool) -> Label:
    said = f" {_turns(*node['turns'])}, {many(node['messages'], 'message')}, {many(node['tokens'], 'token')}"
    label = [(f"{node['uid'][:_SHORT]}{said}", "cyan")]
    if node["shown_at"] is not None:
        label.append((f", shown at {node['shown_at']}", "green"))
    elif top:  # the context has neither it nor anything over it
        label.append((", prepared", "cyan dim"))
    if node["degraded"]:
        label.append((", extracted", "yellow"))
    return [*label, (f": {flat(node['topic'])}", "cyan")] if node["topic"] else label


def run(call: Call) -> Answer:
    """The graph, where any session began."""
    session = call.found()
    if session is None:
        said = no_session(call.store, call.facts)
        return Answer({"session": None, "note": said}, shown=[said])
    messages = bool(call.options["messages"])
    depth = call.options["depth"] or (_MOST_DEPTH if messages else DEPTH)
    everything = bool(call.options.get("all"))
    data = gather(
        call.open(),
        session,
        depth=depth,
        messages=messages,
        everything=everything or bool(call.options.get("json")),
        progress=call.progress,
    )
    if call.salvaged:
        data["bare"] = _UNREAD
    return Answer(data, shown=[view(data, everything=everything)])


def add(parser: argparse.ArgumentParser) -> None:
    """How far down."""
    parser.add_argument(
        "--depth",
        dest="lcm_depth",
        type=number_to(_MOST_DEPTH),
        metavar="N",
        help=f"levels to show (default: {DEPTH}; with --messages: all)",
    )
    parser.add_argument(
        "--all",
        dest="lcm_all",
        action="store_true",
        help=f"not only the {_NEWEST} newest at the top",
    )
    parser.add_argument(
        "--messages",
        dest="lcm_messages",
        action="store_true",
        help="show the messages under each leaf too, which are a level of their own",
    )
