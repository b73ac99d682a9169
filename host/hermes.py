"""All that is asked of Hermes itself: config, home, models, its session database.

Features are probed, never versions. Without Hermes every question has an
answer that lets the core work as a library.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import json
import logging
import math
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..dag.answering import Question
    from ..dag.drift_model import DriftModel, DriftRequest
    from ..dag.redact import Redact
    from ..dag.summarizer import Reply, Summarizer, SummaryRequest
    from ..dag.usage import Usage

__all__ = [
    "Parent",
    "answer_model",
    "auxiliary",
    "cancelled_by",
    "compression_enabled",
    "config",
    "drift_model",
    "engine_selected",
    "engine_served",
    "home",
    "image_tokens",
    "keeps_uids",
    "model_summarizer",
    "parent_of",
    "redaction",
    "settings_section",
    "show",
]

_log = logging.getLogger(__name__)

#: Room for the numbers of a few turns, and for what a model thinks before it writes them.
_DRIFT_TOKENS = 1000


def home() -> Path:
    """The Hermes home in force here and now: profiles have one each."""
    try:
        from hermes_constants import get_hermes_home
    except ImportError:
        return Path(os.environ.get("HERMES_HOME") or "~/.hermes").expanduser()
    return Path(get_hermes_home())


def config() -> Mapping[str, Any]:
    """config.yaml as Hermes has it, defaults included; {} without Hermes."""
    try:
        from hermes_cli.config import load_config_readonly
    except ImportError:
        return {}
    try:
        found = load_config_readonly()
    except Exception as error:  # a broken config.yaml is the host's to report
        what = "config.yaml could not be read; lcm uses its defaults"
        _log.warning("%s (%s)", what, type(error).__name__)  # its text may quote a key
        return {}
    return found if isinstance(found, Mapping) else {}


def settings_section() -> Any:
    """The section ``lcm:`` of config.yaml, overlaid by ``plugins.entries.lcm.settings``."""
    from ..dag.settings import section_of

    return section_of(config())


def engine_selected() -> str:
    """The value of ``context.engine``."""
    context = config().get("context")
    return (
        str(context.get("engine", "compressor")) if isinstance(context, Mapping) else "compressor"
    )


def engine_served() -> str:
    """The name of the engine that this Hermes gives a new agent: found as it finds it itself.

    It falls back to its own compressor in silence, whatever is selected; so it is asked, not believed.
    """
    selected = engine_selected()
    for find in (_in_folders, _among_plugins):
        try:
            engine = find(selected)
        except Exception:  # as the host does, which then takes its own
            _log.debug("the host found no engine %s", selected, exc_info=True)
            continue
        if engine is not None:
            return str(engine.name)
    return "compressor"


def _in_folders(name: str) -> Any:
    from plugins.context_engine import load_context_engine

    return load_context_engine(name)


def _among_plugins(name: str) -> Any:
    from hermes_cli.plugins import get_plugin_context_engine

    engine = get_plugin_context_engine()
    return copy.deepcopy(engine) if engine is not None and engine.name == name else None


def answers(context: Any, command: str) -> bool:
    """Whether ``/command`` is answered already, and *context* only collects an engine: a second one is warned of."""
    plugins: Any = sys.modules.get("hermes_cli.plugins")
    if plugins is None or isinstance(context, plugins.PluginContext):
        return False
    return command in plugins.get_plugin_manager()._plugin_commands


def compression_enabled() -> bool:
    """Whether the host ever asks an engine to compact (``compression.enabled``)."""
    section = config().get("compression")
    value = section.get("enabled", True) if isinstance(section, Mapping) else True
    return value if isinstance(value, bool) else str(value).lower() in ("true", "1", "yes")


def prunes() -> bool:
    """Whether the host shows an engine the list after each round of tools, to be made smaller."""
    try:
        from agent.context_engine import ContextEngine
    except ImportError:
        return False
    return hasattr(ContextEngine, "prune_tool_results_only")


def keeps_uids() -> bool:
    """Whether the host keeps ``message_uid`` off the wire; only then our rows may carry one."""
    try:
        from agent.message_metadata import PERSISTENCE_ONLY_MESSAGE_FIELDS
    except ImportError:
        return False
    return "message_uid" in PERSISTENCE_ONLY_MESSAGE_FIELDS


def image_tokens(default: int) -> int:
    """What the host takes an image to cost; newer hosts learn it from the provider."""
    try:
        from agent.image_token_cost import current_image_token_cost
    except ImportError:
        return default
    try:
        return max(int(current_image_token_cost()), default)
    except Exception:
        return default


@dataclass(frozen=True, slots=True)
class Parent:
    """The session that another one came from, as the host has it."""

    name: str
    rotated: bool
    """Whether the host compacted the parent into this session."""
    branched: bool
    """Whether the host has it from somebody that it is a branch. Neither: the list must tell."""

    @property
    def goes_on(self) -> bool:
        """Whether the conversation goes on in the session, as it does not in a sub-agent's."""
        return self.rotated or self.branched


#: What the host's redaction hides although it is no secret: numbers of telephones, and the word behind
#: "authorization:" in prose. Headers are ours to know.
_NO_SECRET = re.compile(r"\+(?=[1-9]\d{6,14})|(?<=uthorizatio)n|(?<=UTHORIZATIO)N")
_HIDDEN = {"+": "\ue0f0", "n": "\ue0f1", "N": "\ue0f2"}
_SHOWN = str.maketrans({hidden: shown for shown, hidden in _HIDDEN.items()})


def show(engine: Any, line: str) -> bool:
    """Have the agent of this process's command line show *line*; False where *engine* serves none."""
    try:
        from hermes_cli.plugins import get_plugin_manager
    except ImportError:
        return False
    try:
        agent = getattr(getattr(get_plugin_manager(), "_cli_ref", None), "agent", None)
        if agent is None or agent.context_compressor is not engine:
            return False
        agent._emit_status(line)
    except Exception:  # a line that is not shown must not cost a pass
        _log.debug("the host did not show a line", exc_info=True)
        return False
    return True


def redaction() -> Redact:
    """A text without its secrets: by our rules, and by the host's own behind them where it has any."""
    from ..dag.redact import with_host

    try:
        from agent.redact import redact_sensitive_text
    except ImportError:
        return with_host(None)

    def host(text: str) -> str:
        asked = text
        if not any(hidden in text for hidden in _HIDDEN.values()):
            asked = _NO_SECRET.sub(lambda found: _HIDDEN[found[0]], text)
        try:
            # Not the host's rules for assignments: they take code for secrets, and ours do not.
            said = str(redact_sensitive_text(asked, force=True, code_file=True))
        except Exception as error:
            _log.warning("the host's redaction failed: %s; ours is used", type(error).__name__)
            return text
        return said if asked is text else said.translate(_SHOWN)

    return with_host(host)


def parent_of(session_db: Any, session: str) -> Parent | None:
    """What the host's session database says about where *session* came from; read-only."""
    if session_db is None or not session:
        return None
    try:
        row = session_db.get_session(session) or {}
        name = row.get("parent_session_id")
        ended = (session_db.get_session(name) or {}).get("end_reason") if name else ""
        branched = name and _branched_from(row.get("model_config")) == name
    except Exception:  # the host's database is not ours to judge
        _log.debug("the host's session database did not answer", exc_info=True)
        return None
    rotated = ended == "compression" and not branched
    return Parent(str(name), rotated, bool(branched)) if name else None


def _branched_from(config: Any) -> Any:
    """The session that ``/branch`` copied: a parent that was compacted later does not rotate into its branch."""
    found = json.loads(config) if isinstance(config, str) and config else config
    return found.get("_branched_from") if isinstance(found, Mapping) else None


def auxiliary(name: str) -> float | None:
    """A number that config.yaml gives for the model that compresses; None if it says nothing."""
    section: Any = config()
    for key in ("auxiliary", "compression", name):
        section = section.get(key) if isinstance(section, Mapping) else None
    try:
        number = float(section or 0)
    except (TypeError, ValueError):
        return None
    return number if number > 0 else None


@contextlib.contextmanager
def cancelled_by(event: threading.Event) -> Iterator[None]:
    """Inside, the host's model calls of this thread are ended by *event* alone, where it can do so.

    A host that cannot lets them end by themselves, and by no other interrupt.
    """
    try:
        from agent.auxiliary_client import aux_interrupt_protection as protection
    except ImportError:
        yield
        return
    can = "cancel_event" in inspect.signature(protection).parameters
    with protection(cancel_event=event) if can else protection():
        yield


def model_summarizer(model: str) -> Summarizer | None:
    """A summariser that asks the host's auxiliary model; None without Hermes.

    *model* replaces the model that is configured for compression.
    """
    ask = _asker(model)
    if ask is None:
        return None
    from ..dag.prompts import summary_messages

    def summary(request: SummaryRequest) -> Reply:
        most = sum(request.levels) + request.max_tokens + 400
        return ask(summary_messages(request), most, request.seconds)

    return summary


def answer_model(model: str) -> Callable[[Question], Reply] | None:
    """A model of the host that answers questions from passages; None without Hermes."""
    ask = _asker(model)
    if ask is None:
        return None
    from ..dag.prompts import answer_messages

    def answer(asked: Question) -> Reply:
        return ask(answer_messages(asked), asked.max_tokens, asked.seconds)

    return answer


def drift_model(model: str) -> DriftModel | None:
    """A model of the host that is asked where the subject changes; None without Hermes."""
    ask = _asker(model)
    if ask is None:
        return None
    from ..dag.prompts import drift_messages

    def numbers(request: DriftRequest) -> Reply:
        return ask(drift_messages(request), _DRIFT_TOKENS, request.seconds)

    return numbers


def _asker(model: str) -> Callable[[list[dict[str, str]], int, float | None], Reply] | None:
    """Asks the host's auxiliary model: (messages, most tokens, seconds) to its answer."""
    try:
        from agent.auxiliary_client import call_llm
    except ImportError:
        return None
    from ..dag.replies import Reply
    from ..dag.usage import Usage

    def ask(messages: list[dict[str, str]], most: int, seconds: float | None) -> Reply:
        wanted: dict[str, Any] = {"model": model} if model else {}
        if seconds is not None:
            wanted["timeout"] = min(seconds, auxiliary("timeout") or math.inf)
        response = call_llm(task="compression", messages=messages, max_tokens=most, **wanted)
        choice = response.choices[0]
        said = choice.message.content
        counted = Usage.of(getattr(response, "usage", None))
        return Reply(
            text=said,
            finish_reason=str(getattr(choice, "finish_reason", "") or ""),
            refusal=str(getattr(choice.message, "refusal", "") or ""),
            usage=counted if counted.total_tokens else _estimated(messages, said),
            model=str(getattr(response, "model", "") or ""),
        )

    return ask


def _estimated(messages: Sequence[Mapping[str, Any]], said: Any) -> Usage:
    """Our own count, for a response that has none."""
    from ..dag.tokens import count_messages, count_text
    from ..dag.usage import Usage

    return Usage(count_messages(messages), count_text(said if isinstance(said, str) else ""))
