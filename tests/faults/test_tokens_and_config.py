"""Token counting and configuration: figures that can be trusted, settings that are used or reported."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from faultkit import ask, called, database, kept, said, talk, user
from lcm import LCMEngine
from lcm.dag.settings import describe, load_settings

ROOT = Path(__file__).resolve().parents[2]

_OFFLINE = """
import importlib.util, sys

def no_network(event, args):
    if event.startswith(("socket.connect", "socket.getaddrinfo", "urllib.Request")):
        raise OSError("no network here")

sys.addaudithook(no_network)
spec = importlib.util.spec_from_file_location(
    "lcm", sys.argv[1] + "/__init__.py", submodule_search_locations=[sys.argv[1]]
)
lcm = sys.modules["lcm"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lcm)
print(lcm.LCMEngine(8000, settings={}).count_tokens([{"role": "user", "content": "word " * 4000}]))
"""


def test_counting_needs_no_network(tmp_path):
    """TOK-01: no connection may be made and there is no cache: the first count comes at once."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", _OFFLINE, str(ROOT)],
        env={"HOME": str(tmp_path), "HERMES_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert 5000 <= int(done.stdout) <= 5100
    assert [] == list(tmp_path.iterdir())


def test_what_is_sent_beside_the_list_counts(make, home):
    """TOK-02: the list is small, the measured prompt over the threshold: believed, and taken off the budget."""
    engine = make(context_length=20_000)
    rows = talk(40)
    own = engine.count_tokens(rows)
    overhead = 10_000
    assert own < engine.threshold_tokens < own + overhead
    engine.update_from_response({"prompt_tokens": own + overhead})
    assert engine.should_compress()
    out = engine.compress(rows, current_tokens=own + overhead)
    assert engine.count_tokens(out) + overhead <= engine.threshold_tokens
    assert rows == kept(home)


def test_arguments_count(make):
    """TOK-03: an empty answer with 50,000 characters of arguments weighs what they weigh."""
    row = called("c")
    row["tool_calls"][0]["function"]["arguments"] = json.dumps({"text": "word " * 10_000})
    assert make().count_tokens([row]) > 12_500


def test_a_picture_has_a_flat_price(make):
    """TOK-04: a megabyte of base64 weighs what a picture does; the words beside it weigh what words do."""
    engine = make()
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 10**6}}
    alone = engine.count_tokens([user([picture])])
    assert 1000 < alone < 3000
    spoken = engine.count_tokens([user([picture, {"type": "text", "text": "word " * 1000}])])
    assert 1200 < spoken - alone < 1400


def test_another_model_is_measured_anew(make):
    """TOK-05: 150,000 tokens were measured for a large window: not held against the small one, nor is -1."""
    engine = make(context_length=200_000)
    engine.update_from_response({"prompt_tokens": 150_000})
    engine.update_model("small", 32_000)
    assert not engine.should_compress()
    for sentinel in (-1, 0):
        engine.last_prompt_tokens = sentinel
        assert not engine.should_compress(sentinel)
        assert 0 <= engine.get_status()["usage_percent"]


def test_a_stale_count_forces_no_pass(make, home):
    """TOK-06: the last figure says 100,000 and the list is small by now: it is counted again, and stays."""
    engine = make(context_length=80_000)
    engine.update_from_response({"prompt_tokens": 100_000})
    rows = talk(10)
    assert rows is engine.compress(rows)
    assert rows is engine.compress(rows, current_tokens=engine.count_tokens(rows))
    assert 0 == engine.compression_count
    engine.update_from_response({"prompt_tokens": 20_000})
    assert not engine.should_compress()
    assert rows == kept(home)


def test_the_section_is_used_and_a_typing_error_said(make):
    """CONF-01: values are in force, a misspelt key is reported with the nearest one, and stops nothing."""
    engine = make(settings={"fresh_tail_tokens": 300, "leaf_tokens": 900, "typo_key": 1})
    assert (300, 900) == (engine.settings.fresh_tail_tokens, engine.settings.leaf_tokens)
    assert {"leaf_tokens": "config", "threshold": "default"}.items() <= (
        engine.loaded_settings.sources.items()
    )
    (problem,) = engine.get_status()["problems"]
    assert "typo_key" in problem
    engine.ingest(talk(1))
    assert problem in ask(engine, "lcm_status")["problems"]


@pytest.mark.parametrize("value", [0, "0", False, None, "", "0.0"])
def test_no_threshold_is_the_default_one(make, value):
    """CONF-02: nothing set, however it is written: three quarters of the window, and no storm of passes."""
    engine = make(settings={"threshold": value})
    assert 6000 == engine.threshold_tokens
    assert not engine.should_compress(5999)
    assert engine.should_compress(6000)
    rows = talk(3)
    assert rows is engine.compress(rows)


def test_the_status_shows_what_is_in_force(make):
    """CONF-03: the setting says 0.55 and the host lowers it later: the status follows both."""
    engine = make(settings={"threshold": 0.55})
    engine.ingest(talk(1))
    assert 4400 == ask(engine, "lcm_status")["threshold_tokens"] == engine.threshold_tokens
    assert "config" == engine.loaded_settings.sources["threshold"]
    engine.threshold_tokens = 3000  # as a host does that finds the summary model's window small
    assert 3000 == ask(engine, "lcm_status")["threshold_tokens"]
    assert engine.should_compress(3000)


NUMBERS = [
    key
    for key, default, _ in describe()
    if isinstance(default, int | float) and not isinstance(default, bool)
] + ["fresh_tail_tokens", "leaf_tokens"]


@pytest.mark.parametrize("key", NUMBERS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -1, "nan", "abc", " ", [1], 10**400])
def test_a_number_that_is_none_is_said(make, key, value):
    """CONF-05: the default is used, the report names the key, and a pass goes through."""
    loaded = load_settings({key: value})
    assert [key] == [problem.key for problem in loaded.problems]
    assert load_settings({}).settings == loaded.settings
    engine = make(settings={key: value})
    rows = talk(60)
    assert len(engine.compress(rows, current_tokens=engine.count_tokens(rows))) < len(rows)


def test_the_home_says_where_all_is_kept(tmp_path, monkeypatch):
    """CONF-06: HERMES_HOME at the start: every file stands under it, and none beside."""
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "said"))
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    engine = LCMEngine(8000, settings={})
    engine.on_session_start("s")
    engine.ingest([*talk(60), user("read"), said("x " * 30_000)])
    assert [tmp_path / "said"] == list(tmp_path.iterdir())
    assert database(tmp_path / "said").exists()
    engine.close()


def test_a_bad_pattern_stops_nothing(make, home):
    """CONF-07: it is skipped and said, the good one beside it counts, and the session starts."""
    engine = make("s", settings={"ignore_sessions": ["[a", "cron_*"]})
    engine.ingest(talk(1))
    other = make("cron_1", settings={"ignore_sessions": ["[a", "cron_*"]})
    other.ingest(talk(1))
    assert any("[a" in problem for problem in engine.get_status()["problems"])
    assert "not_kept" in other.get_status()
    assert talk(1) == kept(home)


@pytest.mark.parametrize(
    "written",
    [
        'ignore_sessions: [cron_*, "a, b"]',
        'ignore_sessions:\n  - cron_*\n  - "a, b"',
        '"ignore_sessions": ["cron_*", \'a, b\']',
    ],
)
def test_every_way_to_write_a_list_is_read_the_same(written):
    """CONF-04: inline, as a block, with a quoted key; there is no parser beside PyYAML, without which we say no."""
    loaded = load_settings(yaml.safe_load(written))
    assert ("cron_*", "a, b") == loaded.settings.ignore_sessions
    assert () == loaded.problems
    assert "pyyaml" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["docs/settings.md", "docs/operations.md"])
def test_the_pages_say_which_threshold_governs(make, page):
    """DOC-02: lcm.threshold; the built-in compressor's is named beside it, and is not ours."""
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert "Which threshold governs" in text
    assert "`lcm.threshold`" in text
    assert "`compression.threshold`" in text
    engine = make(settings={"threshold": 0.6})
    engine.update_model("m", 10_000)
    assert (0.6, 6000) == (engine.threshold_percent, engine.threshold_tokens)
