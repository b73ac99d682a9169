"""Every fault of the catalogue is in docs/faults.md: as a test that names it, or with a reason.

tests/data/faults.txt has the catalogue's ids and severities by kind. A test
names the faults that it is for at the beginning of its docstring:
"ING-01: ..." or "ING-01, DED-12: ...".
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
PAGE = TESTS.parent / "docs" / "faults.md"

ID = r"[A-Z]+-\d\d"


@cache
def catalogue():
    """The ids and severities of each kind, in the catalogue's order."""
    kinds = {}
    for line in (TESTS / "data" / "faults.txt").read_text("utf-8").splitlines():
        if line.startswith("# "):
            faults = kinds[line[2:]] = {}
        else:
            faults.update([line.split()])
    return kinds


@cache
def provoked():
    """Every test function as ``file.py::name``, with the faults that its docstring begins with."""
    found = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                head = re.match(rf"{ID}(?:, {ID})*(?=: )", ast.get_docstring(node) or "")
                name = f"{path.relative_to(TESTS).as_posix()}::{node.name}"
                found[name] = set(re.findall(ID, head[0])) if head else set()
    return found


@cache
def listed():
    """The rows of docs/faults.md by kind: (id, what went wrong, what is here)."""
    sections = re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]
    return {
        section.partition("\n")[0]: re.findall(
            rf"^\| ({ID}) \| (.+?) \| (.+?) \|$", section, re.MULTILINE
        )
        for section in sections
    }


@pytest.mark.parametrize("kind", catalogue())
def test_every_fault_is_listed_once(kind):
    """The page has each fault of the kind once, in the catalogue's order, and no other."""
    ids = [fault for fault, _, _ in listed()[kind]]
    assert ids == list(catalogue()[kind])


@pytest.mark.parametrize("kind", catalogue())
def test_every_fault_is_a_test_or_has_a_reason(kind):
    """What the page names are tests for that fault; what it does not test it gives a reason for."""
    wrong = []
    for fault, _, here in listed()[kind]:
        names = re.findall(r"`([\w/]+\.py::\w+)`", here)
        wrong += [f"{fault}: {name}" for name in names if fault not in provoked().get(name, ())]
        if not names and len(here.split()) < 6:
            wrong.append(f"{fault}: no test and no reason")
    assert wrong == []


@pytest.mark.parametrize("kind", catalogue())
def test_what_is_critical_or_high_is_a_test(kind):
    """A reason is not enough for a fault that loses or doubles what was said."""
    named = set().union(*provoked().values())
    grave = {f for f, severity in catalogue()[kind].items() if severity in ("critical", "high")}
    assert grave <= named


def test_no_test_names_a_fault_that_is_not_in_the_catalogue():
    """A misspelt id is found here."""
    known = {fault for faults in catalogue().values() for fault in faults}
    assert set().union(*provoked().values()) <= known
