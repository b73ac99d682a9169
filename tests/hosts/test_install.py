"""`scripts/quickstart --into` and `--out-of`, on a home that somebody has cared for."""

from __future__ import annotations

import subprocess

import pytest
import yaml
from hostkit.host import ROOT

CARED_FOR = """\
# My Hermes. Do not touch the spacing!
model:
  provider: custom        # the one in the cellar
  default: "my-model"

plugins:
  # these two are mine
  enabled:
    - weather
    - 'night-watch'       # quotes on purpose
  disabled:
    - lcm
agent: {max_turns: 40}    # flow style

display:
  language: en
"""

HOMES = {
    "cared-for": CARED_FOR,
    "no-config": None,
    "empty": "",
    "flow": "plugins: {enabled: [weather]}\ncontext: {engine: compressor}\n",
    "null": "plugins:\n  enabled:\ncontext:\n",
    "other-engine": "context:\n  engine: other # why not\nplugins:\n  enabled: []\n",
}


@pytest.fixture
def quickstart(host):
    """Run scripts/quickstart for this host's Python."""

    def run(*arguments, answer="", code=0):
        done = subprocess.run(
            [ROOT / "scripts" / "quickstart", "--python", host.python, *arguments],
            input=answer,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture(params=sorted(HOMES))
def home(request, tmp_path):
    """A Hermes home with one of the configs."""
    if HOMES[request.param] is not None:
        (tmp_path / "config.yaml").write_text(HOMES[request.param])
    return tmp_path


def config_of(home):
    path = home / "config.yaml"
    return yaml.safe_load(path.read_text()) or {} if path.exists() else {}


def comments(text):
    return [line.split("#", 1)[1] for line in text.splitlines() if "#" in line]


def test_in_and_out_again(quickstart, home):
    """In: selected, enabled, once. Out: the config says what it said, and the database stays."""
    path = home / "config.yaml"
    text = path.read_text() if path.exists() else ""
    before = config_of(home)
    quickstart("--into", home, "--yes")
    after = config_of(home)
    assert after["context"]["engine"] == "lcm"
    others = (before.get("plugins") or {}).get("enabled") or []
    assert after["plugins"]["enabled"] == [*others, "lcm"]
    assert "lcm" not in after["plugins"].get("disabled", [])
    assert {k: v for k, v in after.items() if k not in ("plugins", "context")} == {
        k: v for k, v in before.items() if k not in ("plugins", "context")
    }
    assert comments(path.read_text()) == comments(text)
    assert (home / "plugins" / "lcm" / "plugin.yaml").exists()
    (home / "lcm").mkdir()
    (home / "lcm" / "lcm.db").write_text("a life's work")
    quickstart("--out-of", home, "--yes")
    restored = config_of(home)
    for section, key in (("context", "engine"), ("plugins", "enabled"), ("plugins", "disabled")):
        was, now = ((c.get(section) or {}).get(key) or None for c in (before, restored))
        assert now == was
    assert not (home / "plugins" / "lcm").exists()
    assert (home / "lcm" / "lcm.db").read_text() == "a life's work"
    assert comments(path.read_text()) == comments(text)


def test_twice_is_once(quickstart, home):
    """The second --into changes nothing in the config and makes no second backup."""
    quickstart("--into", home, "--yes")
    once = (home / "config.yaml").read_text()
    kept = sorted(home.glob("config.yaml.before-lcm-*"))
    quickstart("--into", home, "--yes")
    assert (home / "config.yaml").read_text() == once
    assert sorted(home.glob("config.yaml.before-lcm-*")) == kept


def test_the_config_is_backed_up(quickstart, tmp_path):
    """The backup is the file as it was, byte for byte."""
    (tmp_path / "config.yaml").write_text(CARED_FOR)
    quickstart("--into", tmp_path, "--yes")
    (backup,) = tmp_path.glob("config.yaml.before-lcm-*")
    assert backup.read_text() == CARED_FOR


def test_the_way_out_keeps_the_first_backup(quickstart, tmp_path):
    """In and out within a second are two backups; the first is still the original."""
    (tmp_path / "config.yaml").write_text(CARED_FOR)
    quickstart("--into", tmp_path, "--yes")
    quickstart("--out-of", tmp_path, "--yes")
    backups = sorted(tmp_path.glob("config.yaml.before-lcm-*"))
    assert len(backups) == 2
    assert backups[0].read_text() == CARED_FOR


def test_only_the_lines_that_must_change_do(quickstart, tmp_path):
    """Every line of a cared-for config is still there, but the one that disabled us."""
    (tmp_path / "config.yaml").write_text(CARED_FOR)
    quickstart("--into", tmp_path, "--yes")
    now = (tmp_path / "config.yaml").read_text().splitlines()
    gone = [line for line in CARED_FOR.splitlines() if line not in now]
    assert gone == ["  disabled:"]  # it is an empty list now


def test_without_a_yes_nothing_happens(quickstart, tmp_path):
    """Each change is shown, then asked for; no answer is a no."""
    (tmp_path / "config.yaml").write_text(CARED_FOR)
    shown = quickstart("--into", tmp_path, answer="", code=1)
    assert "+  disabled: []" in shown
    assert "+  engine: lcm" in shown
    assert str(tmp_path / "plugins" / "lcm") in shown
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]


def test_a_broken_config_is_left_alone(quickstart, tmp_path):
    """What cannot be read is not written; the message says what to do by hand."""
    (tmp_path / "config.yaml").write_text("plugins: [unclosed\n")
    done = subprocess.run(
        [ROOT / "scripts" / "quickstart", "--into", tmp_path, "--yes"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin"},
        timeout=60,
    )
    assert done.returncode == 1
    assert "--python" in done.stderr
    quickstart("--into", tmp_path, "--yes", code=1)
    assert (tmp_path / "config.yaml").read_text() == "plugins: [unclosed\n"
    assert not (tmp_path / "plugins").exists()
