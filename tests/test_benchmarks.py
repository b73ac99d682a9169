"""The benchmarks run, and what they measure was done; what the figures are is no matter here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest
from lcm.benchmarks.ahead import run as wait
from lcm.benchmarks.drift import matched, window_diff
from lcm.benchmarks.material import part
from lcm.benchmarks.recall.ours import Answered, Engine
from lcm.benchmarks.recall.questions import HALVES, Asked, Question, questions
from lcm.benchmarks.recall.run import scored

ROOT = Path(__file__).resolve().parent.parent


def run(*arguments):
    """The benchmarks as a user starts them."""
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(name="told", scope="module")
def _told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("benchmarks")
    file = folder / "figures.json"
    small = ("--sizes", "120", "--stored", "240", "--runs", "1")
    done = run("all", *small, "--json", str(file), "--folder", str(folder))
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(file.read_text(encoding="utf-8")), folder


@pytest.mark.slow
def test_every_group_gives_figures(told):
    """``all`` measures what each group measures, and nothing it measures is nothing."""
    _, data, _ = told
    groups = "ingest turn compress steady memory verify search size start"
    assert set(groups.split()) == {each["group"] for each in data["figures"]}
    timed = [each for each in data["figures"] if each["unit"] != "MB"]
    assert all(each["ours"] > 0 for each in timed)


@pytest.mark.slow
def test_figures_stand_beside_a_floor(told):
    """Without the bare script's figure from the same run, a figure says nothing about us.

    It has no tools and no list to compact, and imports nothing.
    """
    _, data, _ = told
    alone = [each["name"] for each in data["figures"] if each["floor"] is None]
    without = ("first in a process", "a tool call without", "a compaction of")
    assert all(any(part in name for part in without) for name in alone)
    assert len(alone) < len(data["figures"])


@pytest.mark.slow
def test_table_says_what_was_measured_where(told):
    """A reader sees machine, versions, method and every figure."""
    text, data, _ = told
    for name in ("processor", "Python", "SQLite", "method", "commit"):
        assert f"{name}: {data['machine'][name]}" in text
    assert all(f"| {each['name']} |" in text for each in data["figures"])


@pytest.mark.slow
def test_databases_are_removed(told):
    """A run leaves nothing behind but the file it was asked for."""
    _, _, folder = told
    assert ["figures.json"] == [path.name for path in folder.iterdir()]


def test_a_size_that_cuts_a_block_is_refused():
    """Half a tool call would measure something else."""
    done = run("ingest", "--sizes", "10")
    assert 2 == done.returncode
    assert "multiples of four" in done.stderr


# real transcripts


@pytest.fixture(name="transcripts")
def _transcripts(tmp_path):
    """A folder as real conversations are laid out, with one of five rows."""
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"n": 12}'}}
    rows = [
        {"role": "system", "content": "Be good."},
        {"role": "user", "content": "read line 12"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "line 12"}]},
        {"role": "assistant", "content": "It says 12."},
        {"role": "user", "content": "Thanks!"},
    ]
    (tmp_path / "tau").mkdir()
    file = tmp_path / "tau" / "one.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return tmp_path


def test_transcripts_are_repeated_with_changed_text(transcripts):
    """Nothing is said twice; a call and its result stay a pair; who speaks stays who speaks."""
    rows = part(transcripts, "m", 0, 200)
    assert len(rows) == len(set(map(json.dumps, rows)))
    assert rows[5:] == part(transcripts, "m", 5, 195)
    assert ["user", "assistant", "tool", "assistant", "user"] * 40 == [row["role"] for row in rows]
    ids = [row["tool_calls"][0]["id"] for row in rows if row.get("tool_calls")]
    assert ids == [row["tool_call_id"] for row in rows if row["role"] == "tool"]
    assert 40 == len(set(ids))
    assert "read line 23 m000005" == rows[5]["content"]
    assert "read" == rows[6]["tool_calls"][0]["function"]["name"]


@pytest.mark.slow
def test_transcripts_are_measured(transcripts, tmp_path):
    """The table says what was measured; a folder without any is refused in words."""
    small = ("--sizes", "40", "--stored", "80", "--runs", "1", "--transcripts", str(transcripts))
    for group in ("ingest", "turn", "compress", "memory", "start"):
        done = run(group, *small)
        assert done.returncode == 0, done.stderr
        assert "conversation: claude_code, pi, tau, beam, locomo, repeated" in done.stdout
    done = run("ingest", "--transcripts", str(tmp_path / "tau"))
    assert 2 == done.returncode
    assert "There are no transcripts of claude_code" in done.stderr


# changes of subject


@pytest.fixture(name="sessions", scope="module")
def _sessions(tmp_path_factory):
    """Two conversations of four sessions each, as the real ones are laid out."""
    folder = tmp_path_factory.mktemp("sessions")
    for kind in ("conv", "meta"):
        (folder / kind / "own").mkdir(parents=True)
    subjects = (
        "tide harbour lantern",
        "flour starter oven",
        "relay signal cable",
        "brass plate museum",
    )
    rows = [
        {"role": role, "content": subject}
        for subject in subjects
        for _ in range(5)
        for role in ("user", "assistant")
    ]
    for name in ("a", "b"):
        lines = "\n".join(map(json.dumps, rows))
        (folder / "conv" / "own" / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        meta = {"sessions": [{"first": first} for first in range(0, 40, 10)]}
        (folder / "meta" / "own" / f"{name}.json").write_text(json.dumps(meta), encoding="utf-8")
    return folder


def test_changes_of_subject_are_judged(sessions):
    """What the words find stands beside cuts at fixed lengths, and leaves beside leaves."""
    done = run("drift", "--data", str(sessions))
    assert done.returncode == 0, done.stderr
    assert "| own | 3 | words alone | 3 | 1.00 | 1.00 | 1.00 | 1.00 | 0.00 |" in done.stdout
    assert "| own | 3 | fixed lengths | 3 |" in done.stdout
    assert "| own | 1500 | 1 | 0.00 | 1 | 0.00 |" in done.stdout
    assert "ms of processor time" in done.stdout
    assert 2 == run("drift", "--data", str(sessions / "nowhere")).returncode


def test_hits_and_misses_are_counted_as_they_are():
    """A real change counts once, an exact one first; windows differ where their counts do."""
    assert 2 == matched({3, 5, 6}, {5, 3, 9}, 0)
    assert 2 == matched({3, 4, 5}, {4, 9}, 1) + matched({9}, {9}, 0)
    assert 0.0 == window_diff({4, 8}, {4, 8}, 12)
    assert 0.0 < window_diff({5, 8}, {4, 8}, 12) < window_diff(set(), {4, 8}, 12) <= 1.0


def test_work_ahead_saves_the_wait(tmp_path):
    """Nobody is asked in a pass, and a turn waits for us alone; without it, for the summariser."""
    ahead = wait(tmp_path / "ahead.db", "ahead", seconds=0.15, window=16_000, passes=3)
    off = wait(tmp_path / "off.db", "off", seconds=0.15, window=16_000, passes=3)
    assert 0 == ahead.in_passes < ahead.calls
    assert off.calls == off.in_passes > 0
    assert median(ahead.waits) < 0.15 < min(off.waits)


@pytest.fixture(name="asked")
def _asked(tmp_path):
    """Two conversations with a question each, and one that nothing answers."""
    for name in ("conv/talk", "meta/talk", "qa"):
        (tmp_path / name).mkdir(parents=True)
    lines = []
    for number, port in enumerate((5433, 5434)):
        rows = [
            {"role": "user", "content": "Which port does the staging database use?"},
            {"role": "assistant", "content": f"It listens on {port}, behind the tunnel."},
            {"role": "user", "content": "And now something about gardens."},
        ]
        told = "".join(f"{json.dumps(row)}\n" for row in rows)
        (tmp_path / "conv" / "talk" / f"{number}.jsonl").write_text(told, encoding="utf-8")
        known = json.dumps(
            {"times": ["1:56 pm on 8 May, 2023", "2023-05-09 (Tuesday)", "2023-05-10"]}
        )
        (tmp_path / "meta" / "talk" / f"{number}.json").write_text(known, encoding="utf-8")
        line = {
            "conversation": str(number),
            "question": "Where does it listen, behind which tunnel?",
        }
        lines += [
            line | {"evidence_message_indexes": [1], "before": 2},
            line | {"evidence_message_indexes": [], "before": None},
        ]
    told = "".join(f"{json.dumps(line)}\n" for line in lines)
    (tmp_path / "qa" / "talk.jsonl").write_text(told, encoding="utf-8")
    return tmp_path


def test_recall_is_measured_beside_plain_search(asked):
    """Each way of searching has its line for each half, and what answers so plain a question is found."""
    done = run("recall", "--data", str(asked), "--folder", str(asked))
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("| talk |")]
    assert len(lines) == 11
    ours = [line for line in lines if "| lcm |" in line or "| lcm, dated |" in line]
    assert len(ours) == 6
    assert all("| 1.000 | 1.000 |" in line for line in ours)


def test_a_conversation_is_asked_alone_and_among_others(asked):
    """What is found alone is found among the messages of others, and those are stored beside it."""
    line = {"conversation": "0", "question": "Where does it listen, behind which tunnel?"}
    line |= {"evidence_message_indexes": [1], "before": None}
    (asked / "qa" / "late.jsonl").write_text(
        json.dumps(line | {"conversation_dataset": "talk"}), encoding="utf-8"
    )
    done = run("among", "--data", str(asked), "--sets", "late", "--others", "4000")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("messages of others") == 1
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("| talk |"))
    assert line.startswith("| talk | 1 | 1.000 | 1.000 |")


def test_every_second_conversation_is_held_out(asked):
    """A half never holds a conversation of the other, and a question without evidence is none."""
    halves = [questions(asked, "talk", [half]) for half in HALVES]
    assert [[talk.name for talk in half] for half in halves] == [["talk/0"], ["talk/1"]]
    assert [len(talk.questions) for half in halves for talk in half] == [1, 1]


def test_times_are_those_that_the_data_say(asked):
    """In either of their forms; a conversation of which one message has none has none at all."""
    (first, _) = questions(asked, "talk")
    assert [1683554160.0, 1683590400.0, 1683676800.0] == first.times
    (asked / "meta" / "talk" / "0.json").write_text(
        '{"times": ["2023-05-10", null]}', encoding="utf-8"
    )
    assert [] == questions(asked, "talk")[0].times


def test_a_summary_leads_to_the_turns_that_the_answer_says():
    """And to nothing where summaries do not count; it keeps its place either way."""
    results = [
        {"uid": "n", "kind": "node", "turns": [2, 3]},
        {"uid": "b", "kind": "message", "turns": None},
    ]
    answered = Answered(json.dumps({"results": results}), {"b": 1}, [1, 1, 2, 2, 3, 4])
    assert [set(), {1}] == answered.leads()
    assert [{2, 3, 4}, {1}] == answered.leads(summaries=True)


def test_what_was_compacted_is_found_like_what_was_not(asked, tmp_path):
    """A window that holds a part of the conversation: the rest is under summaries, and found all the same."""
    question = questions(asked, "talk")[0].questions[0]
    filler = [
        {"role": role, "content": f"About flower {at}. " + f"petal{at} " * 150}
        for at in range(40)
        for role in ("user", "assistant")
    ]
    rows = [*questions(asked, "talk")[0].rows, *filler]
    late = Question(question.text, question.evidence, None, HALVES[0])
    engine = Engine(Asked("talk", rows, [late]), tmp_path / "lcm.db", {}, 8_000)
    told = engine.ask(late)
    assert 1 in told.leads()[0] | told.leads()[1]
    under = [each["covered_by"] for each in told.results if each["uid"] == f"{1:032x}"]
    assert all(under)
    assert len(under) == 1
    engine.close()


def test_recall_is_scored_by_what_is_found_where():
    """any@10 and the share look at ten results, all@20 at twenty, the rank at all of them."""
    question = Question("?", frozenset({3, 30}), None, HALVES[0])
    deep = [{at} for at in range(20, 40)]
    score = scored("lcm", question, deep[:10], deep, 100)
    assert (score.any10, score.share, score.all20, score.mrr) == (0, 0, 0, 1 / 11)
    score = scored("lcm", question, [{3}, *deep[:9]], [{3}, *deep], 100)
    assert (score.any10, score.share, score.all20, score.mrr) == (1, 0.5, 1, 1)


def test_a_year_is_lived_through(tmp_path):
    """Days with a compaction each, every message stored, and what they cost in a table and in a file."""
    told = tmp_path / "year.json"
    small = ("--days", "2", "--turns", "8", "--window", "4000", "--json", str(told))
    done = run("year", *small, "--folder", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "| 1 to 2 | 64 |" in done.stdout
    days = json.loads(told.read_text(encoding="utf-8"))
    assert [day["messages"] for day in days] == [32, 64]
    assert all(day["turn"] > 0 and day["opening"] > 0 and day["megabytes"] > 0 for day in days)
    assert any(day["compaction"] for day in days)
