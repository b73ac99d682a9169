"""What the command line says where a newcomer had to guess: summaries, short names, homes that are not there."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from lcm.console.cli import main, slash
from lcm.console.search import view
from lcm.console.verb import find_session
from lcm.dag.ingest import Ledger
from lcm.dag.settings import Settings
from lcm.storage import open_store
from lcm.tools.desk import Desk
from lcm.tools.grep import grep
from moving import full_store
from rich.console import Console
from talks import compacted, deep, long


@pytest.fixture
def call(capsys):
    """Run the command line; gives (exit code, standard output, standard error)."""

    def call(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def database(tmp_path):
    """A store with all there is."""
    return full_store(tmp_path / "home" / "lcm" / "lcm.db")


def test_show_says_what_a_summary_says(database, call):
    """Topic, the text at its largest size and the hints come first, then the messages; --json has every size."""
    store = open_store(database, create=False)
    session = store.sessions()[0]
    node = next(each for each in store.nodes_on([session.line]) if each.topic and each.hints)
    (frame, *_) = store.nodes_on([session.line], kinds=["frame"])
    store.close()
    code, out, _ = call("show", node.uid, "--db", database, "--session", session.name)
    assert code == 0
    text = node.texts[max(node.texts)]
    places = [out.index(said) for said in (node.topic, text, node.hints[0], "\n[")]
    assert places == sorted(places)
    _, out, _ = call("show", node.uid, "--db", database, "--session", session.name, "--json")
    data = json.loads(out)
    assert {int(level): said for level, said in data["levels"].items()} == dict(node.texts)
    assert (data["topic"], tuple(data["hints"])) == (node.topic, node.hints)
    assert len(data["messages"]) == node.messages
    _, out, _ = call("show", frame.uid, "--db", database, "--session", session.name)
    assert f"a summary row that shows {frame.sources[0].node[:8]}" in out


def test_a_name_that_is_too_short_is_called_so(database, call):
    """Five characters are not looked for, so it is not said that nothing is called so."""
    code, _, err = call("show", "44b85", "--db", database)
    assert code == 2
    assert "6 characters of the uid at least" in err
    assert "Nothing here is called" not in err


@pytest.mark.parametrize(
    "words", [("import", "x.jsonl"), ("status",), ("doctor",), ("export",), ("backup",)]
)
def test_a_home_that_is_not_there_is_refused(tmp_path, call, words):
    """Before or behind the verb, whatever the verb: exit code 2, one line, and no folder is made."""
    home = tmp_path / "typo"
    for given in ((*words, "--home", home), ("--home", home, *words)):
        code, out, err = call(*given)
        assert (code, out) == (2, "")
        assert f"There is no folder {home}" in err
        assert not home.exists()


@pytest.mark.parametrize("content", [b"a text", b"", None])
def test_a_wrong_host_log_is_no_fault_of_the_store(tmp_path, database, call, content):
    """--host-db with a file of something else: that is said, and nothing of the store."""
    wrong = tmp_path / "wrong"
    if content is None:
        wrong.mkdir()
    else:
        wrong.write_bytes(content)
    code, out, err = call("verify", "--db", database, "--host-db", wrong)
    assert (code, out) == (1, "")
    assert "is a folder" in err or "is no Hermes database" in err


def test_a_turn_under_a_summary_names_its_own_messages(tmp_path, call):
    """The tokens that suffice are of all turns that the summary covers, and it says so; the turn's words are named."""
    database = tmp_path / "talk.db"
    compacted(database)
    turns = iter(range(1, 41))
    data = {"by": "", "turns": [0, 0]}
    while data["by"] != "node" or data["turns"][0] == data["turns"][1]:
        words = ("show", "--turn", next(turns), "--db", database)
        data = json.loads(call(*words, "--json")[1])
    store = open_store(database, create=False)
    session = find_session(store, "")
    own = [entry.uid for entry in store.turns(session.line, data["turn"], data["turn"])]
    store.close()
    first, last = data["turns"]
    out = call(*words)[1]
    assert data["messages"] == own
    assert f"tokens for turns {first}-{last} as a whole" in out
    assert own[0][:8] in out


def test_a_person_sees_a_few_lines_of_each_result(tmp_path, call):
    """What was found is in them, whatever the mode; --json is what the agent's tool answers."""
    path = tmp_path / "lcm.db"
    store = open_store(path)
    text = f"{'before ' * 300}the plate reads QUIET-HERON{' behind' * 300}"
    Ledger(store, store.open_session("s")).ingest([{"role": "user", "content": text}])
    store.close()
    for words in (
        ["quiet-heron"],
        ["QUIET-H[A-Z]+", "--mode", "regex"],
        ["iet-her", "--mode", "exact"],
    ):
        _, out, _ = call("search", *words, "--db", path)
        assert "QUIET-HERON" in out
        assert len(out) < 700
        (found,) = json.loads(call("search", *words, "--db", path, "--json")[1])["results"]
        assert len(found["snippet"]) > 1000


def test_summaries_are_counted_alike(database, tmp_path, call):
    """An export, the import of it and verify speak of the same number: summary rows and states are none."""
    count = json.loads(call("verify", "--db", database, "--json")[1])["checked"]["nodes"]
    assert count > 1
    file, other = tmp_path / "all.jsonl", tmp_path / "other" / "lcm.db"
    _, out, _ = call("export", "--out", file, "--db", database)
    assert f"{count} summaries" in out
    _, out, _ = call("import", file, "--db", other, "--dry-run")
    assert f" and {count} summaries;" in out
    _, out, _ = call("import", file, "--db", other)
    assert f"{count} summaries" in out
    _, out, _ = call("import", file, "--db", other, "--dry-run")
    assert "would bring 0 messages; 133 are here" in out
    assert json.loads(call("verify", "--db", other, "--json")[1])["checked"]["nodes"] == count


def leaves_of(nodes):
    """The messages under these nodes of the data, by name."""
    for node in nodes:
        yield from (leaf["uid"] for leaf in node.get("leaves", ()))
        yield from leaves_of(node.get("sources", ()))


def test_a_tree_with_messages_goes_down_to_them(tmp_path, call):
    """Whatever their depth: every message is there, and nothing is said to be further down."""
    path = tmp_path / "lcm.db"
    deep(path, levels=5)
    words = ("tree", "--messages", "--db", path)
    names = [f"{number:032x}" for number in range(32)]
    assert list(leaves_of(json.loads(call(*words, "--json")[1])["nodes"])) == names
    code, out, _ = call(*words)
    assert code == 0 and "below: --depth" not in out
    assert out.count(f"{names[0][:8]} ") == 32  # as they are written before each message


def test_a_tree_of_the_newest_shows_all_that_is_under_them(tmp_path, call):
    """Older summaries at the top are only counted, and what is under the others is that of --all."""
    path = tmp_path / "lcm.db"
    long(path, messages=1200, each=2)
    head, said, newest = call("tree", "--messages", "--db", path)[1].partition(
        "18 older summaries, and what is under them: --all\n"
    )
    assert said and head.count("\n") == 1
    assert call("tree", "--messages", "--all", "--db", path)[1].endswith(newest)
    assert newest.count("e000000") > 50


@pytest.mark.parametrize(
    ("depth", "cut", "said"),
    [
        (3, ("hidden", 2), "2 more below: --depth 4"),
        (4, ("hidden_messages", 2), "2 messages below: --depth 5"),
    ],
)
def test_a_tree_says_what_it_leaves_out(tmp_path, call, depth, cut, said):
    """Summaries below --depth, and with --messages those of a leaf on the last level: in each branch, as data too."""
    path = tmp_path / "lcm.db"
    deep(path, levels=4)
    words = ("tree", "--messages", "--depth", depth, "--db", path)
    assert call(*words)[1].count(said) == 2 ** (depth - 1)
    nodes = json.loads(call(*words, "--json")[1])["nodes"]
    for _ in range(depth - 1):
        nodes = [source for node in nodes for source in node["sources"]]
    assert {node[cut[0]] for node in nodes} == {cut[1]}
    assert list(leaves_of(nodes)) == []


@pytest.fixture(scope="module")
def talk(tmp_path_factory):
    """Six turns about a lamp, each with a call of one of two tools, a day apart from 1 May 2026."""
    path = tmp_path_factory.mktemp("talk") / "lcm.db"
    store = open_store(path)
    ledger = Ledger(store, store.open_session("talk"))
    for n in range(1, 7):
        tool, noon = ("terminal", "read_file")[n % 2], 1_777_636_800 + (n - 1) * 86_400
        function = {"name": tool, "arguments": json.dumps({"of": f"lamp {n}"})}
        call = {"id": f"c{n}", "type": "function", "function": function}
        rows = [
            {"role": "user", "content": f"Is lamp {n} lit?"},
            {"role": "assistant", "content": "I look at the lamp.", "tool_calls": [call]},
            {
                "role": "tool",
                "tool_call_id": f"c{n}",
                "tool_name": tool,
                "content": f"lamp {n}: on",
            },
            {"role": "assistant", "content": f"Lamp {n} is lit."},
        ]
        ledger.ingest([{**row, "timestamp": noon} for row in rows])
    store.close()
    return path


@pytest.mark.parametrize(
    ("words", "asked", "turns", "roles"),
    [
        ((), {}, "123456", "atu"),
        (("--role", "tool"), {"role": "tool"}, "123456", "t"),
        (("--tool", "terminal"), {"tool": "terminal"}, "246", "at"),
        (("--since", "5 May 2026"), {"since": "5 May 2026"}, "56", "atu"),
        (("--until", "2026-05-02"), {"until": "2026-05-02"}, "12", "atu"),
        (("--turns", "2-3"), {"start_turn": 2, "end_turn": 3}, "23", "atu"),
        (("--turns", "5-"), {"start_turn": 5}, "56", "atu"),
        (("--turns", "4"), {"start_turn": 4, "end_turn": 4}, "4", "atu"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_search_has_the_filters_of_the_tool(talk, call, words, asked, turns, roles):
    """What it gives is what lcm_grep gives, and only what the filter lets through; a person sees the same."""
    words = ("search", "lamp", "--mode", "exact", "--limit", "50", "--db", talk, *words)
    code, out, _ = call(*words, "--json")
    found = json.loads(out)
    store = open_store(talk, create=False)
    desk = Desk(store, store.session("talk"), Settings())
    assert found["results"] == grep(desk, "lamp", "exact", limit=50, **asked)["results"]
    store.close()
    assert code == 0
    assert "".join(sorted({str(each["turn"]) for each in found["results"]})) == turns
    assert "".join(sorted({each["role"][0] for each in found["results"]})) == roles
    assert f"{len(found['results'])} found" in call(*words)[1]


@pytest.mark.parametrize(
    ("turns", "said"),
    [
        ({"turn": 1, "turns": [1, 10]}, "1a2b3c4d summary, turns 1-10, "),
        ({"turn": 2, "turns": [2, 2]}, "1a2b3c4d summary, turn 2, "),
        ({"turn": 3, "role": "user"}, "1a2b3c4d user, turn 3, "),
        ({"turn": None, "role": "user"}, "1a2b3c4d user, 2026"),
    ],
)
def test_a_result_says_its_turns(turns, said):
    """A summary all that it stands for, a message its one, if it has one."""
    result = {"uid": "1a2b3c4d5e6f", "role": None, "time": "2026-12-01T10:00:00Z"}
    result |= {"snippet": "A lamp.", "covered_by": None, **turns}
    screen = Console(file=StringIO(), width=100)
    data = {"results": [result], "total": 1, "mode": "auto", "cursor": None, "note": ""}
    screen.print(view(data, {}))
    assert said in screen.file.getvalue()


@pytest.mark.parametrize("turns", ["0", "x", "3-2", "1234567890", "2-3-4"])
def test_turns_that_are_none_are_a_wrong_call(talk, call, turns):
    """Exit code 2, and how it is written."""
    code, _, err = call("search", "lamp", "--turns", turns, "--db", talk)
    assert code == 2
    assert "12-30" in err


def test_a_tree_says_where_what_is_in_the_context_hides(database, call):
    """What the summary row shows may stand below the levels that are drawn."""
    _, out, _ = call("tree", "--depth", "1", "--json", "--db", database)
    whole = json.loads(call("tree", "--depth", "99", "--json", "--db", database)[1])
    cut = json.loads(out)

    def shown(node):
        return (node["shown_at"] is not None) + sum(map(shown, node.get("sources", ())))

    for drawn, node in zip(cut["nodes"], whole["nodes"], strict=True):
        below = shown(node) - (node["shown_at"] is not None)
        assert drawn.get("hidden_shown", 0) == below


def test_a_wrong_call_is_told_by_the_verb(call, capsys):
    """Its own usage, not that of everything."""
    code, _, err = call("status", "what")
    assert code == 2
    assert err.startswith("usage: lcm status ") and "unrecognized arguments: what" in err


def test_a_name_in_brackets_needs_no_quotes(database, call):
    """A shell hands over two words for what a summary calls [lcm 1a2b3c4d]."""
    store = open_store(database, create=False)
    uid = store.nodes_on([store.sessions()[0].line])[0].uid
    store.close()
    assert call("show", "[lcm", f"{uid[:8]}]", "--db", database) == call(
        "show", uid, "--db", database
    )


def test_a_host_log_that_is_not_there_is_called_so(database, call, tmp_path):
    """Nothing is wrong with our own database, so the advice is not about it."""
    code, _, err = call("verify", "--host-db", tmp_path / "state.db", "--db", database)
    assert code == 1
    assert f"There is no file `{tmp_path / 'state.db'}`. --host-db takes" in " ".join(err.split())


def test_show_shows_all_that_is_asked_for(database, call):
    """One after the other, as data a list; one that is not there fails the call, and nothing is left aside."""
    store = open_store(database, create=False)
    nodes = store.nodes_on([store.sessions()[0].line])
    first, second = nodes[0].uid[:12], nodes[1].uid[:12]
    store.close()
    both = call("show", first, second, "--db", database)
    alone = [call("show", each, "--db", database)[1] for each in (first, second)]
    assert both == (0, "\n".join(alone), "")
    found = json.loads(call("show", first, second, "--db", database, "--json")[1])["found"]
    assert [each["uid"][:12] for each in found] == [first, second]
    brackets = ("[lcm", f"{first}]", "[lcm", f"{second}]")
    assert call("show", *brackets, "--db", database) == both
    code, out, err = call("show", first, "xyzzzz", "--db", database)
    assert (code, out) == (1, "")
    assert "Nothing here is called 'xyzzzz'" in err


def test_a_turn_that_is_not_there_is_told_how_many_there_are(talk, call):
    """So does the status, in words and as data."""
    code, _, err = call("show", "--turn", "999", "--db", talk)
    assert code == 1
    assert "There is no turn 999: the conversation has 6 turns." in err
    assert "24 in 6 turns" in call("status", "--db", talk)[1]
    assert json.loads(call("status", "--db", talk, "--json")[1])["turns"] == 6


@pytest.mark.parametrize(
    "words",
    [("status",), ("why",), ("search", "x"), ("show", "123456"), ("tree",), ("view", "--out", "x.html"),
     ("sessions",), ("verify",), ("backup",), ("export",), ("forget", "--session", "x")],
    ids=" ".join,
)  # fmt: skip
def test_a_place_that_is_mistaken_is_no_fresh_one(tmp_path, call, words):
    """Of a file that was named and of a home that is none: exit code 1, and what is the matter with it."""
    file, folder = tmp_path / "typo.db", tmp_path / "no-home"
    folder.mkdir()
    for place, said in (
        (("--db", file), f"There is no such file: `{file}`."),
        (("--home", folder), f"{folder} does not look like a Hermes home"),
    ):
        code, out, err = call(*words, *place)
        told = " ".join(f"{out} {err}".split())
        assert code == 1
        assert said.replace(" ", "") in told.replace(" ", "")
        assert "begins with the first turn" not in told
    (folder / "state.db").touch()
    code, out, err = call(*words, "--home", folder)
    assert code == (0 if words == ("status",) else 1)
    assert "begins with the first turn" in " ".join(f"{out} {err}".split())


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("statsu",), "status"),
        (("tree", "--detph", "2"), "--depth"),
        (("search", "x", "--mode", "exat"), "exact"),
        (("export", "--fromat", "markdown"), "--format"),
        (("xyzzy",), None),
        (("status", "what"), None),
    ],
)
def test_a_mistyped_word_is_told_the_nearest_one(call, words, near):
    """A verb, an option, a value; where nothing is near, nothing is guessed."""
    code, _, err = call(*words)
    assert code == 2
    assert err.endswith(f". Did you mean {near}?\n") if near else "Did you mean" not in err


def test_in_a_chat_too(database):
    """The list of what there is stands under it."""
    assert "Did you mean status?" in slash("statsu", db_path=str(database))


@pytest.mark.parametrize("verb", ["export", "view"])
def test_a_file_to_write_may_stand_behind_the_verb(database, tmp_path, call, verb):
    """As with backup and import; twice is a wrong call."""
    behind, out = tmp_path / "behind", tmp_path / "out"
    assert call(verb, behind, "--db", database)[0] == 0
    assert call(verb, "--out", out, "--db", database)[0] == 0
    assert behind.stat().st_size == out.stat().st_size > 0
    assert call(verb, tmp_path / "a", "--out", tmp_path / "b", "--db", database)[0] == 2


def test_summaries_that_go_are_counted_as_verify_counts_them(tmp_path, call):
    """The row that shows them is none of them, and is named beside them."""
    path = tmp_path / "lcm.db"
    compacted(path, "talk")
    checked = json.loads(call("verify", "--db", path, "--json")[1])["checked"]
    assert checked["nodes"] and checked["frames"]
    out = " ".join(call("forget", "--session", "talk", "--db", path)[1].split())
    rest = checked["frames"] + checked["states"]
    assert f"{checked['nodes']} summaries, and {rest} summary row" in out


def test_an_export_to_read_has_nothing_of_a_provider_in_it(tmp_path, call):
    """That an answer ended as it should is left out, that it broke off is not; a block stands apart from the words."""
    path = tmp_path / "lcm.db"
    store = open_store(path)
    rows = [
        {"role": "user", "content": "Is it lit?"},
        {"role": "assistant", "content": "It is.", "finish_reason": "stop"},
        {"role": "user", "content": "And now?"},
        {"role": "assistant", "content": "It", "finish_reason": "length"},
    ]
    Ledger(store, store.open_session("s")).ingest(rows)
    store.close()
    _, out, _ = call("export", "--format", "markdown", "--db", path)
    assert out.count("finish_reason") == 1
    assert '> It\n\n```json\n{\n "finish_reason": "length"' in out


def test_an_import_says_that_its_home_is_none(database, tmp_path, call):
    """Before the first start of a Hermes that may be meant; of a file that is named nothing is said."""
    file, folder, home = tmp_path / "all.jsonl", tmp_path / "no-home", tmp_path / "fresh"
    call("export", file, "--db", database)
    folder.mkdir()
    home.mkdir()
    (home / "config.yaml").touch()
    for words in (("--dry-run",), ()):
        code, _, err = call("import", file, "--home", folder, *words)
        assert code == 0
        assert f"{folder} does not look like a Hermes home" in err
    assert (folder / "lcm" / "lcm.db").exists()
    for place in (("--home", home), ("--db", tmp_path / "new.db")):
        assert "does not look like" not in call("import", file, *place)[2]
