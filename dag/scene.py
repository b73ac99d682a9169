"""A host's list as a pass sees it: what is compacted already, and what follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..storage.canon import decode
from ..storage.protocol import Store
from ..storage.records import Node
from .ingest import Binding, Bound
from .messages import is_flagged, starts_turn
from .tokens import count_message

__all__ = ["Live", "Scene", "beginning", "scene_of", "size_of", "speaks"]


class Live(NamedTuple):
    """A row that is not under a node yet; a tuple, for there are as many as rows."""

    row: Any
    bound: Bound


@dataclass(frozen=True, slots=True)
class Scene:
    """The list as it is: what is compacted already, and what follows."""

    frame: Node | None
    top: tuple[Node, ...]
    """The nodes that the frame shows, oldest first, without the messages among their sources; of one that is
    damaged what is left of it, which has no text."""
    live: tuple[Live, ...]
    tokens: tuple[int, ...]
    end: int
    """Order key of the last message that the list has reached."""


def scene_of(store: Store, binding: Binding, sizes: Sequence[int]) -> Scene:
    """What stands behind the newest frame; a row of ours that stands there again is left out.

    *sizes*: tokens of each row.
    """
    uids = list(dict.fromkeys(bound.frame for bound in binding.bound if bound.frame))
    frames = {node.uid: node for node in store.nodes(uids, damaged=True)}
    frame = max(frames.values(), key=lambda node: (node.last_seq, node.time), default=None)
    uids = [source.node or "" for source in frame.sources] if frame else []
    top = tuple(store.nodes(uids, brief=True, damaged=True))
    shown = [bound.frame == frame.uid if frame else True for bound in binding.bound]
    at = shown.index(True) if True in shown else 0
    places = _places(binding.bound, at)
    new = tuple.__new__  # half the time of Live(), once a row
    asked = _asked_again(binding, at)
    live, tokens = [], []
    for n, (row, bound, size) in enumerate(zip(binding.rows, binding.bound, sizes, strict=True)):
        messages = bound.messages
        if messages:
            if n < at or places[messages] != n:
                continue
            if bound.frame or (isinstance(row, dict) and row.get("_compressed_summary")):
                alone = _alone(store, bound)
                live.append(Live(alone, bound))
                tokens.append(count_message(alone))
                continue
        elif n != asked and bound.kind != "system":
            continue
        live.append(new(Live, (row, bound)))
        tokens.append(size)
    return Scene(frame, top, tuple(live), tuple(tokens), max(binding.ends, default=0))


def _places(bound: Sequence[Bound], at: int) -> dict[tuple[int, ...], int]:
    """Where from *at* on each message counts: where it stands last.

    Unless the list begins anew and breaks off: then what it breaks off in front of would stand first.
    """
    shown = [(each.messages, n) for n, each in enumerate(bound) if each.messages and n >= at]
    last = dict(shown)
    if len(last) == len(shown):
        return last
    first = dict(reversed(shown))
    order = [messages for messages, _ in shown]
    anew = any(order[n : n + 2] == order[:2] for n in range(1, len(order) - 1))
    in_order = sorted(first, key=first.__getitem__) == sorted(last, key=last.__getitem__)
    return first if anew and not in_order else last


def beginning(store: Store, line: int, scene: Scene, count: int) -> Scene:
    """The first *count* rows of a scene on *line*, as if the list ended there."""
    live = scene.live[:count]
    last = next((each.bound.messages for each in reversed(live) if each.bound.messages), ())
    end = max((entry.seq for entry in store.placed(line, last)), default=0)
    return replace(scene, live=live, tokens=scene.tokens[:count], end=end)


def speaks(store: Store, live: Live) -> bool:
    """Whether a person spoke: also where a host's own flag stays on the row that it merged them into."""
    row, bound = live
    if not bound.messages or row.get("role") != "user":
        return False
    fold = len(bound.messages) > 1
    if bound.version > 1 or (starts_turn(row) and not (fold and is_flagged(row))):
        return True
    if not fold:
        return False
    # All of it may be the host's own, whatever uids it names.
    parts = store.parsed([(message, 0) for message in bound.messages], damaged=True)
    return any(part.version > 1 or starts_turn(said) for part, said in parts)


def _asked_again(binding: Binding, at: int) -> int | None:
    """Place of a row of ours that a person has just sent again: it stays, for it waits for an answer."""
    last = len(binding.bound) - 1
    ours = last > at and binding.bound[last].kind == "frame"
    return last if ours else None


def _alone(store: Store, bound: Bound) -> Any:
    """The row without what of ours the host merged in front of it."""
    (message,) = store.read([(bound.messages[-1], 0)])
    return decode(message.body)


def size_of(row: Any) -> int:
    return count_message(row) if isinstance(row, dict) else 0
