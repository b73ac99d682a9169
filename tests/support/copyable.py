"""Whether what a person is told to type can be copied as it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_MARKED = re.compile(r"`[^`]*`")
#: A path with the stop of the sentence at its end.
_STOPPED = re.compile(r"(?<!\S)\S*/\S*[.;](?!\S)")
_COMMAND = re.compile(
    r"\b(?:chmod|chown|mv|pip install|cp|mkdir)\s\S+|scripts/\w+|\bhermes (?:lcm|plugins|gateway|config)\b"
)


def uncopied(check: Mapping[str, Any]) -> Iterator[str]:
    """What of a check cannot be copied: a stop ends a path, a command is not marked off from the sentence."""
    remedy = _MARKED.sub("", check["remedy"])
    yield from _STOPPED.findall(_MARKED.sub("", check["said"]))
    yield from _STOPPED.findall(remedy)
    yield from _COMMAND.findall(remedy)
