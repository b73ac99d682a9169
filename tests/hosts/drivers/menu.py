"""Ask the functions behind the menu ``hermes plugins`` which context engines there are."""

from __future__ import annotations

from common import give


def main() -> None:
    from hermes_cli.plugins_cmd import _discover_context_engines, _get_current_context_engine

    give({"engines": _discover_context_engines(), "current": _get_current_context_engine()})


main()
