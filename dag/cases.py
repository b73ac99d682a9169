"""Where a string that is to be forgotten stands in another case: that one is another string, and stays.

Looked for are the cases in which people write names: small letters, capitals, a capital at the
beginning of each word or of the first. A mixture (``hArbour``) is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from .erase import forms_of

__all__ = ["Cases"]

_CASES: Final[Mapping[str, Callable[[str], str]]] = {
    "lower": str.lower,
    "upper": str.upper,
    "title": str.title,
    "capitalized": str.capitalize,
}


class Cases:
    """The other cases of a string, and in which messages they were seen."""

    def __init__(self, text: str) -> None:
        self._wanted = _wanted(text)
        self._held: dict[str, set[int]] = {name: set() for name in self._wanted}
        self.forms = tuple(dict.fromkeys(form for forms in self._wanted.values() for form in forms))
        """What to look for."""

    def note(self, number: int, said: Sequence[str]) -> None:
        """A version of message *number* has these strings, also as they read without their escapes."""
        for name, forms in self._wanted.items():
            if any(form in each for form in forms for each in said):
                self._held[name].add(number)

    def told(self) -> dict[str, Any]:
        """In how many messages it stands in another case, and in how many in which: by name, those that were seen."""
        return {
            "messages": len(set().union(*self._held.values())),
            "forms": {name: len(ids) for name, ids in self._held.items() if ids},
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
