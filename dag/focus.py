"""Which nodes concern what a person asks to keep."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ..storage.records import Node

__all__ = ["concerned"]

_WORD: Final = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]|[^\W_\u3040-\u9fff\uac00-\ud7a3]{2,}"
)
#: Words that name no topic.
_EMPTY: Final = (
    "the and for are was were with that this from have has had not but you your our about all any"
    " only keep everything what which who how on in of to is it an as at by be or we my me so do"
)
#: Letters by which two forms of a word are the same: "migrating" and "migration".
_STEM: Final = 6
#: Share of the best node's words that a node must hold to concern the topic too.
_NEAR: Final = 0.5


def concerned(nodes: Sequence[Node], focus: str) -> frozenset[str]:
    """uids of those of *nodes* that concern *focus*, a topic in a person's words; none for an empty one.

    By the words of the topic that a node holds in its topic, hints and largest text: the node that
    holds most of them, and those that hold at least half as many.
    """
    wanted = _words(focus) - _words(_EMPTY)
    if not wanted:
        return frozenset()
    found = {node.uid: len(wanted & _words(_all_of(node))) for node in nodes}
    best = max(found.values(), default=0)
    return frozenset(uid for uid, count in found.items() if count and count >= _NEAR * best)


def _all_of(node: Node) -> str:
    return " ".join([node.topic, *node.hints, node.texts[max(node.texts)]])


def _words(text: str) -> set[str]:
    return {word[:_STEM].rstrip("s") for word in _WORD.findall(text.casefold())}
