"""How many tokens the list may have, and how they are shared out.

``limit`` is what the list must not exceed, ``target`` what a pass aims at,
``tail`` what stays verbatim. What the host counts beyond the list (system
prompt and tool schemas, about 12,000 tokens in a real one) cannot be shrunk
by us and is taken off both.
"""

from __future__ import annotations

from dataclasses import dataclass

from .settings import Settings

__all__ = ["Budget", "budget_for"]

_TAIL_SHARE = 0.2
_LEAF_SHARE = 1 / 2
_LEAF_RANGE = (1500, 20_000)
_LEAST_SUMMARY = 2500
_SUMMARY_SHARE = 0.12


@dataclass(frozen=True, slots=True)
class Budget:
    """Sizes in tokens."""

    limit: int
    target: int
    tail: int
    turns_tail: int
    """What the three newest user turns may take beyond ``tail``."""
    leaf: int
    """Most tokens of messages under one leaf."""
    reserve: int
    """What a summary row needs at the least."""
    least: int
    """What it gets also where the rest takes all of ``target``, if ``limit`` allows."""
    most: int
    """What it does not grow beyond, however much room there is."""

    def for_summary(self, fixed: int) -> int:
        """Tokens for the summary row of a list in which all else takes *fixed*."""
        wanted = max(self.target - fixed, min(self.least, self.limit - fixed))
        return max(min(wanted, self.most), self.reserve)


def budget_for(
    settings: Settings,
    *,
    window: int,
    threshold_tokens: int,
    overhead: int,
    squeeze: int | None = None,
) -> Budget:
    """The budget of a list.

    *squeeze*: tokens that the list has, where the pass was asked for although
    it fits: the default tail then is at most a third of that.
    """
    floor = threshold_tokens // 4
    limit = max(threshold_tokens - overhead, floor, 1)
    share = threshold_tokens / max(settings.threshold * window, 1)  # a host may have lowered it
    aim = int(settings.target * window * min(share, 1.0))
    target = max(min(aim - overhead, limit), floor // 2, 1)
    reserve = min(max(limit // 8, 120), 1200)
    tail = settings.fresh_tail_tokens
    if tail is None:
        tail = int(_TAIL_SHARE * window)
        if squeeze is not None:
            tail = min(tail, squeeze // 3)
        tail = min(tail, target // 2)
    tail = min(tail, max(limit - reserve, 0))
    low, high = _LEAF_RANGE
    leaf = settings.leaf_tokens or min(max(int(window * _LEAF_SHARE), low), high)
    turns_tail = max(target - reserve, limit // 2) if squeeze is None else max(squeeze // 2, tail)
    return Budget(
        limit=limit,
        target=target,
        tail=tail,
        turns_tail=min(turns_tail, limit - reserve),
        leaf=max(min(leaf, window // 2), 1),
        reserve=reserve,
        least=min(limit // 3, _LEAST_SUMMARY),
        most=max(int(_SUMMARY_SHARE * window), _LEAST_SUMMARY),
    )
