"""Registers everything that a host's context takes; each kind of context offers another part of it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import hermes
from .asking import Unclear, serving
from .engine import LCMEngine
from .facts import facts_of
from .hooks import Family

__all__ = ["Console", "register"]

_log = logging.getLogger(__name__)

_SKILL = Path(__file__).resolve().parent.parent / "skills" / "recall" / "SKILL.md"
_TEACHES = (
    "When to search what was said before (lcm_grep), when to open a summary or a message (lcm_expand),"
    " and why a summary proves nothing."
)
_UNCLEAR = (
    "several chats are open here, and this Hermes does not say which of them asks; in a terminal,"
    " `hermes lcm sessions` lists them and --session ID after a verb names one"
)


@dataclass(frozen=True, slots=True)
class Console:
    """What a person sees, handed in by the composition root."""

    setup_parser: Callable[..., Any]
    """Gives an argparse parser the verbs."""
    run: Callable[..., Any]
    """Carries out ``hermes lcm VERB``."""
    slash: Callable[..., str]
    """Answers ``/lcm VERB`` in chat."""


def register(context: Any, console: Console) -> None:
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
        try:
            (asked, session), unclear = serving(engine), ""
        except Unclear:
            asked, session, unclear = engine, "", _UNCLEAR
        facts = facts_of(asked) | {"no_session": unclear}
        path = str(asked.db_path)
        return console.slash(raw_args or "", db_path=path, session=session, facts=facts)

    def verb(args: Any) -> None:
        """``hermes lcm VERB``; older hosts ignore what a handler returns."""
        code = console.run(args, db_path=str(engine.db_path), facts=facts_of(engine))
        if code:
            sys.exit(code)

    if not _answered(context):
        _offer(
            context,
            "register_command",
            "lcm",
            command,
            description="Lossless context: status, search, tree, verify",
            args_hint="status",
        )
    for hook in family.hooks():
        _offer(context, "register_hook", hook.__name__, hook)
    _offer(context, "register_skill", "recall", _SKILL, description=_TEACHES)
    _offer(
        context,
        "register_cli_command",
        "lcm",
        help="Lossless context management",
        setup_fn=console.setup_parser,
        handler_fn=verb,
        description="What lcm keeps, what is in the context, and whether all of it is there.",
    )


def _answered(context: Any) -> bool:
    """Whether ``/lcm`` is there; a host that cannot say so is offered it."""
    try:
        return hermes.answers(context, "lcm")
    except Exception:
        _log.debug("lcm: the host does not say what is answered", exc_info=True)
        return False


def _offer(context: Any, method: str, *args: Any, **kwargs: Any) -> None:
    """Call a method of the context if it has it; one that fails must not take the engine with it."""
    offer = getattr(context, method, None)
    if offer is None:
        return
    try:
        offer(*args, **kwargs)
    except Exception:
        _log.warning("lcm: the host did not take %s", method, exc_info=True)
