"""Counts what model calls use: how many, tokens read and written, by the model that answered.

A meter belongs to an engine, and each pass has one of its own that adds to it. What the provider
counted is believed; where a response says nothing, or none came, the tokens are ours to estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from ..storage.mutex import mutex
from .tokens import count_text
from .usage import Usage

if TYPE_CHECKING:
    from ..storage.protocol import Store

__all__ = ["Calls", "Meter", "metered", "spent_by", "totals_of"]

_KEPT: Final = "model_calls"
"""Under this name a store keeps, for each session, what its model calls have used."""


class _Asks(Protocol):
    """A request to a model."""

    @property
    def text(self) -> str:
        """What it is to read."""


Request = TypeVar("Request", bound=_Asks)
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Calls:
    """What calls have used."""

    calls: int = 0
    failed: int = 0
    """How many of them brought no answer; what they were sent is counted even so."""
    usage: Usage = field(default_factory=Usage)

    def __add__(self, other: Calls) -> Calls:
        return Calls(self.calls + other.calls, self.failed + other.failed, self.usage + other.usage)

    def plain(self) -> dict[str, int]:
        """The same for JSON: ``calls``, ``failed``, and tokens as ``input_tokens`` and ``output_tokens``."""
        return {
            "calls": self.calls,
            "failed": self.failed,
            "input_tokens": self.usage.input_tokens,
            "output_tokens": self.usage.output_tokens,
        }

    @classmethod
    def of(cls, plain: Any) -> Calls:
        """What :meth:`plain` said; nothing for what it never said."""
        said = plain if isinstance(plain, Mapping) else {}
        calls, failed = (said.get(name) for name in ("calls", "failed"))
        whole = [each if type(each) is int else 0 for each in (calls, failed)]
        return cls(whole[0], whole[1], Usage.of(said))


class Meter:
    """What the calls of one engine, or of one pass, have used. Any thread may use it."""

    def __init__(self, within: Meter | None = None) -> None:
        self._within = within
        self._mutex = mutex()
        self._by_model: dict[str, Calls] = {}
        self._owed: dict[str, Calls] = {}
        """What no store was told yet."""

    def note(self, model: str, calls: Calls) -> None:
        """Add *calls* of *model*, here and to the meter that this one is within."""
        with self._mutex:
            self._by_model = _sum(self._by_model, {model: calls})
            self._owed = _sum(self._owed, {model: calls})
        if self._within is not None:
            self._within.note(model, calls)

    def spent(self) -> dict[str, Calls]:
        """All of it, by model."""
        return dict(self._by_model)

    def settle(self, store: Store, session: str) -> None:
        """Add what no store was told yet to what *store* keeps for *session*.

        Raises:
            StoreError: it is still owed.
        """
        with self._mutex:
            owed, self._owed = self._owed, {}
        if not owed:
            return
        try:
            with store.writing():
                now = _sum(_kept(store, session), owed)
                store.remember(session, _KEPT, {name: each.plain() for name, each in now.items()})
        except BaseException:
            with self._mutex:
                self._owed = _sum(owed, self._owed)
            raise


def metered(
    call: Callable[[Request], Answer], meter: Meter, model: str
) -> Callable[[Request], Answer]:
    """*call*, with each of its calls counted.

    *model* is what calls are counted under whose answer does not say which model gave it.
    """
    from .replies import Reply  # 20 ms that who only reads the counts need not wait for

    def ask(request: Request) -> Answer:
        answer = None
        try:
            answer = call(request)
        finally:
            said = (
                answer
                if isinstance(answer, Reply)
                else Reply(answer if isinstance(answer, str) else "")
            )
            usage = said.usage or Usage(count_text(request.text), count_text(said.text or ""))
            meter.note(said.model or model, Calls(1, int(answer is None), usage))
        return answer

    return ask


def _sum(one: Mapping[str, Calls], other: Mapping[str, Calls]) -> dict[str, Calls]:
    return {**one, **{name: one.get(name, Calls()) + each for name, each in other.items()}}


def _kept(store: Store, session: str) -> dict[str, Calls]:
    kept = store.recall(session, _KEPT)
    return {name: Calls.of(each) for name, each in kept.items()} if isinstance(kept, dict) else {}


def spent_by(store: Store, sessions: Iterable[str]) -> dict[str, Calls]:
    """What the model calls of *sessions* have used by all that *store* was told, by model."""
    found: dict[str, Calls] = {}
    for session in sessions:
        found = _sum(found, _kept(store, session))
    return found


def totals_of(by_model: Mapping[str, Calls]) -> dict[str, Any]:
    """For JSON: ``calls``, ``failed``, ``input_tokens``, ``output_tokens``; the same of each model ``by_model``."""
    total = sum(by_model.values(), Calls())
    return {**total.plain(), "by_model": {name: each.plain() for name, each in by_model.items()}}
