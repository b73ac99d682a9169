"""Print a Hermes config.yaml with the plugin switched on or off; runs in the Hermes's Python.

ruamel.yaml comes with every Hermes, and keeps comments, quotes and order. Reads a JSON job on
standard input: ``{"text", "action": "on" | "off", "before": {...}}``; prints JSON: ``{"text",
"before", "remark"}``, where *before* is what "off" needs to put things back as they were, and
*remark* the comment of the line ``engine``, if that line is changed.
"""

from __future__ import annotations

import io
import json
import re
import sys
from typing import Any

from ruamel.yaml import YAML  # type: ignore[import-not-found]
from ruamel.yaml.comments import CommentedMap  # type: ignore[import-not-found]

DEFAULT_ENGINE = "compressor"

#: A file without any entry: its comments belong to nothing, so ruamel.yaml would drop them.
ONLY_COMMENTS = re.compile(r"([ \t]*(#[^\n]*)?(\n|\Z))*")


def reader(text: str) -> YAML:
    """A round-trip reader that writes lists indented as *text* has them."""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 100_000
    found = re.search(r"^( *)[^\s#-][^\n]*:[ \t]*\n(?:[ \t]*#[^\n]*\n)*( *)- ", text, re.MULTILINE)
    offset = len(found.group(2)) - len(found.group(1)) if found else 0
    yaml.indent(mapping=2, sequence=offset + 2, offset=offset)
    return yaml


def section(config: Any, name: str) -> Any:
    """The mapping *name*, made if it is absent or empty."""
    if config.get(name) is None:
        config[name] = CommentedMap()
    if not isinstance(config[name], dict):
        raise TypeError(f"{name}: is not a mapping")
    return config[name]


def names(plugins: Any, key: str) -> list[Any]:
    """A list of plugin names as it stands, or an empty one."""
    value = plugins.get(key)
    if value is not None and not isinstance(value, list):
        raise TypeError(f"plugins.{key}: is not a list")
    return value if value is not None else []


def switch_on(config: Any) -> dict[str, Any]:
    """Enable the plugin and select the engine; returns what was there."""
    before = {
        "engine": (config.get("context") or {}).get("engine"),
        "enabled": "lcm" in names(config.get("plugins") or {}, "enabled"),
        "disabled": "lcm" in names(config.get("plugins") or {}, "disabled"),
        "sections": [key for key in ("plugins", "context") if key in config],
    }
    plugins = section(config, "plugins")
    if "lcm" in names(plugins, "disabled"):
        plugins["disabled"].remove("lcm")
    if plugins.get("enabled") is None:
        plugins["enabled"] = []
    if "lcm" not in names(plugins, "enabled"):
        plugins["enabled"].append("lcm")
    if before["engine"] != "lcm":
        section(config, "context")["engine"] = "lcm"
    return before


def switch_off(config: Any, before: dict[str, Any]) -> None:
    """Take the plugin out of the list, and select the engine that was selected."""
    plugins = config.get("plugins") or {}
    if "lcm" in names(plugins, "enabled") and not before.get("enabled"):
        plugins["enabled"].remove("lcm")
    if before.get("disabled") and "lcm" not in names(plugins, "disabled"):
        plugins["disabled"].append("lcm")
    context = config.get("context") or {}
    if context.get("engine") == "lcm":
        former = before.get("engine")
        context["engine"] = former if former not in (None, "lcm") else DEFAULT_ENGINE
        if former is None and before:
            del context["engine"]
    for name in ("plugins", "context"):
        made_by_us = before and name not in before["sections"]
        if made_by_us and not any(config.get(name, {}).values()):
            config.pop(name, None)


def remark(config: Any) -> str:
    """The comment behind ``context.engine``, or nothing."""
    tokens = getattr(config.get("context"), "ca", None)
    behind = tokens.items.get("engine") if tokens else None
    found = re.match(r"#[^\n]*", behind[2].value) if behind and behind[2] else None
    return found.group().strip() if found else ""


def written(yaml: YAML, config: Any, old: str) -> str:
    """The text of *config*, with the comments of *old* where they would be lost."""
    if not config:
        return "".join(f"{line}\n" for line in old.splitlines() if ONLY_COMMENTS.fullmatch(line))
    out = io.StringIO()
    if ONLY_COMMENTS.fullmatch(old):
        out.write(f"{old}\n" if old and not old.endswith("\n") else old)
    yaml.dump(config, out)
    return out.getvalue()


def main() -> None:
    """Edit the text of the job."""
    job = json.load(sys.stdin)
    yaml = reader(job["text"])
    try:
        config = yaml.load(job["text"])
        config = CommentedMap() if config is None else config
        before = job.get("before") or {}
        said = remark(config)
        engine = (config.get("context") or {}).get("engine")
        old = json.dumps(config, default=str)
        if job["action"] == "on":
            before = switch_on(config)
        else:
            switch_off(config, before)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a file, a person is told
        json.dump({"error": f"{type(error).__name__}: {error}"}, sys.stdout)
        return
    text = job["text"]
    if json.dumps(config, default=str) != old:
        text = written(yaml, config, text)
    if (config.get("context") or {}).get("engine") == engine:
        said = ""
    json.dump({"text": text, "before": before, "remark": said}, sys.stdout)


main()
