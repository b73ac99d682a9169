"""A broken search index costs no message: rows are saved, the log is searched, and the index is made again."""

from __future__ import annotations

import json
import logging
import sqlite3

import pytest
from damagekit import ask, doctor, talk
from lcm.console.cli import main

BREAKS = (
    "DROP TABLE message_index_data",
    "DROP TABLE message_index_config",
    "DELETE FROM message_index_config",
    "DELETE FROM message_index_data",
    "DROP TABLE message_index_idx",
    "DROP TABLE message_index_docsize",
    "UPDATE message_index_data SET block = zeroblob(length(block))",
    "UPDATE message_index_data SET block = randomblob(length(block)) WHERE id > 10",
    "DROP TABLE message_index",
    "DROP TABLE message_index; CREATE TABLE message_index (text)",
    "DROP TABLE node_index_data",
)


@pytest.mark.parametrize("statements", BREAKS)
def test_a_broken_index_costs_no_message(filled, make, capsys, statements):
    """MIG-01, MIG-02: it starts, rows are saved, the log is searched, the doctor makes the index again.

    A backup is made before, and afterwards the index finds all that was said.
    """
    sql = sqlite3.connect(filled)
    sql.executescript(statements)
    sql.close()
    engine = make()
    rows = talk(34)
    assert engine.ingest(rows).new == 8
    for number in (7, 33):  # from before the damage, and since
        for mode in ("auto", "fuzzy", "exact"):
            found = ask(engine, "lcm_grep", query=f"harbour{number}", mode=mode)
            assert any(f"harbour{number} " in hit["snippet"] for hit in found["results"]), mode
    status = ask(engine, "lcm_status")
    engine.close()
    code, wrong = doctor(capsys, filled)
    assert (code, list(wrong)) == (1, ["index"])
    assert "--fix" in wrong["index"]["remedy"]
    if "index" in status.get("warning", ""):
        assert "doctor" in status["warning"]

    capsys.readouterr()
    assert main(["doctor", "--db", str(filled), "--fix", "--json"]) == 0
    fixed = " ".join(json.loads(capsys.readouterr().out)["fixed"])
    assert "backup" in fixed
    assert len(list((filled.parent / "backups").iterdir())) == 1
    assert doctor(capsys, filled) == (0, {})
    assert main(["verify", "--db", str(filled)]) == 0
    again = make()
    for number in (7, 33):
        found = ask(again, "lcm_grep", query=f"harbour{number}")
        assert found["mode"] == "auto"
        assert "index" not in found["note"]
        assert any(f"harbour{number} " in hit["snippet"] for hit in found["results"])
    assert "warning" not in ask(again, "lcm_status")
    assert again.ingest(rows).new == 0


def test_a_broken_index_is_said_once(filled, make, caplog):
    """The log has one line about it, however often is searched; the status has it until it is made again."""
    sql = sqlite3.connect(filled, isolation_level=None)
    sql.execute("DROP TABLE message_index_data")
    sql.close()
    engine = make()
    with caplog.at_level(logging.WARNING):
        for _ in range(4):
            assert ask(engine, "lcm_grep", query="question")["results"]
    assert sum("index is broken" in record.message for record in caplog.records) == 1
    assert "search index" in ask(engine, "lcm_status")["warning"]


def test_a_question_is_answered_by_its_words_without_the_index(filled, make):
    """The scan looks for each word, as the index does, and those with more of them come first."""
    sql = sqlite3.connect(filled, isolation_level=None)
    sql.execute("DELETE FROM message_index_config")
    sql.close()
    engine = make()
    found = ask(engine, "lcm_grep", query="what was the question about harbour12 again?")
    assert "harbour12 " in found["results"][0]["snippet"]
    assert "index is broken" in found["note"]
