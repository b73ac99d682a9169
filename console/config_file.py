"""A config.yaml as a person has written it: what it holds, why it cannot be read, what stands in it twice.

For whoever looks at a home from outside; inside, Hermes itself is asked what it holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

__all__ = ["ConfigFile", "Repeated", "read_config"]

#: What the library was in the middle of, in words.
_OPEN: Final = {
    "flow sequence": "the list",
    "flow mapping": "what is in braces",
    "quoted scalar": "the quoted text",
}


@dataclass(frozen=True, slots=True)
class Repeated:
    """A key that stands more than once where it may stand once."""

    path: tuple[str, ...]
    """The keys that lead there, and it."""
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A whole file; nothing of it where there is none."""

    values: Mapping[str, Any] = field(default_factory=dict)
    """What it holds, as an older Hermes takes it: of a key that stands twice, the last."""
    unread: str = ""
    """What keeps it from being read; empty where nothing does."""
    repeated: tuple[Repeated, ...] = ()
    text: str = ""
    """As it was written; empty where it cannot be read."""


def read_config(path: Path) -> ConfigFile:
    """The file at *path*. No file is no fault.

    Raises:
        ImportError: this Python has no PyYAML.
    """
    import yaml

    try:
        text = path.read_text("utf-8")
        values, repeated = _parsed(text)
    except FileNotFoundError:
        return ConfigFile()
    except OSError as error:
        return ConfigFile(unread=f"{path} cannot be read: {error.strerror}")
    except UnicodeDecodeError:
        return ConfigFile(unread=f"{path} is not UTF-8")
    except yaml.YAMLError as error:
        return ConfigFile(unread=f"{path} is no YAML{_where(error)}")
    if isinstance(values, Mapping):
        return ConfigFile(values, repeated=repeated, text=text)
    return ConfigFile(unread="" if values is None else f"{path} holds no keys", text=text)


def _parsed(text: str) -> tuple[Any, tuple[Repeated, ...]]:
    import yaml

    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None, ()
        repeated = tuple(_repeated(node, (), set()))
        return loader.construct_document(node), repeated
    finally:
        loader.dispose()


def _repeated(node: Any, path: tuple[str, ...], seen: set[int]) -> Iterator[Repeated]:
    """The keys below *node* that stand more than once beside each other; *seen*: what needs no second look."""
    if id(node) in seen or not isinstance(node.value, list):
        return
    seen.add(id(node))
    lines: dict[str, list[int]] = {}
    for each in node.value:
        key, value = each if isinstance(each, tuple) else (None, each)
        below = path
        if key is not None:
            name = str(key.value)
            lines.setdefault(name, []).append(key.start_mark.line + 1)
            below = (*path, name)
        yield from _repeated(value, below, seen)
    for name, at in lines.items():
        if len(at) > 1 and name != "<<":  # which adds what stands elsewhere, as often as one likes
            yield Repeated((*path, name), tuple(at))


def _where(error: Any) -> str:
    """The line that is wrong, and where what it breaks off begins."""
    mark, begin = (getattr(error, name, None) for name in ("problem_mark", "context_mark"))
    if mark is None:
        return ""
    where = f" in line {mark.line + 1}"
    if begin is None or begin.line == mark.line:
        return where
    context = str(error.context)
    what = next((word for sign, word in _OPEN.items() if sign in context), "")
    since = f": {what} that begins in line {begin.line + 1} does not end" if what else ""
    return f"{where} or before it{since}"
