"""Whether a config.yaml lets Hermes use the engine, and all that is to be written where it does not.

Each fault is told with everything that is to be done about it, and with the lines as they must read in the
file that is there: who has done it finds no next fault behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from .check import Check, good, note, typed, wrong
from .config_file import Repeated
from .config_lines import as_text, lines_of

if TYPE_CHECKING:
    from .hosting import Hosting

__all__ = ["NAME", "check_config"]

NAME: Final = "lcm"
#: Keys of a section, with what must stand there.
_Wanted = Mapping[str, str | Sequence[str]]
_KINDS: Final = ((str, "a text"), (list | tuple, "a list"), (bool, "true or false"))
#: What hosts read as a yes.
_YES: Final = ("true", "1", "yes")
#: What must stand under a section, once it stands there but once.
_MUST: Final = {
    "plugins": " `lcm` must be in its list `enabled:`.",
    "context": " It must say `engine: lcm`.",
}


def check_config(host: Hosting) -> Iterator[Check]:
    """Everything in the file that decides whether this Hermes uses the engine."""
    if host.config is None:
        yield note("config", "config.yaml was not looked at: this Python has no PyYAML.")
        return
    if host.file.unread:
        remedy = "Put it right with an editor: Hermes cannot read it either."
        yield wrong("config", f"{host.file.unread}.", remedy)
        return
    twice = {each.path[0] for each in host.file.repeated if len(each.path) <= 2}  # noqa: PLR2004 - a section or a key in it
    yield from (_repeated(host, each) for each in host.file.repeated)
    yield from (check for name, check in _sections(host) if name not in twice)
    yield from _toolsets(host)


def _sections(host: Hosting) -> Iterator[tuple[str, Check]]:
    yield "context", _selected(host)
    yield "plugins", _enabled(host)
    yield "compression", _compression(host)


def _repeated(host: Hosting, each: Repeated) -> Check:
    """A key that stands twice: a reader sees the first, and Hermes does not."""
    often = "twice" if len(each.lines) == 2 else f"{len(each.lines)} times"  # noqa: PLR2004 - as a person counts
    *lines, last = map(str, each.lines)
    said = (
        f"The key `{'.'.join(each.path)}` stands {often} in `{host.at}`, in lines {', '.join(lines)} and {last}: "
        f"older hosts take line {last} alone, newer ones do not read the file at all."
    )
    must = _MUST.get(each.path[0], "") if len(each.path) == 1 else ""
    remedy = f"Leave one `{each.path[-1]}:`, with what is to hold of all of them.{must}"
    return wrong("config", said, remedy)


def _selected(host: Hosting) -> Check:
    selected, section = host.get("context", "engine"), host.get("context")
    if selected == NAME:
        return good("engine", "context.engine is lcm")
    if section is None or isinstance(section, Mapping):
        shown = "not set, so it is Hermes's own compressor" if selected is None else repr(selected)
        said = f"context.engine is {shown}."
    else:
        said = f"`context` is {_kind(section)}, and Hermes wants keys with values under it."
    wanted = {"engine": NAME}
    return wrong(
        "engine",
        said,
        f"Start Hermes anew afterwards. {_how(host, 'context', wanted)}",
        lines=_lines(host, "context", wanted),
    )


def _enabled(host: Hosting) -> Check:
    enabled, disabled = (host.get("plugins", key) for key in ("enabled", "disabled"))
    on, off = _names(enabled), _names(disabled)
    odd = [_no_list(key, host.get("plugins", key)) for key in ("enabled", "disabled")]
    faults = [*_no_section(host.get("plugins")), *(each for each in odd if each)]
    barred = NAME in off and not odd[1]
    if barred:
        faults.append("lcm is in plugins.disabled: Hermes does not load it")
    listed = NAME in on and not odd[0]
    if not listed and not odd[0]:
        faults.append(
            "lcm is not in plugins.enabled: older hosts then use their own compressor without a word, newer "
            "ones have no `hermes lcm`, no hooks"
        )
    if not faults:
        return good("enabled", "lcm is in plugins.enabled")
    wanted = {} if listed else {"enabled": [*(each for each in on if each != NAME), NAME]}
    if disabled is not None and (odd[1] or NAME in off):
        wanted["disabled"] = [each for each in off if each != NAME]
    tell = note if listed and not barred else wrong
    remedy, lines = _how(host, "plugins", wanted), _lines(host, "plugins", wanted)
    return tell("enabled", f"{'. '.join(faults)}.", remedy, lines=lines)


def _compression(host: Hosting) -> Check:
    section = host.get("compression")
    given = isinstance(section, Mapping) and "enabled" in section
    value = host.get("compression", "enabled")
    if not given or str(value).lower() in _YES:
        return good(
            "compression", "compression.enabled: Hermes asks the engine that it uses to compact"
        )
    shown = "empty, which counts as false" if value is None else str(value).lower()
    said = f"compression.enabled is {shown}: Hermes never asks an engine to compact."
    wanted = {"enabled": "true"}
    return wrong(
        "compression",
        f"{said} All is stored, and the conversation grows until the model refuses it.",
        f"I{_by_hand(host, 'compression', wanted)}",
        lines=_lines(host, "compression", wanted),
    )


def _toolsets(host: Hosting) -> Iterator[Check]:
    """Hosts offer an engine's tools beside any saved list of toolsets, but not beside an empty one."""
    saved = host.get("platform_toolsets")
    for platform, names in saved.items() if isinstance(saved, Mapping) else ():
        if names == []:
            said = f"On {platform} the agent has none of lcm's tools: platform_toolsets.{platform} is empty."
            wanted = {str(platform): ["context_engine"]}
            by_hand = _by_hand(host, "platform_toolsets", wanted)
            remedy = f"If it is to search in {platform}: i{by_hand}"
            lines = _lines(host, "platform_toolsets", wanted)
            yield note("tools", said, remedy, lines=lines)


def _by_hand(host: Hosting, section: str, wanted: _Wanted) -> str:
    """What is to be done with the lines, less its first letter; that other keys of *section* stay."""
    there = host.get(section)
    others = isinstance(there, Mapping) and any(str(key) not in wanted for key in there)
    stay = f"; leave the other keys under `{section}:` as they are" if others else ""
    return f"n `{host.at}` these lines must read so, in place of those that stand there for these keys{stay}:"


def _how(host: Hosting, section: str, wanted: _Wanted) -> str:
    """Who puts it right; the installer leaves a file alone in which something is of another kind than Hermes takes."""
    by_hand = _by_hand(host, section, wanted)
    if _is_odd(host):
        return f"I{by_hand}"
    return f"{typed('scripts/quickstart', '--into', host.home)} does it and keeps your comments; or i{by_hand}"


def _is_odd(host: Hosting) -> bool:
    """Whether the installer would refuse to edit it."""
    sections = [host.get(name) for name in ("plugins", "context")]
    lists = [host.get("plugins", key) for key in ("enabled", "disabled")]
    return (
        bool(host.file.repeated)
        or any(each is not None and not isinstance(each, Mapping) for each in sections)
        or any(each is not None and not isinstance(each, list) for each in lists)
    )


def _lines(host: Hosting, section: str, wanted: _Wanted) -> tuple[str, ...]:
    """As they must read in its file; where nobody has seen that, in one that holds what Hermes says."""
    return lines_of(host.file.text or as_text(section, host.get(section)), section, wanted)


def _names(value: Any) -> list[str]:
    """The names in a list, or in a text that should be one."""
    if isinstance(value, str):
        return [name for each in value.split(",") if (name := each.strip())]
    return [str(each) for each in value] if isinstance(value, list | tuple) else []


def _no_section(value: Any) -> list[str]:
    if value is None or isinstance(value, Mapping):
        return []
    return [f"`plugins` is {_kind(value)}, and Hermes wants keys with values under it"]


def _no_list(key: str, value: Any) -> str:
    """What is wrong with a value that should be a list; empty where nothing is."""
    if value is None or isinstance(value, list | tuple):
        return ""
    return f"plugins.{key} is {_kind(value)}, and Hermes wants a list: it takes it for none"


def _kind(value: Any) -> str:
    """What a value is, in words; a short one as it stands there."""
    word = next((word for kind, word in _KINDS if isinstance(value, kind)), "a value")
    return f"{word} (`{value}`)" if isinstance(value, str) and len(value) <= 40 else word  # noqa: PLR2004 - what fits
