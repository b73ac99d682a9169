"""Numbers of turns, as a call gives them."""

from __future__ import annotations

from typing import Any

from .answers import WrongArgument

__all__ = ["LAST_TURN", "in_order", "turn_of"]

LAST_TURN = 1 << 60
"""Later than any: an end past the end is no error."""


def turn_of(value: Any, name: str) -> int:
    """The turn that *value* says.

    Raises:
        ToolError: it says none.
    """
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise WrongArgument(
            f"{name} must be a whole number.", "Turns are counted from 1."
        ) from None
    if number < 1:
        raise WrongArgument(f"{name} is {number}.", "Turns are counted from 1.")
    return min(number, LAST_TURN)


def in_order(first: int, last: int) -> None:
    """Let pass what begins before it ends.

    Raises:
        ToolError: it does not.
    """
    if first > last:
        raise WrongArgument(
            f"start_turn {first} lies behind end_turn {last}.", "Give the earlier turn first."
        )
