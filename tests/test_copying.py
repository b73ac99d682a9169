"""A path or a command that is shown can be copied: no stop of a sentence stands directly behind it."""

from __future__ import annotations

import ast
import itertools
import re
from pathlib import Path

import pytest
from copyable import uncopied
from lcm.console.check import typed
from lcm.console.doctor import _wrapped

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [each for room in ("console", "demo", "storage") for each in (ROOT / room).glob("*.py")]
#: What a value is called that is a path, or a command.
PATHS = re.compile(
    r"(?:\b|_)(?:path|home|folder|file|parent|target|python|asks|config|plugin|backup|place|above|named|at|how)"
    r"(?:'\])?( / \w+)?$"
)


def stopped(source):
    """The f-strings in which a path is followed by a stop, with the line."""
    for node in ast.walk(ast.parse(source)):
        parts = node.values if isinstance(node, ast.JoinedStr) else []
        for n, (value, after) in enumerate(itertools.pairwise(parts)):
            before = parts[n - 1].value if n and isinstance(parts[n - 1], ast.Constant) else ""
            if isinstance(value, ast.FormattedValue) and isinstance(after, ast.Constant):
                named = PATHS.search(ast.unparse(value.value))
                ends = re.match(r"[.]\s" if after is not parts[-1] else r"[.](\s|$)", after.value)
                if named and ends and not before.endswith("`"):
                    yield node.lineno, ast.unparse(node)


@pytest.mark.parametrize("path", SOURCES, ids=lambda each: each.relative_to(ROOT).as_posix())
def test_no_stop_stands_behind_a_path(path):
    """Console, installer and store put a path into backquotes where a sentence ends with it."""
    found = [
        (line, text)
        for line, text in stopped(path.read_text())
        if not text.count("{how}") and not text.count("{named}")  # marked off already, or no path
    ]
    assert found == []


def test_what_is_looked_for_is_found():
    """The test can fail: with a stop behind a path, behind a command, and without marks."""
    assert list(stopped('f"There is none in {path}."'))
    assert list(stopped('f"Look at {path.parent / FOLDER}. Then"'))
    assert not list(stopped('f"There is none in `{path}`."'))
    check = {"said": "It is not in /a/b.", "remedy": "Type chmod u+w /a/b, then go on."}
    assert list(uncopied(check)) == ["/a/b.", "chmod u+w"]
    check = {"said": "It is not in `/a/b`.", "remedy": f"Type {typed('chmod', 'u+w', '/a b')}."}
    assert list(uncopied(check)) == []


def test_a_command_is_shown_on_one_line():
    """However narrow the terminal; what a shell would part is quoted."""
    command = typed("chmod", "u+w", "/a folder/of mine", "/another/that/is/long")
    assert command == "`chmod u+w '/a folder/of mine' /another/that/is/long`"
    lines = _wrapped("-> ", f"Give it write access: {command}; or do not.", 48)
    assert [line for line in lines if command in line]
    assert len(lines) > 1
