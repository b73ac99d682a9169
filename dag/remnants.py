"""Parts of a forgotten string in the summaries over the messages in which it stood.

A term that was taken out of it (``Zebra77`` of ``tr0ub4dor&3-Hunter!Zebra77``), a topic that was cut
in the middle of it, a sentence that ends inside it, what a model quotes of it: none is the string, so
no digest knows it again. So this is done when the string itself is at hand. Whole words only, except
at the ends of a line, where a cut may be; and nothing that the messages still say without the string.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final, NamedTuple

from ..storage.protocol import Store
from ..storage.records import Node
from .erase import Cleaner
from .identity import GONE
from .messages import normal
from .strings import strings_of

__all__ = ["Remnants"]

#: Characters of a part of it in a text, and in a hint.
_LEAST: Final = 4
_LEAST_HINT: Final = 3
#: Messages read at a time.
_PAGE: Final = 200
#: A word; of scripts that put nothing between words, a character.
_OTHER: Final = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_WORD: Final = re.compile(rf"[{_OTHER}]|[^\W{_OTHER}]+")
_LETTER: Final = re.compile(rf"[^\W{_OTHER}]")
#: What stands in a summariser's source beside the messages, and what a model is asked for.
_OURS: Final = (
    f"{GONE} calls tokens are left out here an attachment without text turn turns"
    " what is known of the conversation so far what was said since"
)
#: Behind these a text was cut, maybe inside a word.
_CUT: Final = ("\n", "\u2026", "...")


class _Part(NamedTuple):
    """A part of a text that stands in the string, too."""

    words: str
    """In small letters, with one blank where there is white space."""
    opens: bool
    """Whether it begins a line: then a word may have begun in front of it."""
    ends: bool
    """The same for its end."""


class Remnants:
    """What is left of one string in summaries."""

    def __init__(self, store: Store, cleaner: Cleaner, forms: Sequence[str]) -> None:
        """*cleaner* takes the string itself out, in each of its *forms*."""
        self._store, self._cleaner = store, cleaner
        self._string = _small("\0".join(forms))

    def without(self, nodes: Sequence[Node]) -> list[Node]:
        """*nodes*, which stand over it, without the string and without parts of it.

        Raises:
            StoreError: their messages cannot be read.
        """
        clean = [self._cleaner.node(node) for node in nodes]
        found = [self._found(node) for node in clean]
        # Asked for twice: of a thousand states each stands for all that came before it.
        asked = [node.uid for node, parts in zip(clean, found, strict=True) if parts]
        under = set(chain.from_iterable(map(self._store.stands_for, asked)))
        saying = self._saying(set[_Part]().union(*found), sorted(under))
        return [
            self._cut(node, parts, saying) if parts else node
            for node, parts in zip(clean, found, strict=True)
        ]

    def _cut(
        self,
        node: Node,
        parts: Collection[_Part],
        saying: Mapping[_Part, set[tuple[int, int]]],
    ) -> Node:
        """*node* without those of *parts* that no message under it says."""
        pairs = frozenset(self._store.stands_for(node.uid))
        gone = {part for part in parts if pairs.isdisjoint(saying[part])}
        return self._masked(node, gone) if gone else node

    def _found(self, node: Node) -> set[_Part]:
        texts = [(text, _LEAST) for text in (*node.texts.values(), node.topic)]
        texts += [(hint, _LEAST_HINT) for hint in node.hints]
        found = {part for text, least in texts for part, *_ in self._parts(text, least)}
        return {part for part in found if not _stands(_OURS, part)}

    def _saying(
        self, parts: Collection[_Part], pairs: Sequence[tuple[int, int]]
    ) -> dict[_Part, set[tuple[int, int]]]:
        """Which of the messages hold each part without the string."""
        saying: dict[_Part, set[tuple[int, int]]] = {part: set() for part in parts}
        for at in range(0, len(pairs) if parts else 0, _PAGE):
            for message, row in self._store.parsed(pairs[at : at + _PAGE], damaged=True):
                text = self._text(row)
                for part in parts:
                    if _stands(text, part):
                        saying[part].add((message.id, message.version))
        return saying

    def _masked(self, node: Node, gone: set[_Part]) -> Node:
        hints = [
            h for h in node.hints if gone.isdisjoint(p for p, *_ in self._parts(h, _LEAST_HINT))
        ]
        return replace(
            node,
            texts={level: self._without(text, gone) for level, text in node.texts.items()},
            topic=self._without(node.topic, gone),
            hints=tuple(hints),
        )

    def _parts(self, text: str, least: int) -> Iterator[tuple[_Part, int, int]]:
        """The longest runs of words of *text* that stand in the string, and where each begins and ends."""
        words = [found.span() for found in _WORD.finditer(text)]
        end = told = 0
        for first, (start, _) in enumerate(words):
            end = max(end, first)
            while end < len(words) and _small(normal(text[start : words[end][1]])) in self._string:
                end += 1
            for last in range(
                end, max(first, told), -1
            ):  # a word at its end may be half of another
                stop = words[last - 1][1]
                part = _part(text, start, stop)
                if len(part.words) >= least and _stands(self._string, part):
                    told = last
                    yield part, start, stop
                    break

    def _text(self, said: Any) -> str:
        row = self._cleaner.row(said)
        return _small(normal("\n\0\n".join(strings_of(row))))

    def _without(self, text: str, gone: set[_Part]) -> str:
        pieces, at = [], 0
        for part, start, end in self._parts(text, _LEAST):
            if part in gone and end > at:
                pieces += [text[at:start], GONE] if start >= at else []
                at = end
        return "".join([*pieces, text[at:]])


def _part(text: str, start: int, end: int) -> _Part:
    opens = not text[:start].strip() or text[:start].rstrip(" \t").endswith("\n")
    behind = text[end:].lstrip(" \t")
    return _Part(_small(normal(text[start:end])), opens, not behind or behind.startswith(_CUT))


def _stands(text: str, part: _Part) -> bool:
    """Whether *part* stands in *text* as whole words, except where it was cut."""
    at = text.find(part.words)
    while at >= 0:
        end = at + len(part.words)
        if (part.opens or not _inside(text, at)) and (part.ends or not _inside(text, end)):
            return True
        at = text.find(part.words, at + 1)
    return False


def _inside(text: str, at: int) -> bool:
    """Whether a word goes on at *at*."""
    return bool(0 < at < len(text) and _LETTER.match(text[at - 1]) and _LETTER.match(text[at]))


def _small(text: str) -> str:
    """In small letters, each in its place."""
    small = text.lower()
    if len(small) == len(text):
        return small
    return "".join(each if len(each.lower()) > 1 else each.lower() for each in text)
