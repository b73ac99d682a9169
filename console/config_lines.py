"""How a part of a config.yaml must read: the lines themselves, in the style of the file that is there.

A line that is right in one file breaks another: `- lcm` below `enabled: []` is no YAML. So what a person is
told to write is made from what stands there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

__all__ = ["as_text", "lines_of"]

_STEP: Final = "  "

_Values = Mapping[str, str | Sequence[str]]


def as_text(section: str, value: Any) -> str:
    """A file in which *section* has this value."""
    import yaml

    return str(yaml.safe_dump({section: value} if value else {}))


def lines_of(text: str, section: str, wanted: _Values) -> tuple[str, ...]:
    """The head of *section* and the keys of *wanted* with these values, as they must read in a file of *text*."""
    import yaml

    top: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    pairs = top.value if isinstance(top, yaml.MappingNode) else []
    in_braces = bool(pairs) and bool(top.flow_style)
    none: tuple[Any, Any] = (None, None)
    key, found = next((pair for pair in reversed(pairs) if pair[0].value == section), none)
    head = _source(key, text) if key else section
    old = found.value if isinstance(found, yaml.MappingNode) else []
    if in_braces or (old and found.flow_style):
        return (f"{head}: {{{_in_braces(old, wanted, text)}}}",)
    margin = " " * old[0][0].start_mark.column if old else _STEP
    there = {pair[0].value: pair[1] for pair in old}
    lines = [
        f"{margin}{line}"
        for name, value in wanted.items()
        for line in _entry(name, value, there.get(name), text, len(margin))
    ]
    return (f"{head}:", *lines)


def _in_braces(old: Sequence[Any], wanted: _Values, text: str) -> str:
    """All entries of a mapping that is written in braces, those of *wanted* with their new values."""
    names = [pair[0].value for pair in old]
    entries = [
        f"{_source(key, text)}: {_value(wanted[key.value], value, text)}"
        if key.value in wanted
        else f"{_source(key, text)}: {_source(value, text)}"
        for key, value in old
    ]
    entries += [
        f"{name}: {_value(new, None, text)}" for name, new in wanted.items() if name not in names
    ]
    return ", ".join(entries)


def _entry(name: str, value: str | Sequence[str], old: Any, text: str, margin: int) -> list[str]:
    """The lines of one key; a list is written below it where it was."""
    below = not isinstance(value, str) and value and _is_list(old) and not old.flow_style
    if not below or not old.value:
        return [f"{name}: {_value(value, old, text)}"]
    dash = " " * (old.start_mark.column - margin)
    return [f"{name}:", *(f"{dash}- {each}" for each in _items(value, old, text))]


def _value(value: str | Sequence[str], old: Any, text: str) -> str:
    """A value on one line."""
    return value if isinstance(value, str) else f"[{', '.join(_items(value, old, text))}]"


def _items(names: Sequence[str], old: Any, text: str) -> list[str]:
    """The names of a list, those that were there as they are written."""
    written = {str(e.value): _source(e, text) for e in old.value} if _is_list(old) else {}
    return [written.get(name, name) for name in names]


def _is_list(node: Any) -> bool:
    import yaml

    return isinstance(node, yaml.SequenceNode)


def _source(node: Any, text: str) -> str:
    """What stands there, on one line."""
    return " ".join(text[node.start_mark.index : node.end_mark.index].split())
