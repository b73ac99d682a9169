"""Registers everything that a host's context takes; each kind of context offers another part of it."""

from __future__ import annotations

import logging
from typing import Any

from ..console.cli import run, setup_parser, slash
from .engine import LCMEngine
from .facts import facts_of
from .hooks import Family

__all__ = ["register"]

_log = logging.getLogger(__name__)


def register(context: Any) -> None:
    """Offer the engine, the hook, ``/lcm`` and ``hermes lcm`` to *context*.

    A new engine every time: hosts call this for each agent and for each
    look at the list of plugins. Nothing is opened and nothing is created.
    """
    family = Family()
    engine = LCMEngine()
    family.join(engine)
    context.register_context_engine(engine)

    def command(raw_args: str = "") -> str:
        """``/lcm VERB …`` in chat."""
        serving = family.newest() or engine
        return slash(
            raw_args or "",
            db_path=str(serving.db_path),
            session=serving._session_id,
            facts=facts_of(serving),
        )

    _offer(
        context,
        "register_command",
        "lcm",
        command,
        description="Lossless context: status, search, tree, verify",
        args_hint="status",
    )
    _offer(context, "register_hook", "post_llm_call", family.post_llm_call)

    def verb(args: Any) -> Any:
        """``hermes lcm VERB``."""
        return run(args, facts=facts_of(engine))

    _offer(
        context, "register_cli_command", "lcm", help="Lossless context management", setup_fn=setup_parser, handler_fn=verb,
        description="What lcm keeps, what is in the context, and whether all of it is there.",
    )  # fmt: skip


def _offer(context: Any, method: str, *args: Any, **kwargs: Any) -> None:
    """Call a method of the context if it has it; one that fails must not take the engine with it."""
    offer = getattr(context, method, None)
    if offer is None:
        return
    try:
        offer(*args, **kwargs)
    except Exception:
        _log.warning("lcm: the host did not take %s", method, exc_info=True)
