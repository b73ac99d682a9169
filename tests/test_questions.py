"""What a host asks before it compacts: no yes that cannot help, and a reason where the answer is no."""

from __future__ import annotations

import json

import pytest
from lcm import LCMEngine


def talk(turns, words=60):
    return [
        {"role": role, "content": f"{what} {n} " + f"{what}{n} " * words}
        for n in range(turns)
        for role, what in (("user", "question"), ("assistant", "answer"))
    ]


@pytest.fixture
def make(tmp_path):
    made = []

    def build(window=8000, **more):
        settings = more.pop("settings", {})
        engine = LCMEngine(window, db_path=tmp_path / "lcm.db", settings=settings, **more)
        engine.on_session_start("s")
        made.append(engine)
        return engine

    yield build
    for engine in made:
        engine.close()


def broken(request):
    raise ConnectionError("down")


def failing(make, **more):
    """An engine whose summariser has failed until it is left alone, and what its last pass gave."""
    engine = make(summarizer=broken, **more)
    return engine, engine.compress(talk(60), current_tokens=9000)


# the cool-down


def test_no_cooldown_while_all_is_well(make):
    """None, and with the keyword that hosts pass."""
    engine = make()
    assert engine.get_active_compression_failure_cooldown() is None
    assert engine.get_active_compression_failure_cooldown(refresh=True) is None
    assert engine.get_status()["cooldown"] is None


def test_a_cooldown_is_seen_and_blocks_nothing(make):
    """It says how long and why; it is not true, which is what both hosts go by; compaction goes on."""
    engine, rows = failing(make)
    cooldown = engine.get_active_compression_failure_cooldown(refresh=True)
    assert 0 < cooldown["remaining_seconds"] <= 60
    assert "ConnectionError" in cooldown["reason"]
    assert isinstance(cooldown, dict)
    assert not cooldown
    rows = [*rows, *talk(60)]
    assert (True, None) == engine.should_compress_info(9000)
    assert len(engine.compress(rows, current_tokens=9000)) < len(rows)


def test_a_cooldown_is_in_every_status(make):
    """get_status(), lcm_status, and the line that a host shows before a compaction."""
    engine, _ = failing(make)
    assert engine.get_status()["cooldown"]["remaining_seconds"] > 0
    status = json.loads(engine.handle_tool_call("lcm_status", {}))
    assert "ConnectionError" in status["cooldown"]["reason"]
    line = engine.get_automatic_compaction_status_message(
        phase="pre_api", default_message="Compacting."
    )
    assert line.startswith(
        "Compacting. Sentences are extracted: summariser failed: ConnectionError"
    )


def test_a_no_names_the_cooldown(make):
    """Where nothing can be made smaller while the summariser rests, the reason says both."""
    engine, _ = failing(make)
    one = [{"role": "user", "content": "x y " * 40_000}]
    engine.compress(engine.compress(one, current_tokens=90_000), current_tokens=90_000)
    should, reason = engine.should_compress_info(90_000)
    assert not should
    assert "as small as it can" in reason
    assert "ConnectionError" in reason


def test_below_the_threshold_there_is_no_reason(make):
    """The newer host takes any reason for an overflow that is blocked, and warns of it."""
    engine, _ = failing(make)
    assert (False, None) == engine.should_compress_info(100)


def test_force_asks_the_summariser_again(make):
    """A person who asks for a compaction ends the cool-down for one call."""
    asked = []

    def summarizer(request):
        asked.append(request)
        raise ConnectionError

    engine = make(summarizer=summarizer)
    rows = engine.compress(talk(60), current_tokens=9000)
    before = len(asked)
    rows = engine.compress([*rows, *talk(60)], current_tokens=9000)
    assert before == len(asked)
    engine.compress([*rows, *talk(60)], current_tokens=9000, force=True)
    assert before < len(asked)


# below the threshold


def test_preflight_only_where_the_list_is_over(make):
    """Below the threshold nothing is worth a pass; over it, until a pass could not help."""
    engine = make()
    rows = talk(4)
    assert not engine.should_compress_preflight(rows)
    rows = talk(80)
    assert engine.should_compress_preflight(rows)
    made = engine.compress(rows)
    assert made is not rows
    assert not engine.should_compress_preflight(made)
    assert not make().should_compress_preflight([])


def test_preflight_says_no_where_nothing_helps(make):
    """The host has refused what a pass gave: not again before the conversation has grown."""
    engine = make()
    rows = talk(80)
    engine.compress(rows)
    engine.record_rejected_compaction()
    assert not engine.should_compress_preflight(rows)
    assert engine.should_compress_preflight([*rows, *talk(80)])


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8, 20, 60])
@pytest.mark.parametrize("words", [2, 60])
def test_content_to_compress_is_what_a_pass_would_find(make, turns, words):
    """The answer is what /compress then does, for a new list and for its own result."""
    engine = make()
    rows = talk(turns, words)
    for _ in range(2):
        said = engine.has_content_to_compress(rows)
        made = engine.compress(rows, force=True)
        assert said == (made is not rows)
        rows = made


def test_a_shell_has_nothing_to_compress(tmp_path):
    """Without a session nothing is done, so nothing is promised; nothing is created."""
    engine = LCMEngine(8000, db_path=tmp_path / "x" / "lcm.db", settings={})
    rows = talk(80)
    assert not engine.has_content_to_compress(rows)
    assert not engine.should_compress_preflight(rows)
    assert not (tmp_path / "x").exists()


# what the host shows


@pytest.mark.parametrize(
    ("verbosity", "shown"), [("all", "Line"), ("normal", "Line"), ("minimal", None), ("off", None)]
)
def test_the_hosts_own_line_follows_the_setting(make, verbosity, shown):
    """Who wants no line of compactions gets none of the host's either."""
    engine = make(settings={"ui_verbosity": verbosity})
    said = engine.get_automatic_compaction_status_message(phase="compress", default_message="Line")
    assert shown == said
