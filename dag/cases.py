"""Where a string that is to be forgotten stands in another case: that one is another string, and stays.

Looked for are the cases in which people write names: small letters, capitals, a capital at the
beginning of each word or of the first. A mixture (``hArbour``) is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from ..storage.canon import decode
from ..storage.errors import StoreDamaged
from ..storage.protocol import Store
from ..storage.records import Message
from .erase import forms_of
from .strings import strings_of

__all__ = ["other_cases"]

_CASES: Final[Mapping[str, Callable[[str], str]]] = {
    "lower": str.lower,
    "upper": str.upper,
    "title": str.title,
    "capitalized": str.capitalize,
}
_PAGE: Final = 500


def other_cases(store: Store, text: str) -> dict[str, Any]:
    """In how many messages *text* stands in another case, and in how many in which: by name, those that are found."""
    wanted = _wanted(text)
    held: dict[str, set[int]] = {name: set() for name in wanted}
    every = list(dict.fromkeys(form for forms in wanted.values() for form in forms))
    for message in _suspects(store, every) if every else ():
        said = list(strings_of([message.role, decode(message.body)]))
        for name, forms in wanted.items():
            if any(form in each for form in forms for each in said):
                held[name].add(message.id)
    return {
        "messages": len(set().union(*held.values())),
        "forms": {name: len(ids) for name, ids in held.items() if ids},
    }


def _wanted(text: str) -> dict[str, list[str]]:
    """The forms of each case that is another than that of *text*, and than those before it."""
    seen, wanted = set(forms_of(text)), {}
    for name, change in _CASES.items():
        forms = [form for form in forms_of(change(text)) if form not in seen]
        seen.update(forms)
        if change(text) in forms:
            wanted[name] = forms
    return wanted


def _suspects(store: Store, forms: Sequence[str]) -> Iterator[Message]:
    for _, pairs in store.eraser().suspects(forms):
        for at in range(0, len(pairs), _PAGE):
            yield from _read(store, pairs[at : at + _PAGE])


def _read(store: Store, pairs: Sequence[tuple[int, int]]) -> list[Message]:
    """Those that can be read: in what others hold nobody can count."""
    try:
        return list(store.read(pairs))
    except StoreDamaged:
        return [] if len(pairs) == 1 else [each for pair in pairs for each in _read(store, [pair])]
