"""Print a Hermes config.yaml with the plugin switched on or off; runs in the Hermes's Python.

Only the lines concerned are edited, so that every other one stays as somebody has written it. What
comes of it is read again; where that is not what it should be (a style that is not known here),
ruamel.yaml writes the whole file: it comes with every Hermes, and keeps comments, quotes and order.

Reads a JSON job on standard input: ``{"text", "action": "on" | "off", "before": {...}}``; prints JSON:
``{"text", "before", "remark", "compacts"}``: what "off" needs to put things back as they were, the comment of
the line ``engine``, if that line is changed, and whether Hermes asks an engine to compact at all.
"""

from __future__ import annotations

import copy
import io
import json
import re
import sys
from typing import Any

from ruamel.yaml import YAML  # type: ignore[import-not-found]
from ruamel.yaml.comments import CommentedMap  # type: ignore[import-not-found]
from ruamel.yaml.constructor import DuplicateKeyError  # type: ignore[import-not-found]
from ruamel.yaml.error import YAMLError  # type: ignore[import-not-found]

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


class Misread(Exception):
    """The config is YAML, and not what a Hermes takes; the text says what is wrong."""


def fits(config: Any) -> Any:
    """*config* as a mapping whose sections are mappings.

    Raises:
        Misread: it is something else.
    """
    config = CommentedMap() if config is None else config
    if not isinstance(config, dict):
        raise Misread(f"it is {_kind(config)}, and Hermes wants keys with values (`plugins:`)")
    for name in ("plugins", "context"):
        if config.get(name) is not None and not isinstance(config[name], dict):
            raise Misread(f"`{name}:` is {_kind(config[name])}, and Hermes wants a mapping")
    return config


def _kind(value: Any) -> str:
    kinds = {list: "a list", str: "a text"}
    return next((word for kind, word in kinds.items() if isinstance(value, kind)), "a value")


def section(config: Any, name: str) -> Any:
    """The mapping *name*, made if it is absent or empty."""
    if config.get(name) is None:
        config[name] = CommentedMap()
    return config[name]


def names(plugins: Any, key: str) -> list[Any]:
    """A list of plugin names as it stands, or an empty one."""
    value = plugins.get(key)
    if value is not None and not isinstance(value, list):
        raise Misread(f"`{key}:` under `plugins:` is {_kind(value)}, and Hermes wants a list")
    return value if value is not None else []


def switch_on(config: Any) -> dict[str, Any]:
    """Enable the plugin and select the engine; returns what was there."""
    before = {
        "engine": (config.get("context") or {}).get("engine"),
        "enabled": "lcm" in names(config.get("plugins") or {}, "enabled"),
        "disabled": "lcm" in names(config.get("plugins") or {}, "disabled"),
        "sections": [key for key in ("plugins", "context") if key in config],
        "listed": "enabled" in (config.get("plugins") or {}),
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
        if not plugins["enabled"] and not before.get("listed", True):
            del plugins["enabled"]
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


def compacts(config: Any) -> bool:
    """Whether ``compression.enabled`` lets an engine compact, as hosts read it: what is no mapping does not count."""
    compression = config.get("compression")
    value = compression.get("enabled", True) if isinstance(compression, dict) else True
    return str(value).lower() in (
        "true",
        "1",
        "yes",
        "on",
    )  # on: a text to this reader, true to theirs


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


class Unfit(Exception):
    """The place is written in a way that is not edited line by line."""


class Page:
    """The lines of a config, and where its entries stand."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.config = YAML().load(text) or CommentedMap()
        if not isinstance(self.config, CommentedMap):
            raise Unfit
        nested = re.search(r"^( +)[^\s#-]", text, re.MULTILINE)
        self.step = len(nested[1]) if nested else 2
        self.dash = " " * reader(text).sequence_dash_offset

    def text(self) -> str:
        return "\n".join(self.lines)

    def list_of(self, section: str, key: str) -> Any:
        return (self.config.get(section) or {}).get(key)

    def add(self, section: str, key: str, name: str) -> None:
        """One more name in a list, which is made if it is not there."""
        names_there = self.list_of(section, key)
        if not names_there and not _is_flow(names_there):
            self.put(section, key, None, f"[{name}]", [f"{self.dash}- {name}"])
        elif _is_flow(names_there):
            line, first, last = self._brackets(names_there)
            inside = self.lines[line][first:last].rstrip()
            self._replace(line, first, last, f"{inside}, {name}" if inside else name)
        else:
            line, _ = names_there.lc.item(len(names_there) - 1)
            dash = self.lines[line][: len(self.lines[line]) - len(self.lines[line].lstrip())]
            self.lines.insert(line + 1, f"{dash}- {name}")

    def take(self, section: str, key: str, name: str) -> None:
        """One name less in a list, which stays, empty if need be."""
        names_there = self.list_of(section, key)
        at = names_there.index(name)
        line, column = names_there.lc.item(at)
        if not _is_flow(names_there):
            del self.lines[line]
            if len(names_there) == 1:
                self._fill(self.config[section].lc.key(key)[0], key, "[]")
            return
        _, first, last = self._brackets(names_there)
        if at + 1 < len(names_there):
            self._replace(line, column, names_there.lc.item(at + 1)[1], "")
        else:
            kept = self.lines[line][first:column].rstrip().removesuffix(",")
            self._replace(line, first, last, kept)

    def put(
        self, section: str, key: str, old: Any, value: str, below: list[str] | None = None
    ) -> None:
        """A value for a key; *below*: in place of it, lines under the key, where it is a new one."""
        found = self.config.get(section)
        if found is not None and key in found:
            line, column = found.lc.value(key)
            if old is None:
                self._fill(found.lc.key(key)[0], key, value)
            elif scalar := _SCALAR.match(self.lines[line], column):
                self._replace(line, column, scalar.end(), value)
            else:
                raise Unfit
            return
        if _is_flow(found):
            raise Unfit
        margin = " " * (found.lc.key(next(iter(found)))[1] if found else self.step)
        new = (
            [f"{margin}{key}:", *(f"{margin}{each}" for each in below)]
            if below
            else [f"{margin}{key}: {value}"]
        )
        if section in self.config:
            end = self._end_of(section) + 1
            self.lines[end:end] = new
        else:
            while self.lines and not self.lines[-1]:
                self.lines.pop()
            self.lines += [f"{section}:", *new, ""]

    def drop(self, section: str, key: str) -> None:
        """No such key; the comment behind it stays."""
        line, column = self.config[section].lc.key(key)
        comment = re.search(r"\s(#.*)$", self.lines[line])
        self.lines[line : line + 1] = [f"{' ' * column}{comment[1]}"] if comment else []

    def drop_section(self, section: str) -> None:
        """Nothing of a section but its comments."""
        first, last = self.config.lc.key(section)[0], self._end_of(section)
        kept = [each for each in self.lines[first : last + 1] if ONLY_COMMENTS.fullmatch(each)]
        self.lines[first : last + 1] = kept

    def _end_of(self, section: str) -> int:
        """The last line of a section, comments and empty ones behind it left out."""
        first = end = self.config.lc.key(section)[0]
        for number in range(first + 1, len(self.lines)):
            line = self.lines[number]
            if line[:1] not in ("", " ", "#", "-"):
                break
            if not ONLY_COMMENTS.fullmatch(line):
                end = number
        return int(end)

    def _fill(self, line: int, key: str, value: str) -> None:
        """A value for a key that has none on its line."""
        empty = re.match(rf"^(.*?\b{key}:)(\s*(?:#.*)?)$", self.lines[line])
        if empty is None:
            raise Unfit
        self.lines[line] = f"{empty[1]} {value}{empty[2]}"

    def _brackets(self, names_there: Any) -> tuple[int, int, int]:
        """Where a list in brackets stands: its line, and its inside from column to column."""
        line, column = names_there.lc.line, names_there.lc.col
        found = re.compile(r"""\[((?:[^\]\['"#]|'[^']*'|"[^"]*")*)\]""").match(
            self.lines[line], column
        )
        if found is None:
            raise Unfit
        return line, found.start(1), found.end(1)

    def _replace(self, line: int, first: int, last: int, new: str) -> None:
        self.lines[line] = self.lines[line][:first] + new + self.lines[line][last:]


#: A value that stands on one line, by itself or in braces.
_SCALAR = re.compile(
    r"""'(?:[^']|'')*'|"(?:\\.|[^"\\])*"|[^\s#,}'"][^#,}]*?(?=\s+#|\s*[,}]|\s*$)"""
)


def _is_flow(value: Any) -> bool:
    """Whether it stands in brackets or braces; what is empty can stand nowhere else."""
    style = getattr(value, "fa", None)
    return style is not None and bool(style.flow_style() or not value)


def edited_lines(text: str, old: Any, new: Any) -> str:
    """*text* with the entries of *new* in place of those of *old*, and all else as it is.

    Raises:
        Unfit: it is written in a way that is not edited line by line.
    """
    for key in ("disabled", "enabled"):
        text = _with_list(text, key, _value(old, "plugins", key), _value(new, "plugins", key))
    was, now = (_value(config, "context", "engine") for config in (old, new))
    if was != now and now:
        text = _with(text, "put", "context", "engine", was, now)
    elif was != now:
        text = _with(text, "drop", "context", "engine")
    for section in ("plugins", "context"):
        if section in old and section not in new:
            text = _with(text, "drop_section", section)
    if _plain(Page(text).config) != _plain(new):
        raise Unfit
    return text


def _value(config: Any, section: str, key: str) -> Any:
    return (config.get(section) or {}).get(key)


def _with_list(text: str, key: str, had: Any, has: Any) -> str:
    """With the name of the plugin in the list, or without it; without the list, if it is to be gone."""
    before, after = ("lcm" in (names_there or []) for names_there in (had, has))
    if before != after:
        text = _with(text, "take" if before else "add", "plugins", key, "lcm")
    return _with(text, "drop", "plugins", key) if had is not None and has is None else text


def _with(text: str, change: str, *what: Any) -> str:
    page = Page(text)
    getattr(page, change)(*what)
    return page.text()


def _plain(value: Any) -> Any:
    """The data alone; what is empty is nothing."""
    if isinstance(value, dict):
        return {
            key: plain for key, each in value.items() if (plain := _plain(each)) is not None
        } or None
    if isinstance(value, list):
        return [_plain(each) for each in value] or None
    return value


def unfit(error: Exception, text: str) -> str:
    """What is wrong with a config that cannot be read, in a sentence."""
    if isinstance(error, Misread | DuplicateKeyError):
        return f"{twice(text) if isinstance(error, DuplicateKeyError) else error}."
    marks = [getattr(error, name, None) for name in ("context_mark", "problem_mark")]
    lines = [mark.line + 1 for mark in marks if mark]
    where = f" in line {lines[-1]}" if lines else ""
    since = f" or before it: look from line {lines[0]} on" if lines[:1] < lines[1:] else ""
    return f"it is no YAML{where}{since}."


def twice(text: str) -> str:
    """The first key that stands more than once where it may stand once, and the lines."""
    nodes = [YAML().compose(text)]
    for node in nodes:
        lines: dict[str, list[str]] = {}
        for each in node.value if isinstance(node.value, list) else ():
            key, value = each if isinstance(each, tuple) else (None, each)
            nodes += [] if value in nodes else [value]
            if key is not None:
                lines.setdefault(str(key.value), []).append(str(key.start_mark.line + 1))
        for name, at in ((name, at) for name, at in lines.items() if len(at) > 1):
            return f"the key `{name}` stands more than once, in lines {' and '.join(at)}"
    return "a key stands more than once"


def main() -> None:
    """Edit the text of the job."""
    job = json.load(sys.stdin)
    yaml = reader(job["text"])
    try:
        config = fits(yaml.load(job["text"]))
        before = job.get("before") or {}
        said = remark(config)
        engine = (config.get("context") or {}).get("engine")
        old = copy.deepcopy(config)
        if job["action"] == "on":
            before = switch_on(config)
        else:
            switch_off(config, before)
    except (Misread, YAMLError) as error:
        return json.dump({"error": unfit(error, job["text"])}, sys.stdout)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a file, a person is told
        return json.dump({"error": f"{type(error).__name__}: {error}"}, sys.stdout)
    text = job["text"]
    if json.dumps(config, default=str) != json.dumps(old, default=str):
        try:
            text = edited_lines(text, old, config)
        except (Unfit, YAMLError, LookupError, TypeError, ValueError, AttributeError):
            text = written(yaml, config, text)
    if (config.get("context") or {}).get("engine") == engine:
        said = ""
    done = {"text": text, "before": before, "remark": said, "compacts": compacts(config)}
    return json.dump(done, sys.stdout)


main()
