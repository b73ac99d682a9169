"""The engine that Hermes calls: a shell over the store, which is the truth.

The host may copy, drop, time out or restart it at any moment without harm:
what matters is on disk when a call returns. What fails is logged and shown.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..dag.breaker import Breakers
from ..dag.meter import Meter, totals_of
from ..storage.living import Living
from . import hermes
from .ahead import Ahead, work_ahead
from .answers import answer, turn_state
from .attachment import Attachment, SettingsSource
from .base import ContextEngine
from .events import Told
from .facts import engine_facts
from .failures import Failures
from .passes import compacted, is_due, note_failure, note_refusal
from .prune import pruned
from .questions import Cooldown, cooldown_of, has_content, is_over, status_line, why_blocked
from .requests import Requests, select
from .surface import COUNTERS, START, THRESHOLD, called, whole
from .vitals import Vitals

if TYPE_CHECKING:
    from ..dag.ingest import IngestReport
    from ..dag.settings import LoadedSettings, Settings
    from ..dag.summarizer import Summarizer
    from .hooks import Family

__all__ = ["LCMEngine"]

_log = logging.getLogger(__name__)


class LCMEngine(ContextEngine):
    """Lossless context management for one agent.

    Args:
        context_length: the model's window in tokens, until the host says better.
        db_path: the database; None for ``lcm/lcm.db`` in the Hermes home.
        settings: a ``Settings`` or the keys of config.yaml; None to read config.yaml.
        summarizer: a callable that takes a ``SummaryRequest`` and returns the
            summary, in place of the host's model.
    """

    # Hosts look these up on the class.
    protect_first_n = 0
    protect_last_n = 0
    emit_automatic_compaction_status = True

    living: ClassVar[Living[LCMEngine]] = Living()

    def __init__(
        self,
        context_length: int = 200_000,
        *,
        db_path: str | Path | None = None,
        settings: Settings | Mapping[str, Any] | None = None,
        summarizer: Summarizer | None = None,
    ) -> None:
        self.__dict__.update(START)
        self._source = SettingsSource(settings)
        self._summarizer = summarizer
        self._db_path = db_path
        self._failures = Failures()
        self._attachment = Attachment(db_path, self._source, self._failures)
        self._session_id = ""
        self._family: Family | None = None
        self._blocked_at = self._list_tokens = self._asked_at = self._prune_from = 0
        self._refused = False
        self._breakers, self._meter, self._vitals = Breakers(), Meter(), Vitals()
        self._judged: dict[str, tuple[int, ...] | None] = {}
        self._requests = Requests()
        self._told = Told()
        self._ahead = Ahead(self._failures)
        weakref.finalize(self, self._ahead.cancel)
        self.living.add(self)
        self.on_event: Callable[[Any], Any] | None = None
        self.context_length = context_length
        self.threshold_percent = THRESHOLD if settings is None else self.settings.threshold
        self.threshold_tokens = int(context_length * self.threshold_percent)

    # what it is

    @property
    def name(self) -> str:
        """The name in ``context.engine``."""
        return "lcm"

    def is_available(self) -> bool:
        """Whether everything that is needed can be imported."""
        from importlib.util import find_spec

        return all(map(find_spec, ("networkx", "rapidfuzz", "sqlite_utils", "yaml")))

    @property
    def settings(self) -> Settings:
        """The settings in force; config.yaml is read at the first look."""
        return self.loaded_settings.settings

    @property
    def loaded_settings(self) -> LoadedSettings:
        """The same with what was wrong with them."""
        loaded = self._source.load()
        if self.threshold_percent == THRESHOLD:  # the host has set no other
            self.threshold_percent = loaded.settings.threshold
        return loaded

    @property
    def db_path(self) -> str | Path:
        """The database: what was given, or where the settings or the Hermes home put it."""
        return self._attachment.path

    # one engine per agent

    def clone_for_agent(self) -> LCMEngine:
        """A fresh shell with the same settings, database and host-set values, and nothing open."""
        clone = type(self)(
            self.context_length,
            db_path=self._db_path,
            settings=self._source.given,
            summarizer=self._summarizer,
        )
        for key in [*(START.keys() - COUNTERS.keys()), "threshold_percent", "threshold_tokens"]:
            setattr(clone, key, getattr(self, key))
        clone._source.loaded = self._source.loaded
        clone._attachment.resemble(self._attachment)
        clone._breakers, clone._judged, clone.on_event = self._breakers, self._judged, self.on_event
        self._ahead.share(clone._ahead)
        if self._family is not None:
            self._family.join(clone)
        return clone

    def __copy__(self) -> LCMEngine:
        return self.clone_for_agent()

    def __deepcopy__(self, memo: dict[int, Any]) -> LCMEngine:
        return self.clone_for_agent()

    # sessions

    def on_session_start(self, session_id: str, **kwargs: Any) -> None:
        """The host begins a session, or goes on after a compaction."""
        with self._failures.kept("on_session_start"):
            if home := kwargs.get("hermes_home"):
                self._move(Path(home))
            self._attachment.chat = str(kwargs.get("conversation_id") or self._attachment.chat)
            length = kwargs.get("context_length")
            if isinstance(length, int) and length > 0 and length != self.context_length:
                self.update_model(self.model, length)
            if kwargs.get("boundary_reason") == "compression":
                self._session_id = called(session_id)
                self._attachment.rotate(self._session_id, called(kwargs.get("old_session_id")))
                return
            self._bind(called(session_id))
            _log.info(
                "lcm is the context engine of session %s (database %s)", session_id, self.db_path
            )

    def bind_session_state(
        self, session_db: Any = None, session_id: str = "", **kwargs: Any
    ) -> None:
        """The host says which session this agent is on; an empty id detaches it."""
        with self._failures.kept("bind_session_state"):
            self._attachment.session_db = session_db
            self._bind(called(session_id))

    def _bind(self, session_id: str) -> None:
        self._session_id = session_id
        if session_id == self._attachment.session_id:
            return
        self._ahead.cancel()
        self._attachment.session_id = session_id
        self.__dict__.update(COUNTERS)
        self._blocked_at = self._list_tokens = self._asked_at = self._prune_from = 0
        self._requests, self._refused = Requests(), False
        self.compression_count = self._attachment.arrive()

    def _move(self, home: Path) -> None:
        if self._attachment.move(home):
            self._ahead.cancel()
            self._session_id = ""
            self._source.forget()  # the other home has a config.yaml of its own

    def on_session_end(self, session_id: str, messages: Sequence[Any]) -> None:
        """Fires at every compaction too: one more chance to store, never an end."""
        with self._failures.kept("on_session_end", last=True):
            # A fork of the agent ends under the session's id without ever having been on it.
            if called(session_id) in ("", self._session_id):
                self._attachment.ingest(messages, self._session_id)

    def on_session_reset(self) -> None:
        """The host leaves the session; the next one is bound or started."""
        with self._failures.kept("on_session_reset"):
            self._bind("")
        super().on_session_reset()

    def carry_over_new_session_context(self, old: str, new: str, **kwargs: Any) -> None:
        """A new session begins empty; ``lcm_grep`` with scope 'all' finds the old one."""

    def close(self) -> None:
        """Close the database; a later call opens it again."""
        with self._failures.kept("close"):
            self._ahead.cancel()
            self._attachment.close()

    # ingest

    def ingest(self, messages: Sequence[Any]) -> IngestReport:
        """Store what is new in *messages*; as often as one likes.

        Raises:
            StoreError: nothing of it was stored.
        """
        return self._attachment.ingest(messages, self._session_id)

    def on_turn_complete(self, messages: Sequence[Any], usage: Any = None, **kwargs: Any) -> None:
        """A turn ended (newer hosts)."""
        with self._failures.kept("on_turn_complete"):
            with self._vitals.settled(self) as also:
                self._attachment.ingest(messages, self._session_id, also)
            work_ahead(self)

    # tokens

    def count_tokens(self, messages: Sequence[Any]) -> int:
        """Tokens of a list, never below the host's own estimate."""
        from ..dag.tokens import IMAGE_TOKENS, count_message

        price = hermes.image_tokens(IMAGE_TOKENS)
        return sum(count_message(row, price) for row in messages or () if isinstance(row, Mapping))

    def update_model(
        self, model: str, context_length: int, base_url: str = "", api_key: str = "", provider: str = "",
        api_mode: str = "", **kwargs: Any,
    ) -> None:  # fmt: skip
        """Another model or window: every budget follows."""
        self.loaded_settings  # noqa: B018 - config.yaml may set the threshold
        self.model, self.base_url, self.api_key = model, base_url, api_key
        self.provider, self.api_mode = provider, api_mode
        if isinstance(context_length, int) and context_length > 0:
            self._refused = self._refused and context_length <= self.context_length
            self.context_length = context_length
        self.threshold_tokens = self.preview_threshold_tokens(self.context_length)
        self.last_prompt_tokens = self.last_real_prompt_tokens = 0  # measured for another model
        self._blocked_at = self._prune_from = 0
        self._requests = Requests()

    def preview_threshold_tokens(self, context_length: int) -> int:
        """The threshold that a window of this size would have."""
        tokens = int(context_length * self.threshold_percent)
        cap = self.threshold_tokens_cap
        return min(tokens, cap) if isinstance(cap, int) and cap > 0 else tokens

    def update_from_response(self, usage: Mapping[str, Any] | None) -> None:
        """What the provider counted; ``{}`` if it counted nothing."""
        self.awaiting_real_usage_after_compression = self._last_compression_made_progress = False
        for name in ("prompt_tokens", "completion_tokens", "total_tokens") if usage else ():
            setattr(self, f"last_{name}", whole((usage or {}).get(name)))
            self.last_real_prompt_tokens = self.last_prompt_tokens
        self._refused = False
        self._requests.answered(whole(usage.get("prompt_tokens")) if usage else 0)
        self._vitals.note(self._session_id, usage)

    def note_usage_less_response(self, *args: Any, **kwargs: Any) -> None:
        """The provider sent no usage."""
        self.update_from_response(None)

    # what the host asks

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Whether the list is over the threshold, and a pass would help."""
        return self.should_compress_info(prompt_tokens)[0]

    def should_compress_info(self, prompt_tokens: int | None = None) -> tuple[bool, str | None]:
        """The same, with the reason where a list over the threshold is left as it is."""
        return is_due(self, prompt_tokens)

    def should_compress_preflight(self, messages: Sequence[Any]) -> bool:
        """Whether a list that the host takes to be below the threshold is over it (newer hosts)."""
        ask = partial(is_over, self, messages)
        return self._failures.instead("should_compress_preflight", default=False, call=ask)

    def has_content_to_compress(self, messages: Sequence[Any]) -> bool:
        """Whether ``/compress`` would make *messages* smaller."""
        ask = partial(has_content, self, messages)  # where it fails, compress() says what is wrong
        return self._failures.instead("has_content_to_compress", default=True, call=ask)

    def get_active_compression_failure_cooldown(self, **kwargs: Any) -> Cooldown | None:
        """How long summarisers that failed are left alone; None if none is. It blocks no compaction."""
        return self._failures.instead("cooldown", None, partial(cooldown_of, self))

    def get_automatic_compaction_status_message(
        self, *, phase: str = "", default_message: str | None = "", **context: Any
    ) -> str | None:
        """What the host shows before a compaction (newer hosts); None: nothing."""
        said = partial(status_line, self, default_message or "")
        return self._failures.instead("status line", default_message, said)

    def select_context(
        self, request_messages: list[Any], *, conversation_messages: list[Any] | None = None,
        incoming_message: Any = None, budget_tokens: int = 0, **kwargs: Any,
    ) -> list[Any] | None:  # fmt: skip
        """None while the request fits; else a list for this request alone (newer hosts)."""
        if not self._session_id or not request_messages:
            return None
        window = whole(budget_tokens) or self.context_length
        made = partial(select, self, request_messages, conversation_messages, window)
        return self._failures.instead("select_context", None, made)

    # compaction

    def compress(
        self, messages: list[Any], current_tokens: int | None = None, focus_topic: str | None = None,
        force: bool = False, memory_context: str = "", **kwargs: Any,
    ) -> list[Any]:  # fmt: skip
        """The list, made to fit: everything that leaves it is stored and under nodes."""
        self._last_compress_aborted = self._last_compress_refused_would_grow = False
        self._last_compression_made_progress = self._last_summary_fallback_used = False
        self._last_summary_error: str | None = None
        if not self._session_id or not messages:
            return messages
        try:
            focus, memory = str(focus_topic or ""), str(memory_context or "")
            self._refused = self._refused or bool(kwargs.get("bypass_cooldown"))
            self._ahead.ease()
            return compacted(self, messages, current_tokens, focus, memory, force=bool(force))
        except Exception as error:  # an exception here would kill the turn
            note_failure(self, error)
            return messages

    def prune_tool_results_only(
        self, messages: list[Any], current_tokens: int | None = None
    ) -> tuple[list[Any], int]:
        """Between two passes: tool results that nobody misses, shown in part where that is worth it."""
        try:
            return pruned(self, messages, whole(current_tokens) or self.last_prompt_tokens)
        except Exception as error:
            self._failures.note("prune_tool_results_only", error)
            return messages, 0

    def record_completed_compaction(self, *args: Any, **kwargs: Any) -> None:
        """The host took the result over; nothing is left to do: nodes are on disk since."""

    def record_rejected_compaction(self, *args: Any, **kwargs: Any) -> None:
        """The host refused a result; not again before the conversation has grown."""
        note_refusal(self)

    def record_timeout_failure(self, message: str = "", *args: Any, **kwargs: Any) -> None:
        """The host gave up waiting; what was made is found again the next time."""
        said = hermes.redaction()(str(message))
        _log.warning("the host gave up waiting for a compaction: %s", said)

    # tools

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """What the agent may call."""
        from ..tools.toolset import schemas

        return schemas(retrieval=self.settings.provide_retrieval_tool)

    def handle_tool_call(self, name: str, args: Any, **kwargs: Any) -> str:
        """Answer a call of the agent; JSON, never an exception."""
        return answer(self, name, args, kwargs.get("messages"))

    def turn_state(self, turn: int) -> dict[str, Any] | None:
        """Sufficient tokens, hints and texts of a turn, as ``hermes lcm show --turn`` has them."""
        return turn_state(self, turn)

    # status

    def get_status(self) -> dict[str, Any]:
        """The host's figures, and ours beside them; what could not be looked up is among the problems."""
        ours = {"engine": self.name, "session": self._session_id}
        with self._failures.kept("get_status"):
            ours["database"] = str(self.db_path)
        spent = {"model_calls": totals_of(self._meter.spent())}
        return {**super().get_status(), **ours, **spent, **engine_facts(self)}

    @property
    def block_reason(self) -> str | None:
        """Why a list over the threshold is left as it is at the moment."""
        return why_blocked(self)
