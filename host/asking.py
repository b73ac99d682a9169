"""Which engine answers ``/lcm``: that of the chat which asks.

A process may serve many chats, older hosts hand a command neither chat nor session, and newer ones load this
module twice: once for the commands, once for the engines. So engines are looked for in all copies of the
class, which are subclasses of the host's one, and the host is asked whom it is serving.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

from . import hermes
from .base import ContextEngine
from .surface import called

if TYPE_CHECKING:
    from .engine import LCMEngine

__all__ = ["Unclear", "serving"]


class Unclear(LookupError):
    """Several chats are served, and the host does not say which of them asks."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """Whom the host serves just now."""

    chat: str = ""
    """What a gateway calls the chat; empty elsewhere, or where it is not known."""
    session: str = ""
    certain: bool = False
    """Whether the session is that of the call, and not the one that this process was on last."""


def serving(own: LCMEngine) -> tuple[LCMEngine, str]:
    """The engine of the chat that asks, and its session; *own*, which is on none, where no engine serves it yet.

    Raises:
        Unclear: there are several, and the host does not say which it is.
    """
    engines = [each for each in _living(own) if each._session_id]
    asked = _asked()
    chats = {each._attachment.chat for each in engines} - {""}
    if asked.chat and (chats or _routed(asked.chat)):
        engines = [each for each in engines if each._attachment.chat == asked.chat]
    elif len(chats) > 1:
        raise Unclear
    on_it = [
        each for each in engines if asked.session and each._session_id == called(asked.session)
    ]
    if not asked.certain:
        on_it = on_it or engines
    if on_it:
        found = _newest(on_it)
        return found, found._session_id
    return own, called(asked.session if asked.certain else _routed(asked.chat))


def _living(own: LCMEngine) -> list[LCMEngine]:
    """The engines of this process, whichever copy of the module made them."""
    kinds = [each for each in ContextEngine.__subclasses__() if each.__name__ == type(own).__name__]
    return [each for kind in kinds for each in getattr(kind, "living", ())]


def _newest(engines: Sequence[LCMEngine]) -> LCMEngine:
    """The engine that did something last; those on a session that is not kept come last of all."""
    return max(
        engines,
        key=lambda each: (not each._attachment.skips(each._session_id), each._attachment.moved),
    )


def _asked() -> _Asked:
    """Who asks: by what the host is doing above us on the stack, else by what it has bound to the thread."""
    for frame in _above():
        names = frame.f_locals
        if frame.f_code.co_name == "_handle_message" and names.get("_quick_key"):
            return _Asked(chat=str(names["_quick_key"]))
        if str(frame.f_globals.get("__name__")).startswith("tui_gateway") and (
            session := _session_of(names.get("session"))
        ):
            return _Asked(session=session, certain=True)
    try:
        from gateway.session_context import get_session_env
    except ImportError:
        return _Asked()
    chat, session = (str(get_session_env(f"HERMES_SESSION_{each}") or "") for each in ("KEY", "ID"))
    return _Asked(chat, session)


def _routed(chat: str) -> str:
    """The session that a gateway has a chat on; its agent may be gone: it was idle, or the gateway began anew."""
    try:
        file = hermes.home() / "sessions" / "sessions.json"
        entry = json.loads(file.read_text(encoding="utf-8")).get(chat) if chat else None
    except (OSError, ValueError, AttributeError):
        return ""
    return str(entry.get("session_id") or "") if isinstance(entry, dict) else ""


def _above() -> Iterator[FrameType]:
    frame = sys._getframe().f_back
    while frame is not None:
        yield frame
        frame = frame.f_back


def _session_of(tab: Any) -> str:
    """The session of a tab of the terminal UI; empty if it is none."""
    if not isinstance(tab, dict) or "session_key" not in tab:
        return ""
    return str(getattr(tab.get("agent"), "session_id", "") or tab["session_key"] or "")
