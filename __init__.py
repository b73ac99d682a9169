"""Lossless context management for Hermes Agent.

``register(ctx)`` is what Hermes calls: it hands over a new context engine
(``ctx.register_context_engine``) and, where the host takes them, a hook, the
command ``/lcm`` and ``hermes lcm``. Nothing is imported before that call, so
that listing plugins costs nothing and a missing dependency can be named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .dag.compactor import Compaction, CompactionContext, run_compactor, run_compactor_async
    from .dag.llm_compactor import LlmCompactor
    from .dag.plan import CompactionPlan, CompactionSplit, split_at_user_turn
    from .dag.prompts import summary_messages
    from .dag.store_compactor import StoreCompactor
    from .dag.summarizer import Reply, SummaryRequest
    from .dag.usage import Usage
    from .host.engine import LCMEngine

__all__ = [
    "Compaction",
    "CompactionContext",
    "CompactionPlan",
    "CompactionSplit",
    "LCMEngine",
    "LlmCompactor",
    "Reply",
    "StoreCompactor",
    "SummaryRequest",
    "Usage",
    "register",
    "run_compactor",
    "run_compactor_async",
    "split_at_user_turn",
    "summary_messages",
]

#: What else can be asked of the package, and where it is: imported when someone asks.
_PLACES = {
    "LCMEngine": "host.engine",
    "Compaction": "dag.compactor",
    "CompactionContext": "dag.compactor",
    "CompactionPlan": "dag.plan",
    "CompactionSplit": "dag.plan",
    "LlmCompactor": "dag.llm_compactor",
    "Reply": "dag.summarizer",
    "StoreCompactor": "dag.store_compactor",
    "SummaryRequest": "dag.summarizer",
    "Usage": "dag.usage",
    "run_compactor": "dag.compactor",
    "run_compactor_async": "dag.compactor",
    "split_at_user_turn": "dag.plan",
    "summary_messages": "dag.prompts",
}

_NEEDED = {
    "networkx": "networkx",
    "rapidfuzz": "rapidfuzz",
    "sqlite_utils": "sqlite-utils",
    "yaml": "pyyaml",
}


def register(ctx: Any) -> None:
    """Offer the engine and all that belongs to it to a host.

    Raises:
        ImportError: a dependency is missing; the text says how to install it.
    """
    missing = _missing()
    if missing:
        import logging
        import sys

        text = (
            f"lcm needs {', '.join(missing)}, which this Python does not have, so Hermes goes on with its built-in"
            f" compressor. Install it with:  {sys.executable} -m pip install {' '.join(missing)}"
        )
        logging.getLogger(__name__).error(text)
        sys.stderr.write(f"{text}\n")  # hosts log a failed plugin where few look
        raise ImportError(text)
    from .host.plugin import Console
    from .host.plugin import register as register_all

    register_all(ctx, Console(_setup_parser, _run, _slash))


def _setup_parser(parser: Any) -> None:
    from .console import cli  # imported when a person asks, not when a host lists its plugins

    cli.setup_parser(parser)


def _run(args: Any, **kwargs: Any) -> int:
    from .console import cli

    return cli.run(args, **kwargs)


def _slash(raw_args: str, **kwargs: Any) -> str:
    from .console import cli

    return cli.slash(raw_args, **kwargs)


def _missing() -> list[str]:
    from importlib.util import find_spec

    return [package for module, package in _NEEDED.items() if find_spec(module) is None]


def __getattr__(name: str) -> Any:
    """The engine, and what other loops than Hermes need."""
    if name in _PLACES:
        from importlib import import_module

        return getattr(import_module(f".{_PLACES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
