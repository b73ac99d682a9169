"""What a session's context holds now: the summary row of the host's last list, and what follows it.

The engine notes which row that is, and what the list shows in part (:mod:`lcm.dag.shown`). Where it has noted
nothing (a conversation that was imported, or kept by an older version), and until a list tells what the host has
made of a compaction, this is what the last compaction gave, with what was said since and without what was withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..dag.renderer import block, filler_row, render, summary_row
from ..dag.shown import Shown, shown_on
from ..dag.taken import taken
from ..dag.tokens import count_message, count_text
from ..storage.protocol import Store
from ..storage.records import Entry, Node, Pass, Session
from ..tools.describe import stamp

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
    """The compaction whose summary row is shown, if there is one and it is known."""
    frame: Node | None
    """What that row stands for; None: nothing is replaced."""
    blocks: tuple[Block, ...]
    head_tokens: int
    """Of the summary row beside its blocks: what it is, what can be asked for, and the row that may follow it."""
    behind: tuple[Entry, ...]
    """The messages that are there, in the order of the list."""
    measured: int | None = None
    """Tokens of the list, by what the last compaction left and what was said since; None: that is not known."""
    is_seen: bool = False
    """Whether the host's last list showed it so; else it is what the last compaction gave, and no list since
    tells whether the host has taken that over."""
    parts: frozenset[int] = frozenset()
    """Our numbers of the messages behind that are shown by head and tail."""

    @property
    def since(self) -> str | None:
        """When the summary row was made, in words; None: there is none."""
        made = self.done or self.frame
        return stamp(made.time) if made and self.frame else None

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
    noted = shown_on(store, session.line) or Shown(awaited=True)
    given = [frames[done.frame] for done in reversed(passes) if done.frame in frames]
    frame = _frame(store, session.line, noted, given)
    behind = _behind(store, session.line, frame)
    blocks, head = _blocks(store, frame, given[::-1], passes) if frame else ((), 0)
    return Present(
        passes=tuple(passes),
        done=next((p for p in reversed(passes) if frame and p.frame == frame.uid), None),
        frame=frame,
        blocks=blocks,
        head_tokens=head,
        behind=tuple(behind),
        measured=_measured(store, session, passes, frame),
        is_seen=not noted.awaited,
        parts=frozenset(noted.parts).intersection(entry.id for entry in behind),
    )


def _frame(store: Store, line: int, noted: Shown, given: Sequence[Node]) -> Node | None:
    """What the summary row of the list stands for; *given*: those that compactions gave, newest first."""
    if not noted.awaited and not noted.frame:
        return None
    found = [] if noted.awaited else store.nodes([noted.frame])
    return next(iter(found), None) or next((e for e in given if _stands(store, line, e)), None)


def _behind(store: Store, line: int, frame: Node | None) -> list[Entry]:
    """The messages in the list behind the summary row."""
    if frame is None:
        first = 0
    elif frame.line == line:
        first = frame.last_seq + 1
    else:
        first = _end(store, line, frame) + 1
    behind = [entry for entry in store.entries(line, first=first) if not entry.withdrawn]
    return [*store.placed(line, frame.lifted), *behind] if frame and frame.lifted else behind


def _measured(
    store: Store, session: Session, passes: Sequence[Pass], frame: Node | None
) -> int | None:
    """The list after the last compaction and what came behind it, unless that or something before was taken back."""
    last = passes[-1] if passes else None
    end = last.detail.get("end") if last else None
    named = store.session(last.session) if last else None
    if last is None or type(end) is not int or named is None or named.line != session.line:
        return None
    if last.frame and (frame is None or frame.uid != last.frame):
        return None
    if any(not entry.returned for entry in store.withdrawn(session.line, last=end)):
        return None
    since = store.entries(session.line, first=end + 1)
    return last.tokens_after + sum(entry.tokens for entry in since if not entry.withdrawn)


def passes_of(store: Store, session: Session) -> list[Pass]:
    """Compactions of the conversation that its host took over, oldest first.

    Of its parents those before it was branched off.
    """
    lineage = store.lineage(session.line)
    sessions = {each.name: each for each in store.sessions(lineage)}
    until = {each.name: float("inf") for each in sessions.values() if each.line == session.line}
    began = min(sessions[name].created for name in until) if until else 0.0
    for line in lineage[1:]:
        family = [each for each in sessions.values() if each.line == line]
        until |= {each.name: began for each in family}
        began = min((each.created for each in family), default=began)
    return [done for done in taken(store, list(until)) if done.time <= until[done.session]]


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
