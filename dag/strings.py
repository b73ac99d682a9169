"""Every string of a message, at whatever depth it stands: to read it, or to put another in its place.

Without recursion. How deep a message can be nested is the host's affair, and what is looked at must
not end before what is stored does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ..storage.canon import digest, pack_text, plain_text, spelt

__all__ = ["opaque", "rebuilt", "strings_of"]

Change = Callable[[str], str]
Under = Callable[[object, object, object], str | None]
"""What stands in the place of a value because of its key, or of that of its container; None where they say nothing."""

_NOTHING: Final = object()


def opaque(name: str) -> str:
    """A name (a uid, a session's id) that may not be shown: 32 hex digits, always the same for it."""
    return digest(pack_text(name)).hex()


def strings_of(value: Any) -> Iterator[str]:
    """Every string in a decoded message, keys included; numbers and the like are none."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            waiting += item.keys()
            waiting += item.values()
        elif isinstance(item, list | tuple):
            waiting += item


def rebuilt(value: Any, change: Change, under: Under) -> Any:
    """*value* with every string in it changed, keys included; parts in which nothing changed are kept.

    What is no JSON is stored as its text: it is changed where its text is. A container that stands
    in itself is cut off there.
    """
    top = _Part([value], {}, None)
    open_parts = [top]
    inside: set[int] = set()
    while True:
        part = open_parts[-1]
        key, item = next(part.rest, (None, _NOTHING))
        if item is _NOTHING:
            open_parts.pop()
            if part is top:
                return part.made[0]
            inside.discard(id(part.source))
            open_parts[-1].put(part.key, part.source, part.result(), change)
        elif (said := under(part.key, key, item)) is not None:
            part.put(key, item, said, change)
        elif not isinstance(item, Mapping | list | tuple):
            part.put(key, item, _leaf(item, change), change)
        elif id(item) in inside:
            part.put(key, item, {"__repr__": "..."}, change)
        else:
            inside.add(id(item))
            made: dict[Any, Any] | list[Any] = {} if isinstance(item, Mapping) else []
            open_parts.append(_Part(item, made, key))


class _Part:
    """A container that is being rebuilt."""

    __slots__ = ("changed", "key", "made", "rest", "source")

    def __init__(self, source: Any, made: Any, key: Any) -> None:
        self.source, self.made, self.key = source, made, key
        """The container, what it becomes, and where it stands in the one around it."""
        self.rest: Iterator[tuple[Any, Any]] = iter(
            source.items() if isinstance(source, Mapping) else enumerate(source)
        )
        self.changed = False

    def put(self, key: Any, old: Any, new: Any, change: Change) -> None:
        """Let *new* stand where *old* does."""
        self.changed = self.changed or new is not old
        if isinstance(self.made, list):
            self.made.append(new)
            return
        name = key
        if isinstance(self.source, Mapping) and not isinstance(key, bool | int | float | None):
            said = key if isinstance(key, str) else plain_text(key)
            name = said if (changed := change(said)) == said else changed
            if changed != said:
                self.changed = True
                while name in self.made:  # two keys that look alike now
                    name += "'"
        self.made[name] = new

    def result(self) -> Any:
        """What it becomes: itself, if nothing in it changed."""
        return self.made if self.changed else self.source


def _leaf(item: Any, change: Change) -> Any:
    if isinstance(item, str):
        changed = change(item)
        return item if changed == item else changed
    if item is None or isinstance(item, int | float):
        return item
    text = spelt(item)
    changed = change(text)
    return item if changed == text else {"__repr__": changed}
