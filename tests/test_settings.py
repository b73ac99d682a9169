"""Settings: what is right is used, what is wrong is reported, nothing stops the agent."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import hypothesis
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from lcm import LCMEngine
from lcm.dag.settings import Settings, describe, load_settings

#: Keys whose values are whole numbers.
WHOLE = (
    "target_token_levels", "min_turns_before_compaction", "compaction_token_threshold", "drift_window_size",
    "fresh_tail_tokens", "leaf_tokens", "condense_fanin", "search_budget_tokens",
)  # fmt: skip
DEFAULTS = {key: default for key, default, _ in describe()}
ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.binary(max_size=4)
    | st.sampled_from(["off", "-1", "nan", "1e3", "0.5", "[", "(", 10**400]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


def load(text: str):
    """Load a section as a user writes it."""
    return load_settings(yaml.safe_load(text))


def test_nothing_set_means_the_documented_defaults():
    """The defaults are the documented ones, and the file may be empty."""
    loaded = load_settings(None)
    assert loaded == load_settings({})
    assert loaded.settings == Settings()
    assert not loaded.problems
    assert set(loaded.sources.values()) == {"default"}
    assert {key: getattr(loaded.settings, key) for key in DEFAULTS} == DEFAULTS
    assert DEFAULTS == {
        "target_token_levels": (15, 50, 250, 1000),
        "provide_retrieval_tool": True,
        "state_generation_model": "",
        "drift_detection_model": "",
        "min_turns_before_compaction": 3,
        "compaction_token_threshold": 1000,
        "drift_window_size": 10,
        "estimate_sufficient_tokens": True,
        "state_updates": "ahead",
        "ui_verbosity": "normal",
        "database": "",
        "threshold": 0.75,
        "soft_threshold": 0.60,
        "target": 0.40,
        "fresh_tail_tokens": None,
        "leaf_tokens": None,
        "condense_fanin": 4,
        "redact": "summaries",
        "ignore_sessions": (),
        "memory_only_sessions": (),
        "search_budget_tokens": 2000,
        "embeddings": False,
    }


def test_there_are_few_settings_and_each_is_described():
    """At most 24 keys, and none without a sentence that says what it does."""
    assert len(describe()) <= 24
    assert all(len(doc) > 20 and doc.endswith(".") for _, _, doc in describe())


def test_every_key_is_applied():
    """CONF-01: what a user writes is what is in force, and its source says so."""
    loaded = load(
        """
        target_token_levels: [20, 200]
        provide_retrieval_tool: no
        state_generation_model: some/model
        drift_detection_model: other/model
        min_turns_before_compaction: 5
        compaction_token_threshold: 0
        drift_window_size: 4
        estimate_sufficient_tokens: off
        state_updates: every_turn
        ui_verbosity: ALL
        database: /tmp/x.db
        threshold: 0.8
        soft_threshold: 0.7
        target: 0.02
        fresh_tail_tokens: 0
        leaf_tokens: 900
        condense_fanin: 6
        redact: store
        ignore_sessions: [cron_*, "test?"]
        memory_only_sessions: private*
        search_budget_tokens: 500
        embeddings: true
        """
    )
    assert not loaded.problems
    assert set(loaded.sources.values()) == {"config"}
    assert loaded.settings == Settings(
        target_token_levels=(20, 200),
        provide_retrieval_tool=False,
        state_generation_model="some/model",
        drift_detection_model="other/model",
        min_turns_before_compaction=5,
        compaction_token_threshold=0,
        drift_window_size=4,
        estimate_sufficient_tokens=False,
        state_updates="every_turn",
        ui_verbosity="all",
        database="/tmp/x.db",  # noqa: S108 -- a name only
        threshold=0.8,
        soft_threshold=0.7,
        target=0.02,
        fresh_tail_tokens=0,
        leaf_tokens=900,
        condense_fanin=6,
        redact="store",
        ignore_sessions=("cron_*", "test?"),
        memory_only_sessions=("private*",),
        search_budget_tokens=500,
        embeddings=True,
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("fresh_tail_token", "fresh_tail_tokens"),
        ("Threshold", "threshold"),
        ("ignore_session", "ignore_sessions"),
        ("leaf_chunk_tokens", "leaf_tokens"),
        ("state_store_path", "database"),
    ],
)
def test_an_unknown_key_is_reported_with_the_nearest_known_one(written, meant):
    """A typing error is shown with what was probably meant, and changes nothing."""
    loaded = load_settings({written: 5})
    assert [(p.key, p.value, p.nearest) for p in loaded.problems] == [(written, "5", meant)]
    assert written in loaded.problems[0].message and meant in loaded.problems[0].message
    assert loaded.settings == Settings()


def test_the_old_switch_says_what_replaced_it():
    """``enabled`` did not vanish without a word: the host's own setting selects the engine."""
    assert "context.engine: lcm" in load("enabled: true").problems[0].message


@pytest.mark.parametrize("value", ["0", "false", "off", "null", '"0"', "0.0", ""])
def test_a_threshold_of_nothing_is_the_default(value):
    """CONF-02: "no threshold" is not "compact always"."""
    loaded = load(f"threshold: {value}")
    assert loaded.settings.threshold == 0.75
    assert not loaded.problems
    assert loaded.sources["threshold"] == "default"


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "abc", "", " ", -1, [1], {"a": 1}, True])
@pytest.mark.parametrize(
    "key", ["threshold", "target", "soft_threshold", "leaf_tokens", "fresh_tail_tokens"]
)
def test_a_wrong_number_is_reported_and_the_default_used(key, value):
    """CONF-05: neither a crash nor a silent nonsense."""
    loaded = load_settings({key: value})
    assert loaded.settings == Settings()
    assert [(p.key, p.nearest) for p in loaded.problems] == [(key, key)]
    assert "default" in loaded.problems[0].message
    assert loaded.sources[key] == "default"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("threshold", 75),
        ("threshold", float("nan")),
        ("target", 0.01),
        ("target", 0),
        ("leaf_tokens", 0),
        ("leaf_tokens", 10.5),
        ("condense_fanin", 1),
        ("target_token_levels", [50, 15]),
        ("target_token_levels", [15, 15]),
        ("target_token_levels", []),
        ("target_token_levels", [0, 15]),
        ("target_token_levels", [15, "many"]),
        *((key, 10**30) for key in WHOLE),
        *((key, 2**63) for key in WHOLE),
        ("target_token_levels", [15, 10**30]),
        ("state_updates", "sometimes"),
        ("state_updates", True),
        ("redact", 0),
        ("embeddings", "perhaps"),
        ("embeddings", 2),
        ("state_generation_model", 7),
        ("ignore_sessions", {"a": 1}),
        ("ignore_sessions", True),
    ],
)
def test_a_value_out_of_range_is_reported(key, value):
    """What no pass could work with is refused key by key; the rest of the section counts."""
    loaded = load_settings({key: value, "provide_retrieval_tool": False})
    assert loaded.settings == Settings(provide_retrieval_tool=False)
    assert [p.key for p in loaded.problems] == [key]


@pytest.mark.parametrize("key", WHOLE)
def test_the_largest_number_still_compacts(tmp_path, key):
    """Whatever is accepted can be worked with: the list is made to fit."""
    loaded = load_settings({key: 10**30})
    most = int(loaded.problems[0].message.split("to ")[1].split(";")[0])
    assert load_settings({key: most}).problems == ()
    engine = LCMEngine(6000, db_path=tmp_path / "lcm.db", settings={key: most})
    engine.on_session_start("s")
    rows = [
        {"role": role, "content": f"{role} {n} " + "wind tide lamp " * 40}
        for n in range(25)
        for role in ("user", "assistant")
    ]
    made = engine.compress(rows, current_tokens=engine.count_tokens(rows))
    assert engine.count_tokens(made) < engine.threshold_tokens
    assert engine.get_status()["problems"] == []
    engine.close()


def test_a_number_may_be_written_as_text():
    """Hosts and environment files hand over text; it means the number in it."""
    raw = {"threshold": "0.5", "leaf_tokens": " 1e3 ", "target_token_levels": ["15", 50.0]}
    loaded = load_settings(raw)
    assert not loaded.problems
    assert loaded.settings.threshold == 0.5
    assert loaded.settings.leaf_tokens == 1000 and isinstance(loaded.settings.leaf_tokens, int)
    assert loaded.settings.target_token_levels == (15, 50)


@pytest.mark.parametrize("key", ["state_updates", "ui_verbosity", "redact"])
def test_a_bare_off_means_off(key):
    """YAML makes False of a bare off; the user meant the word."""
    loaded = load(f"{key}: off")
    assert getattr(loaded.settings, key) == "off"
    assert not loaded.problems


@pytest.mark.parametrize("key", ["soft_threshold", "target"])
def test_a_share_above_the_threshold_is_reported(key):
    """Preparing or aiming above the threshold would never happen, or never end."""
    loaded = load_settings({key: 0.9})
    assert [p.key for p in loaded.problems] == [key]
    assert loaded.settings == Settings()


def test_a_lower_threshold_takes_the_defaults_with_it():
    """Who sets only the threshold has made no mistake, and gets shares that fit it."""
    loaded = load_settings({"threshold": 0.3})
    assert not loaded.problems
    assert 0.02 <= loaded.settings.target < loaded.settings.soft_threshold < 0.3
    assert loaded.sources["target"] == "default"


def test_a_bad_pattern_is_skipped_alone():
    """CONF-07: the good patterns still count."""
    loaded = load_settings({"ignore_sessions": ["cron_*", "[a", "", 5, None, "b(*"]})
    assert loaded.settings.ignore_sessions == ("cron_*", "b(*")
    assert [p.value for p in loaded.problems] == ["'[a'", "''", "5", "None"]
    assert loaded.sources["ignore_sessions"] == "config"


@pytest.mark.parametrize("raw", ["threshold: 1", ["threshold"], 7, True])
def test_a_section_that_is_none_is_reported(raw):
    """A list or a word where keys should stand is a mistake like any other."""
    loaded = load_settings(raw)
    assert loaded.settings == Settings()
    assert len(loaded.problems) == 1


def test_settings_pass_through():
    """A program hands over the object itself; its shares are made to fit like a user's."""
    own = Settings(leaf_tokens=300, redact="off")
    assert load_settings(own).settings == own
    assert load_settings(own).sources["redact"] == "config"
    assert load_settings(own).sources["target"] == "default"
    wrong = load_settings(Settings(leaf_tokens=-5))
    assert wrong.settings == Settings() and wrong.problems[0].key == "leaf_tokens"


def test_a_path_may_be_a_path():
    """A program gives the database as a path object, a file as text."""
    assert load_settings({"database": Path("a") / "b.db"}).settings.database == str(Path("a/b.db"))


def test_a_long_value_is_shown_shortened():
    """A report is for a screen, whatever the value was."""
    problem = load_settings({"k" * 5000: "v" * 5000}).problems[0]
    assert len(problem.message) < 300 and len(problem.value) < 100


def test_settings_can_be_copied():
    """The host copies engines, and everything in them."""
    loaded = load_settings({"threshold": 0.5, "typo": 1})
    assert copy.deepcopy(loaded) == loaded
    assert pickle.loads(pickle.dumps(loaded.settings)) == loaded.settings  # noqa: S301


@hypothesis.settings(deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(DEFAULTS)) | st.text(max_size=5), ODD, max_size=6))
def test_no_section_raises(raw):
    """Whatever stands in the file, settings that work come out, each of its own type."""
    loaded = load_settings(raw)
    settings = loaded.settings
    assert 0.02 <= settings.target < settings.threshold <= 1
    assert 0 < settings.soft_threshold < settings.threshold
    assert settings.target_token_levels == tuple(sorted(set(settings.target_token_levels)))
    assert load_settings(settings).settings == settings
    for key, default in DEFAULTS.items():
        if default is not None:
            assert type(getattr(settings, key)) is type(default)


def test_a_setting_without_effect_is_reported():
    """A user who sets ``embeddings`` must not believe that it changes anything yet."""
    loaded = load_settings({"embeddings": True, "threshold": 0.5, "state_updates": "ahead"})
    assert ["embeddings"] == [problem.key for problem in loaded.inert]
    assert () == loaded.problems
    assert loaded.settings.embeddings


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (True, "`lcm:` is true where keys with values belong, like `threshold: 0.75`; the defaults are used"),
        (["a"], '`lcm:` is ["a"] where keys with values belong'),
        ({"target_token_levels": [5, 3]}, "the default is used: [15, 50, 250, 1000]"),
        ({"embeddings": 7}, "lcm.embeddings: 7 must be true or false; the default is used: false"),
        ({"redact": None, "database": ["x"]}, 'lcm.database: ["x"] must be text; the default is used: none'),
        ({"redact": "foo"}, "the default is used: summaries"),
        ({"ignore_sessions": {}}, "lcm.ignore_sessions: {} must be a list; the default is used: []"),
        ({"target": False}, "lcm.target: false must be"),
    ],
)  # fmt: skip
def test_what_is_said_is_written_as_in_the_file(raw, said):
    """No tuple, no True, no quotes that Python alone has; and a sentence where the section is none."""
    (problem,) = load_settings(raw).problems
    assert said in problem.said
