"""What a model call has used: two numbers, whatever the provider calls them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["Usage"]

#: What providers call the tokens that a model read, and those that it wrote.
_READ: Final = ("input_tokens", "prompt_tokens")
_WRITTEN: Final = ("output_tokens", "completion_tokens")
#: What one provider counts beside its ``input_tokens``; where it is ``prompt_tokens``, they are in it.
_CACHED: Final = ("cache_read_input_tokens", "cache_creation_input_tokens")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, or of several together."""

    input_tokens: int = 0  #: read: the whole request, what came from a prompt cache included
    output_tokens: int = 0  #: written

    @property
    def total_tokens(self) -> int:
        """Both together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens
        )

    @classmethod
    def of(cls, value: Any) -> Usage:
        """*value* as a usage: one of ours, a mapping or an object with such names; None is nothing.

        Knows ``input_tokens`` and ``output_tokens``, ``prompt_tokens`` and ``completion_tokens``,
        and adds what Anthropic counts apart for its cache. What is no number counts as 0.
        """
        if isinstance(value, cls):
            return value
        read = _first(value, _READ)
        if _number(value, _READ[0]):
            read += sum(_number(value, name) for name in _CACHED)
        return cls(read, _first(value, _WRITTEN))


def _first(value: Any, names: tuple[str, ...]) -> int:
    return next((found for name in names if (found := _number(value, name))), 0)


def _number(value: Any, name: str) -> int:
    found = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    return int(found) if isinstance(found, int) and not isinstance(found, bool) else 0
