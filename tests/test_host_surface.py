"""What a host reads off the engine and shows to people and models, whatever the settings are."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from lcm import LCMEngine
from lcm.dag.settings import Settings
from lcm.tools.toolset import schemas

ROOT = Path(__file__).resolve().parent.parent
#: Rooms whose texts reach a model, without the documentation of the settings.
SPEAKING = [
    path
    for room in ("dag", "tools", "host")
    for path in sorted((ROOT / room).glob("*.py"))
    if path.name != "settings.py"
]


def strings_of(path):
    """Every string of a module that is no docstring."""
    tree = ast.parse(path.read_text("utf-8"))
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
    ]


def test_no_text_names_a_tool_that_is_not_offered():
    """HOST-06: what we say to a model names only tools that it has; the optional one is in no sentence."""
    offered = {schema["name"] for schema in schemas(retrieval=False)}
    optional = {schema["name"] for schema in schemas(retrieval=True)} - offered
    named = set()
    for path in SPEAKING:
        for text in strings_of(path):
            named |= set(
                re.findall(r"\blcm_(?:grep|expand|describe|status|recall|search)\w*", text)
            )
            if " " in text:
                assert not any(name in text for name in optional), (path, text)
    assert named
    assert named <= offered | optional


@pytest.mark.parametrize("verbosity", ["all", "normal", "minimal", "off"])
def test_a_quiet_engine_still_tells_the_host_what_it_does(verbosity, tmp_path):
    """HOST-09: ui_verbosity hides no state: the host is told of begin and end, and counts and flags are true."""
    engine = LCMEngine(8000, settings=Settings(ui_verbosity=verbosity), db_path=tmp_path / "x.db")
    assert engine.emit_automatic_compaction_status is True
    assert type(engine).emit_automatic_compaction_status is True
    engine.on_session_start("s")
    rows = [
        {"role": role, "content": f"{role} {n} " + "words " * 60}
        for n in range(30)
        for role in ("user", "assistant")
    ]
    assert len(engine.compress(rows, current_tokens=7000)) < len(rows)
    assert engine._last_compression_made_progress
    assert engine.compression_count == 1
    assert engine.get_status()["compression_count"] == 1
    engine.close()


def test_a_skill_is_offered_to_hosts_that_take_one():
    """Its file is there, and names itself as it is registered."""
    from lcm.host.plugin import Console, register

    class Context:
        """A host that takes skills and engines, and nothing else."""

        def __init__(self):
            self.skills = {}

        def register_context_engine(self, engine):
            engine.close()

        def register_skill(self, name, path, description=""):
            self.skills[name] = (path, description)

    context = Context()
    register(context, Console(print, print, str))
    ((name, (path, description)),) = context.skills.items()
    head = path.read_text("utf-8").split("---")[1]
    assert f"name: {name}" in head
    assert f"description: {description}" in head
    assert {schema["name"] for schema in schemas(retrieval=False)} - {"lcm_status"} <= set(
        re.findall(r"lcm_\w+", path.read_text("utf-8"))
    )
