"""Whether an index is well is told by what it finds: of a healthy one nothing is said, whatever the texts are."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lcm.dag.ingest import Ledger
from lcm.storage import fts, open_store
from ledgers import said, user

TEXTS = [
    "GitHub is down again today",
    "JavaScript or Python?",
    "iPhone",
    "हिन्दी में किताबें पढ़ना",
    "ᲐᲑᲒ ᲓᲔᲕ",  # letters that are younger than some SQLite
    "\U0001e900\U0001e901\U0001e902 \U0001e903",
    "snake_case __dunder__ 100_000",
    "今天讨论记忆断裂的问题 shipped",
    "nul\0inside lone\ud800surrogate",
    "Ⅻ ½ ²³ ①②③④",
    "e\u0301te\u0301 cafe\u0301",
    "!!! ...",
    "",
]


def symptoms(path):
    with closing(sqlite3.connect(path)) as sql:
        return fts.symptoms(sql, str(path))


def stored(path, texts):
    store = open_store(path)
    ledger = Ledger(store, store.open_session("s"))
    ledger.ingest([(user, said)[n % 2](text) for n, text in enumerate(texts)])
    store.close()


@pytest.mark.parametrize("text", TEXTS)
def test_nothing_is_said_of_a_healthy_one(tmp_path, text):
    """Names in camel case, scripts with vowel signs, letters that SQLite does not know."""
    stored(tmp_path / "lcm.db", [text, "a word"])
    assert symptoms(tmp_path / "lcm.db") == []


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(texts=st.lists(st.text(max_size=30), min_size=1, max_size=8))
def test_nothing_is_said_of_any_text(tmp_path_factory, texts):
    """Whatever is stored: a healthy index has no symptom."""
    path = tmp_path_factory.mktemp("any") / "lcm.db"
    stored(path, texts)
    assert symptoms(path) == []


def test_one_that_lost_a_row_is_told(tmp_path):
    """Of what begins with a name in camel case, and in Hindi, too."""
    path = tmp_path / "lcm.db"
    texts = [text for text in TEXTS if text.strip("!. ") and "\u1c90" not in text][:4]
    stored(path, texts)
    with closing(sqlite3.connect(path)) as sql:
        sql.execute("INSERT INTO message_index (message_index) VALUES ('delete-all')")
        sql.commit()
    assert symptoms(path) == ["It does not find 4 of 4 messages by a word that they hold."]
