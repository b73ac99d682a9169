"""What a session's context holds now, as far as the store tells: the newest summary row, and what follows it.

The host's list is the truth of it, and the store is not told which of them a host has dropped again. So
this is what the list was at the last compaction, with what was said since and without what was withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..dag.renderer import block, filler_row, render, summary_row
from ..dag.tokens import count_message, count_text
from ..storage.protocol import Store
from ..storage.records import Entry, Node, Pass, Session

__all__ = ["Block", "Present", "passes_of", "present", "standing"]

_NOWHERE: Final = -1


@dataclass(frozen=True, slots=True)
class Block:
    """A summary that the summary row shows."""

    node: Node
    level: int
    """The size at which it is shown."""
    tokens: int
    since: float
    """When it was first shown, whatever its size was then."""


@dataclass(frozen=True, slots=True)
class Present:
    """The rows of a context."""

    passes: tuple[Pass, ...]
    """Compactions of the conversation up to here, those of the sessions that it descends from included."""
    done: Pass | None
    """The compaction whose summary row is shown; None: nothing is replaced."""
    frame: Node | None
    """What that row stands for."""
    blocks: tuple[Block, ...]
    head_tokens: int
    """Of the summary row beside its blocks: what it is, what can be asked for, and the row that may follow it."""
    behind: tuple[Entry, ...]
    """The messages that are there, in the order of the list."""
    measured: int | None = None
    """Tokens of the list, by what the last compaction left and what was said since; None: that is not known."""

    @property
    def whole(self) -> int:
        """Tokens of all rows, if no result of a tool is shown in part."""
        shown = self.head_tokens + sum(each.tokens for each in self.blocks)
        return shown + sum(entry.tokens for entry in self.behind)

    @property
    def tokens(self) -> int:
        """All that is in the list, as lcm counts it."""
        return self.whole if self.measured is None else self.measured


def present(store: Store, session: Session) -> Present:
    """The context of *session*."""
    passes = passes_of(store, session)
    frames = {node.uid: node for node in store.nodes([done.frame for done in passes if done.frame])}
    shown = next(
        (done for done in reversed(passes) if done.frame in frames
         and _stands(store, session.line, frames[done.frame])), None
    )  # fmt: skip
    frame = frames[shown.frame] if shown else None
    first = frame.last_seq + 1 if frame and frame.line == session.line else 0
    if frame and frame.line != session.line:
        first = _end(store, session.line, frame) + 1
    behind = [entry for entry in store.entries(session.line, first=first) if not entry.withdrawn]
    if frame and frame.lifted:
        behind = [*store.placed(session.line, frame.lifted), *behind]
    blocks: tuple[Block, ...] = ()
    head = 0
    if frame:
        blocks, head = _blocks(
            store, frame, [frames[p.frame] for p in passes if p.frame in frames], passes
        )
    measured = _measured(store, session, passes)
    return Present(tuple(passes), shown, frame, blocks, head, tuple(behind), measured)


def _measured(store: Store, session: Session, passes: Sequence[Pass]) -> int | None:
    """The list after the last compaction and what came behind it, unless something before that was taken back."""
    last = passes[-1] if passes else None
    end = last.detail.get("end") if last else None
    named = store.session(last.session) if last else None
    if last is None or type(end) is not int or named is None or named.line != session.line:
        return None
    if any(not entry.returned for entry in store.withdrawn(session.line, last=end)):
        return None
    since = store.entries(session.line, first=end + 1)
    return last.tokens_after + sum(entry.tokens for entry in since if not entry.withdrawn)


def passes_of(store: Store, session: Session) -> list[Pass]:
    """Compactions of the conversation, oldest first: of its parents those before it was branched off."""
    sessions = {each.name: each for each in store.sessions()}
    until = {each.name: float("inf") for each in sessions.values() if each.line == session.line}
    began = min(sessions[name].created for name in until) if until else 0.0
    for line in store.lineage(session.line)[1:]:
        family = [each for each in sessions.values() if each.line == line]
        until |= {each.name: began for each in family}
        began = min((each.created for each in family), default=began)
    return [done for done in store.passes(list(until)) if done.time <= until[done.session]]


def _stands(store: Store, line: int, frame: Node) -> bool:
    """Whether all messages under *frame* stand on the line and none was withdrawn: else no list shows it."""
    if frame.line == line:
        gone = {entry.id for entry in store.withdrawn(line, last=frame.last_seq)}
        return not gone or gone.isdisjoint(number for number, _ in store.stands_for(frame.uid))
    under = {number for number, _ in store.stands_for(frame.uid)}
    return sum(not entry.withdrawn for entry in store.placed(line, under)) == len(under)


def _end(store: Store, line: int, node: Node) -> int:
    """Order key on *line* of the last message under a node that was made on another."""
    under = store.stands_for(node.uid)
    placed = store.placed(line, [under[-1][0]]) if under else []
    return placed[0].seq if placed else _NOWHERE


def _blocks(
    store: Store, frame: Node, frames: Sequence[Node], passes: Sequence[Pass]
) -> tuple[tuple[Block, ...], int]:
    nodes = {
        node.uid: node for node in store.nodes([source.node or "" for source in frame.sources])
    }
    since = _since(frames, passes)
    blocks = tuple(
        Block(nodes[source.node], source.level, count_text(block(nodes[source.node], source.level)),
              since.get(source.node, frame.time))
        for source in frame.sources
        if source.node in nodes and source.level in nodes[source.node].texts
    )  # fmt: skip
    if len(blocks) < len(frame.sources):
        return blocks, 0
    row = count_message(summary_row(frame, render(frame, nodes), stamp=False))
    return blocks, max(row - sum(each.tokens for each in blocks), 0) + count_message(filler_row())


def _since(frames: Sequence[Node], passes: Sequence[Pass]) -> dict[str, float]:
    """When each node was first shown, by uid."""
    times: dict[str, float] = {}
    when = {done.frame: done.time for done in reversed(passes)}
    for frame in frames:
        for source in frame.sources:
            if source.node:
                times.setdefault(source.node, when[frame.uid])
    return times


def standing(store: Store, line: int, frame: Node | None) -> dict[str, Node]:
    """Summaries of what stands on the line, by uid; those made on another line may be among them."""
    nodes = {node.uid: node for node in store.nodes_on(store.lineage(line))}
    wanted = {source.node for source in frame.sources if source.node} if frame else set()
    while missing := wanted - nodes.keys():
        found = store.nodes(sorted(missing))
        nodes |= {node.uid: node for node in found}
        below = {source.node for node in found for source in node.sources if source.node}
        wanted = below | (wanted - missing)
    ends = dict(_ends(store, line, nodes))
    here = {entry.id for entry in store.placed(line, ends.values())}
    return {uid: node for uid, node in nodes.items() if node.line == line or ends[uid] in here}


def _ends(store: Store, line: int, nodes: Mapping[str, Node]) -> Iterator[tuple[str, int]]:
    for node in nodes.values():
        if node.line != line:
            under = store.stands_for(node.uid)
            yield node.uid, under[-1][0] if under else 0
