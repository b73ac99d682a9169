"""What is alive, held weakly: it may be looked through while other threads add to it.

A ``WeakSet`` is gone through in Python code, between two steps of which another thread may add or drop
a member; then it raises. The references of a ``WeakValueDictionary`` are copied in one step.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Generic, TypeVar

__all__ = ["Living"]

_Member = TypeVar("_Member")


class Living(Generic[_Member]):
    """Members, each as long as somebody else holds it."""

    def __init__(self) -> None:
        self._members: weakref.WeakValueDictionary[int, _Member] = weakref.WeakValueDictionary()

    def add(self, member: _Member) -> None:
        """Take it in, once however often it is added."""
        self._members[id(member)] = member

    def __iter__(self) -> Iterator[_Member]:
        """Those that are alive now; who comes meanwhile is not among them."""
        alive = [reference() for reference in self._members.valuerefs()]
        return iter([member for member in alive if member is not None])
