"""Numbers of things, in words."""

from __future__ import annotations

__all__ = ["many"]


def many(count: int, noun: str) -> str:
    """*count* things that are called *noun*."""
    if count == 1:
        return f"1 {noun}"
    ends = noun[-2:]
    plural = f"{noun[:-1]}ies" if ends[1:] == "y" and ends[0] not in "aeiou" else f"{noun}s"
    return f"{count:,} {plural}"
