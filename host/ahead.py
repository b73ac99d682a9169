"""Work ahead: when it is done, in which thread, and how it ends.

After a turn, and inside a long one, the list is handed to a thread that has its own connection. It keeps no process
alive and holds no engine; when the engine lets go of the session, is dropped, or the process ends,
nothing more is written. A pass that begins meanwhile lets it finish the node that it is at.
"""

from __future__ import annotations

import atexit
import contextvars
import functools
import logging
import os
import threading
import time as clock
import weakref
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..storage.errors import StoreForgotten
from ..storage.living import Living
from . import hermes
from .events import states_made
from .passes import request_for
from .surface import REVIEW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..dag.background import Prepared, Task
    from ..dag.meter import Meter
    from ..dag.underway import Leash, Underway
    from ..storage.protocol import Store
    from .engine import LCMEngine
    from .failures import Failures

__all__ = ["Ahead", "Order", "at_work", "order_for", "soft_tokens", "work_ahead"]

_log = logging.getLogger(__name__)

#: Calls of summarisers after which a job begins no further node, and tokens that they read.
_CALLS, _TOKENS = 8, 100_000
_DOOR = "work ahead"
_THREAD = "lcm-ahead"


@dataclass(frozen=True, slots=True)
class Order:
    """One list to work on."""

    path: str
    """The database."""
    session: str
    """Its name in the store."""
    mark: tuple[Any, ...]
    """The same for the same list."""
    task: Task
    engine: weakref.ref[LCMEngine]
    """Who tells of it, if it is still there."""
    meter: Meter
    """Counts its model calls."""
    context: contextvars.Context
    """Of the turn: which home, which model."""


class Ahead:
    """The background of one engine: one job at a time, and of the lists that wait the newest."""

    def __init__(self, failures: Failures) -> None:
        self._failures = failures
        self._underway: Underway | None = None
        self.begin_anew()
        _ALL.add(self)

    def begin_anew(self) -> None:
        """Nothing runs: at the start, and in a forked process, which has none of our threads."""
        self._mutex = threading.RLock()  # the garbage collector may end a job anywhere
        self._idle = threading.Event()
        self._idle.set()
        self._next: Order | None = None
        self._leash: Leash | None = None
        self._last: tuple[Any, ...] = ()
        self._attempts: Counter[str] = Counter()
        self._may_repair = True
        if self._underway is not None:
            self._underway.begin_anew()

    @property
    def underway(self) -> Underway:
        """What is being made, shared by an engine and its clones."""
        if self._underway is None:
            from ..dag.underway import Underway

            self._underway = Underway()
        return self._underway

    def share(self, other: Ahead) -> None:
        """Let *other* know what is being made here."""
        other._underway = self.underway

    def repairs(self, *, wanted: bool = False) -> bool:
        """Whether there may be nodes to be made again; *wanted*: there are."""
        self._may_repair = self._may_repair or wanted
        return self._may_repair

    def submit(self, order: Order) -> None:
        """Work on it now, or as soon as the job that runs has finished its node."""
        _end_with_the_process()
        with self._mutex:
            if order.mark == self._last:
                return
            self._last, self._next = order.mark, order
            if not self._idle.is_set():
                if self._leash is not None:
                    self._leash.ease()
                return
            self._idle.clear()
        try:
            threading.Thread(target=self._work, name=_THREAD, daemon=True).start()
        except RuntimeError:  # the process is ending
            self._idle.set()

    def ease(self) -> None:
        """A pass begins: it makes itself what is not there, but for the node that is being made."""
        with self._mutex:
            self._next, self._last = None, ()
            if self._leash is not None:
                self._leash.ease()

    def cancel(self) -> None:
        """End it: nothing is written any more when this returns."""
        with self._mutex:
            self._next, self._last, leash = None, (), self._leash
        if leash is not None:
            leash.stop()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until nothing runs; False if that takes longer."""
        return self._idle.wait(seconds)

    # in the thread

    def _work(self) -> None:
        from ..dag.underway import Leash

        while True:
            with self._mutex:
                order, self._next = self._next, None
                self._leash = leash = Leash(_CALLS, _TOKENS, self._attempts) if order else None
                if order is None or leash is None:
                    self._idle.set()
                    return
            order.context.run(self._guarded, order, leash)
            del order

    def _guarded(self, order: Order, leash: Leash) -> None:
        """One job; nothing that it raises is lost."""
        from ..dag.underway import Halted

        claim = (_DOOR, order.path, order.session)
        if not self.underway.claim(claim):
            return  # another engine of this process is at it
        try:
            with hermes.cancelled_by(leash.stopped):
                self._do(order, leash)
            self._failures.works(_DOOR)
        except Halted:
            _log.debug("work ahead was ended before it could say what it did")
        except StoreForgotten as error:
            _log.info("work ahead ended: %s", error)
        except Exception as error:
            if leash.stopped.is_set():  # the process ends, and has closed the database
                _log.debug("work ahead was ended (%s)", type(error).__name__)
            else:
                self._failures.note(_DOOR, error)
        except BaseException as error:  # a host's call that was cancelled
            said = type(error).__name__
            _log.log(
                logging.DEBUG if leash.stopped.is_set() else logging.WARNING,
                "work ahead was cancelled (%s)",
                said,
            )
        finally:
            self.underway.release([claim])

    def _do(self, order: Order, leash: Leash) -> None:
        from ..dag.background import is_due, prepare
        from ..storage import open_store

        if not is_due(order.task, repairs=self._may_repair):
            return
        with leash.writing():  # SQLite makes files beside the database
            store = open_store(order.path, create=False, writes=True)
        try:
            prepared = prepare(store, order.task, leash)
            self._may_repair = prepared.degraded
            _note(store, order, prepared, leash)
        finally:
            store.close()


_ALL: Living[Ahead] = Living()


#: Seconds that the end of a process waits for a job to see that it is to end.
_AT_EXIT = 2.0


@functools.cache
def _end_with_the_process() -> None:
    """Have jobs end before the databases are closed: what is registered last is called first."""
    atexit.register(_ended)


def _ended() -> None:
    for each in _ALL:
        each.cancel()
    for each in _ALL:
        each.wait(_AT_EXIT)


def _forked() -> None:
    for each in _ALL:
        each.begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _note(store: Store, order: Order, prepared: Prepared, leash: Leash) -> None:
    """Remember what came of a job, for whoever asks for the status: this process or another."""
    from ..dag.ahead_record import AheadRecord

    before = AheadRecord.of(store, order.session)
    made, repaired = len(prepared.made), len(prepared.repaired)
    after = before.after(made, repaired, prepared.failure, clock.time())
    if prepared.states:
        after = replace(after, states=after.states + len(prepared.states))
    if leash.calls:
        with leash.writing():
            order.meter.settle(store, order.session)
    if after == before:
        return
    with leash.writing():
        after.keep(store, order.session)
    if prepared.failure:
        say = _log.debug if prepared.failure == before.why else _log.warning
        say("nothing could be summarised ahead: %s", prepared.failure)
    else:
        _log.info("made ahead: %d summaries, %d made again", made, repaired)
    if (engine := order.engine()) is not None:
        states_made(engine, order.session, [*prepared.states, *prepared.made, *prepared.repaired])


def work_ahead(engine: LCMEngine) -> None:
    """Begin with the list that was ingested last, if there is something to do."""
    if order := order_for(engine):
        engine._ahead.submit(order)


def at_work(engine: LCMEngine, messages: Sequence[Any]) -> None:
    """A request inside a turn is sent (older hosts): meanwhile, what the next pass will need can be made.

    Nothing is done where the turn begins, for that is done behind the one before, nor before the
    request has grown since the last look.

    Raises:
        StoreError: the store failed.
    """
    used, settings = engine.last_prompt_tokens, engine.settings
    if not max(soft_tokens(engine), engine._prune_from) <= used < engine.threshold_tokens:
        return
    last = messages[-1] if messages else None
    if (
        not isinstance(last, Mapping)
        or last.get("role") != "tool"
        or settings.state_updates == "off"
    ):
        return
    engine._attachment.ingest(messages, engine._session_id)
    engine._prune_from = used + settings.compaction_token_threshold
    work_ahead(engine)


def order_for(engine: LCMEngine) -> Order | None:
    """What there is to do with the list that *engine* saw last; None: nothing."""
    from ..dag.background import Task

    settings = engine.settings
    soft = soft_tokens(engine)
    tokens = max(engine.last_prompt_tokens, 0)
    every_turn = settings.state_updates == "every_turn"
    if threading.current_thread().name == REVIEW:  # a fork of the agent, with prompts of its own
        return None
    idle = 0 < tokens < soft and not every_turn and not engine._ahead.repairs()
    if settings.state_updates == "off" or idle:
        return None
    ledger = engine._attachment.on_disk(engine._session_id)
    if ledger is None:
        return None
    request = request_for(engine, tokens, "", "", force=False)
    if not request.routes:
        return None
    binding, mark = ledger.last()
    return Order(
        path=ledger.store.path,
        session=ledger.session.name,
        mark=(ledger.store.path, ledger.session.line, *mark),
        task=Task(ledger.session.line, ledger.session.name, binding, request, soft),
        engine=weakref.ref(engine),
        meter=engine._meter,
        context=contextvars.copy_context(),
    )


def soft_tokens(engine: LCMEngine) -> int:
    """Tokens from which on nodes are made ahead: never above the threshold, wherever the host put that."""
    settings = engine.settings
    share = settings.soft_threshold / settings.threshold
    of_window = int(settings.soft_threshold * engine.context_length)
    return min(of_window, int(share * engine.threshold_tokens))
