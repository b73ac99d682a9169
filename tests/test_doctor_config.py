"""What the doctor says of a config.yaml: all that is to be done at once, in lines that fit the file that is there."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml
from copyable import uncopied
from lcm.console.cli import main
from lcm.console.config_file import read_config
from lcm.console.hosting import check_host, inside, outside

ON = "context: {engine: lcm}\nplugins: {enabled: [lcm]}\n"


@pytest.fixture
def look(tmp_path):
    """What is said of a config, by the name of the check; of notes and of what is wrong."""

    def look(text):
        (tmp_path / "config.yaml").write_text(text)
        checks = list(check_host(outside(tmp_path)))
        assert [] == [bad for c in checks for bad in uncopied(asdict(c))]
        named = ("config", "engine", "enabled", "compression", "tools")
        return {c.name: c for c in checks if c.state != "ok" and c.name in named}

    return look


def put(text, lines):
    """*text* as a person has it who writes *lines* in place of what stands there for these keys."""
    head, *below = lines
    section = head.partition(":")[0]
    old = text.split("\n")
    start = next((n for n, line in enumerate(old) if line.startswith(f"{section}:")), None)
    if start is None:
        return "\n".join([*old[:-1], *lines, ""])
    end = start + 1
    while end < len(old) and old[end][:1] in (" ", "-", "#"):
        end += 1
    margin = len(below[0]) - len(below[0].lstrip()) if below else 0
    keys = [line.strip().partition(":")[0] for line in below if ":" in line]
    kept, gone = [], False
    for line in old[start + 1 : end] if below else ():
        if len(line) - len(line.lstrip()) == margin and not line.lstrip().startswith("-"):
            gone = line.strip().partition(":")[0] in keys
        kept += [] if gone else [line]
    return "\n".join([*old[:start], *lines, *kept, *old[end:]])


SHAPES = {
    "after `hermes plugins disable lcm`": (
        "plugins:\n  enabled: []\n  disabled:\n    - lcm\ncontext:\n  engine: lcm\n",
        ["plugins:", "  enabled: [lcm]", "  disabled: []"],
    ),
    "beside others, by four": (
        "context: {engine: lcm}\nplugins:\n    x: 1\n    enabled:\n        - 'a'\n        - b # b\n",
        ["plugins:", "    enabled:", "        - 'a'", "        - b", "        - lcm"],
    ),
    "dashes below the key": (
        "context: {engine: lcm}\nplugins:\n  enabled:\n  - a\n  disabled:\n  - lcm\n  - b\n",
        ["plugins:", "  enabled:", "  - a", "  - lcm", "  disabled:", "  - b"],
    ),
    "in brackets": (
        'context: {engine: lcm}\nplugins:\n  enabled: ["a", b]\n',
        ["plugins:", '  enabled: ["a", b, lcm]'],
    ),
    "in braces": (
        "context: {engine: lcm}\nplugins: {x: 1, enabled: []}\n",
        ["plugins: {x: 1, enabled: [lcm]}"],
    ),
    "no value": ("context: {engine: lcm}\nplugins:\n", ["plugins:", "  enabled: [lcm]"]),
    "no section": ("context: {engine: lcm}\n", ["plugins:", "  enabled: [lcm]"]),
    "a text": (
        "context: {engine: lcm}\nplugins:\n  enabled: lcm\n",
        ["plugins:", "  enabled: [lcm]"],
    ),
    "names in a text": (
        "context: {engine: lcm}\nplugins:\n  enabled: a, b\n  disabled: lcm\n",
        ["plugins:", "  enabled: [a, b, lcm]", "  disabled: []"],
    ),
    "a text for the section": (
        "context: {engine: lcm}\nplugins: lcm\n",
        ["plugins:", "  enabled: [lcm]"],
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_lines_fit_the_file_and_are_all(look, shape):
    """Written in place of what is there they are YAML, and nothing more is found; other entries stay."""
    text, lines = SHAPES[shape]
    found = look(text)
    assert list(found) == ["enabled"]
    assert list(found["enabled"].lines) == lines
    now = put(text, lines)
    assert look(now) == {}
    assert yaml.safe_load(now)["plugins"]["enabled"][-1] == "lcm"
    assert ("x: 1" in text) is ("x" in yaml.safe_load(now)["plugins"])


ENGINES = {
    "context: lcm\n": ["context:", "  engine: lcm"],
    "context:\n": ["context:", "  engine: lcm"],
    "context: {a: 1}\n": ["context: {a: 1, engine: lcm}"],
    "context:\n   a: 1\n   engine: other\n": ["context:", "   engine: lcm"],
}


@pytest.mark.parametrize("text", ENGINES)
def test_the_lines_that_select_the_engine(look, text):
    """Whatever stands there, a text in place of keys as well."""
    text, lines = f"plugins: {{enabled: [lcm]}}\n{text}", ENGINES[text]
    found = look(text)
    assert list(found) == ["engine"]
    assert list(found["engine"].lines) == lines
    assert look(put(text, lines)) == {}


def test_a_file_of_json_gets_what_is_json_no_more_and_still_yaml(look):
    """The whole of it stands in braces: one line in place of one entry."""
    text = '{"context": {"engine": "lcm"}, "plugins": {"enabled": ["a"]}}'
    (line,) = look(text)["enabled"].lines
    assert line == '"plugins": {"enabled": ["a", lcm]}'


@pytest.mark.parametrize(
    ("text", "check", "kind"),
    [
        ("context: {engine: lcm}\nplugins:\n  enabled: lcm\n", "enabled", "a text (`lcm`)"),
        ("context: {engine: lcm}\nplugins: lcm\n", "enabled", "a text (`lcm`)"),
        ("context: {engine: lcm}\nplugins: [lcm]\n", "enabled", "a list"),
        ("context: lcm\nplugins: {enabled: [lcm]}\n", "engine", "a text (`lcm`)"),
    ],
)
def test_what_is_of_another_kind_is_said_to_be(look, text, check, kind):
    """A text where Hermes wants a list is called a text; the installer, which leaves that alone, is not named."""
    told = look(text)[check]
    assert told.state == "wrong"
    assert f"is {kind}, and Hermes wants" in told.said
    assert "quickstart" not in told.remedy


def test_a_text_that_disables_nothing_is_a_note(look):
    """Hosts take `disabled: lcm` for no list at all, and load the plugin."""
    told = look("context: {engine: lcm}\nplugins:\n  enabled: [lcm]\n  disabled: lcm\n")["enabled"]
    assert told.state == "note"
    assert "plugins.disabled is a text (`lcm`), and Hermes wants a list" in told.said
    assert told.lines == ("plugins:", "  disabled: []")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f"{ON}model: {{}}\nplugins:\n  enabled: []\n",
            "`plugins` stands twice in `{}`, in lines 2 and 4",
        ),
        (f"{ON}a:\n  b: 1\n  b: 2\n", "`a.b` stands twice in `{}`, in lines 4 and 5"),
        ("context:\n  engine: lcm\n  engine: x\nplugins: {enabled: [lcm]}\n", "in lines 2 and 3"),
        (f"{ON}lcm: {{}}\nlcm: {{}}\nlcm: {{}}\n", "stands 3 times in `{}`, in lines 3, 4 and 5"),
        (f"{ON}compression: {{enabled: true}}\ncompression: {{enabled: off}}\n", "lines 3 and 4"),
    ],
)
def test_a_key_that_stands_twice_is_named_with_its_lines(look, tmp_path, text, said):
    """That, and not what a reader sees to be there."""
    found = look(text)
    assert list(found) == ["config"]
    assert said.format(tmp_path / "config.yaml") in found["config"].said


def test_what_may_stand_twice(look):
    """Keys of different sections, and what is merged or referred to more than once."""
    assert look(f"{ON}a: &a {{b: 1}}\nc: {{b: 1, <<: *a}}\nd: [*a, *a]\n") == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"a: 1\n{ON}b: [lcm\nc: 1\n", "line 5 or before it: the list that begins in line 4"),
        (
            f"a: 1\n{ON}b: {{c: d\ne: f\n",
            "line 5 or before it: what is in braces that begins in line 4",
        ),
        (f'a: "\n{ON}', "line 4 or before it: the quoted text that begins in line 1"),
        ("a: 1\nb:\n  - c\n d: 1\n", "line 4"),
        ("a: b: c\n", "is no YAML in line 1."),
    ],
)
def test_where_a_list_begins_that_does_not_end(look, text, said):
    """The line at which a reader fails may be far behind the one to put right."""
    assert said in look(text)["config"].said


def test_inside_hermes_the_file_is_looked_at_too(tmp_path):
    """A newer Hermes tells its defaults of a file that it cannot read: what stands in the file is said."""
    (tmp_path / "config.yaml").write_text(f"{ON}plugins: {{}}\n")
    told = {"home": str(tmp_path), "config": {}, "served_by": "lcm", "folder": "x"}
    wrong = [c for c in check_host(inside({"hermes": lambda: told})) if c.state == "wrong"]
    assert [c.name for c in wrong] == ["config"]
    assert "stands twice" in wrong[0].said
    (tmp_path / "config.yaml").write_text(f"{ON}a: [\n")
    wrong = [c for c in check_host(inside({"hermes": lambda: told})) if c.state == "wrong"]
    assert ["config"] == [c.name for c in wrong]


@pytest.mark.parametrize("value", ["false", "", "no", "'off'"])
def test_compaction_that_is_switched_off(look, value):
    """Empty counts as off, with both hosts; the line that switches it on."""
    text = f"{ON}compression:\n  enabled: {value}\n  a: 1\n"
    told = look(text)["compression"]
    assert told.lines == ("compression:", "  enabled: true")
    assert look(put(text, told.lines)) == {}
    assert look(f"{ON}compression: false\n") == {}  # hosts take what is no mapping for nothing


def test_tools_of_an_empty_list_come_by_a_line_that_fits(look):
    """`- context_engine` below `telegram: []` would be no YAML."""
    text = f"{ON}platform_toolsets:\n  cli: [terminal]\n  telegram: []\n"
    told = look(text)["tools"]
    assert told.lines == ("platform_toolsets:", "  telegram: [context_engine]")
    assert look(put(text, told.lines)) == {}


@pytest.mark.parametrize(
    ("text", "check", "section"),
    [
        ("context: {engine: lcm}\nplugins:\n  enabled: lcm\n  x: 1\n", "enabled", "plugins"),
        ("context: {engine: lcm}\nplugins:\n  enabled: lcm\n", "enabled", ""),
        ("context: {engine: lcm}\nplugins: lcm\n", "enabled", ""),
        (
            "context: {engine: lcm}\nplugins:\n  enabled: lcm\n  disabled: [b]\n",
            "enabled",
            "plugins",
        ),
        ("context: {engine: lcm}\nplugins:\n  enabled: []\n  disabled: [lcm]\n", "enabled", ""),
        ("plugins: {enabled: [lcm]}\ncontext:\n  a: 1\n", "engine", "context"),
        (f"{ON}compression:\n  enabled: false\n  threshold: 1\n", "compression", "compression"),
        (f"{ON}platform_toolsets:\n  cli: [a]\n  x: []\n", "tools", "platform_toolsets"),
    ],
)
def test_the_other_keys_of_a_section_are_not_to_go(look, text, check, section):
    """Where there are any it is said: the head of the section stands among the lines, and a block is soon replaced."""
    _, _, stay = look(text)[check].remedy.partition("for these keys")
    said = f"; leave the other keys under `{section}:` as they are:" if section else ":"
    assert stay == said


def test_the_lines_are_shown_from_the_margin_on(tmp_path, capsys):
    """As they stand in the file, so that they can be copied; as data they are a list."""
    (tmp_path / "config.yaml").write_text("context: {engine: lcm}\nplugins:\n  enabled: []\n")
    main(["doctor", "--home", str(tmp_path)])
    assert "\n\nplugins:\n  enabled: [lcm]\n\n" in capsys.readouterr().out
    main(["doctor", "--home", str(tmp_path), "--json"])
    checks = {c["name"]: c for c in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["enabled"]["lines"] == ["plugins:", "  enabled: [lcm]"]


def test_a_file_that_is_not_there_is_no_fault(tmp_path):
    """Nothing is in it, nothing is wrong with it."""
    seen = read_config(Path(tmp_path) / "config.yaml")
    assert (seen.values, seen.unread, seen.text) == ({}, "", "")
