"""Lossless context management for Hermes Agent.

``register(ctx)`` is what Hermes calls: it hands over a new context engine
(``ctx.register_context_engine``) and, where the host takes them, a hook, the
command ``/lcm`` and ``hermes lcm``. Nothing is imported before that call, so
that listing plugins costs nothing and a missing dependency can be named.
"""

from __future__ import annotations

from typing import Any

__all__ = ["LCMEngine", "register"]

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
    """``LCMEngine``, imported when someone asks for it."""
    if name == "LCMEngine":
        from .host.engine import LCMEngine

        return LCMEngine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
