"""`scripts/quickstart --into` and `--out-of`, on a home that somebody has cared for."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
import yaml
from hostkit.host import ROOT
from lcm.demo import files, install
from lcm.demo.terminal import Terminal

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

#: Written as no program writes it.
OWN_STYLE = """\
model:
    provider: custom   # by four
    also:
        - a
        -   b

plugins:
    enabled:
        - weather    # and so far
        - "night"
    # behind it
    isolation: none
context:
    memory_trim: true
display:
        odd: 1
        even: [1,2,   3]
"""

#: Lists in brackets on one line.
IN_BRACKETS = """\
plugins:
  enabled: [weather, 'night']  # [mine]
context: {memory_trim: true}
"""

HOMES = {
    "own-style": OWN_STYLE,
    "in-brackets": IN_BRACKETS,
    "cared-for": CARED_FOR,
    "no-config": None,
    "empty": "",
    "flow": "plugins: {enabled: [weather]}\ncontext: {engine: compressor}\n",
    "null": "plugins:\n  enabled:\ncontext:\n",
    "only-comments": "# only comments\n\n# of mine",
    "crlf": CARED_FOR.replace("\n", "\r\n"),
    "other-engine": "context:\n  engine: other # why not\nplugins:\n  enabled: []\n",
}


#: Those that scripts/test --quick tries as well.
FEW = ("cared-for", "in-brackets", "no-config", "null")


@pytest.fixture(
    params=[pytest.param(name, marks=() if name in FEW else pytest.mark.slow) for name in HOMES]
)
def home(request, tmp_path):
    """A Hermes home with one of the configs."""
    if HOMES[request.param] is not None:
        (tmp_path / "config.yaml").write_bytes(HOMES[request.param].encode())
    return tmp_path


def config_of(home):
    path = home / "config.yaml"
    return yaml.safe_load(path.read_text()) or {} if path.exists() else {}


def comments(text):
    return [line.split("#", 1)[1] for line in text.splitlines() if "#" in line]


def raw(path):
    return path.read_bytes() if path.exists() else None


def test_out_again_is_as_it_was(quickstart, home):
    """In and out: the config is the same, byte for byte, or absent; it is said what stays."""
    path = home / "config.yaml"
    before = raw(path)
    quickstart("--into", home, "--yes")
    (home / "lcm").mkdir()
    (home / "lcm" / "lcm.db").write_text("a life's work")
    said = quickstart("--out-of", home, "--yes")
    assert raw(path) == before
    assert not (home / "plugins" / "lcm").exists()
    assert (home / "lcm" / "lcm.db").read_text() == "a life's work"
    for what in (str(home / "lcm"), "config.yaml.before-lcm-", "packages", "`lcm:`"):
        assert what in said.partition("What stays")[2]


def test_in_and_out_after_a_change(quickstart, home):
    """In: selected, enabled, once. Out of a config that was edited since: it says what it said."""
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
    with path.open("a") as config:
        config.write("added: later\n")
    quickstart("--out-of", home, "--yes")
    restored = config_of(home)
    for section, key in (("context", "engine"), ("plugins", "enabled"), ("plugins", "disabled")):
        was, now = ((c.get(section) or {}).get(key) or None for c in (before, restored))
        assert now == was
    assert restored["added"] == "later"
    assert not (home / "plugins" / "lcm").exists()
    assert comments(path.read_text()) == comments(text)


def test_the_line_endings_stay(quickstart, tmp_path):
    """Every line that was there ends as it did, new ones as most do; the text is the same as with LF."""
    path = tmp_path / "config.yaml"
    mixed = "a: 1\n" + CARED_FOR.replace("\n", "\r\n")
    path.write_bytes(mixed.encode())
    quickstart("--into", tmp_path, "--yes")
    crlf = path.read_bytes()
    assert crlf.startswith(b"a: 1\n#")
    assert crlf.count(b"\r\n") == crlf.count(b"\n") - 1
    shutil.rmtree(tmp_path / "plugins")
    path.write_bytes(mixed.replace("\r", "").encode())
    quickstart("--into", tmp_path, "--yes")
    assert path.read_bytes() == crlf.replace(b"\r", b"")


def test_what_is_left_of_a_config_of_ours_is_its_comments(quickstart, tmp_path):
    """Who wrote a comment into a config that held only comments and our entries keeps both."""
    path = tmp_path / "config.yaml"
    path.write_text("# mine\n")
    quickstart("--into", tmp_path, "--yes")
    path.write_text(f"{path.read_text()}# later\n")
    quickstart("--out-of", tmp_path, "--yes")
    assert path.read_text() == "# mine\n# later\n"


def test_a_comment_that_stays_is_named(quickstart, tmp_path):
    """The comment of the old engine is not ours to delete, so it is pointed out; once is enough."""
    (tmp_path / "config.yaml").write_text("context:\n  engine: compressor  # built-in\n")
    assert "stays: # built-in" in quickstart("--into", tmp_path, "--yes")
    assert "built-in" not in quickstart("--into", tmp_path, "--yes")


@pytest.fixture
def lock(tmp_path):
    """Make a path below tmp_path read-only, for root too; undone afterwards."""
    root = os.geteuid() == 0
    locked = []

    def shut(path):
        command = ["chattr", "+i", path] if root else ["chmod", "a-w", path]
        if shutil.which(command[0]) is None or subprocess.run(command, check=False).returncode:
            pytest.skip("nothing can be made read-only for this user here")
        locked.append(path)

    yield shut
    for path in locked:
        subprocess.run(["chattr", "-i", path] if root else ["chmod", "u+w", path], check=True)


def everything(folder):
    return {p.relative_to(folder): raw(p) for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("place", ["", "config.yaml", "plugins", "plugins/lcm/dag"])
def test_what_cannot_be_written_is_found_before_the_first_change(quickstart, lock, tmp_path, place):
    """In words, with what to do; no file has changed, and none is left over."""
    home = tmp_path / "home"
    (home / "plugins" / "lcm" / "dag").mkdir(parents=True)
    (home / "plugins" / "lcm" / "old.py").write_text("older")
    (home / "config.yaml").write_text(CARED_FOR)
    before = everything(home)
    lock(home / place)
    said = quickstart("--into", home, "--yes", code=1, said="stderr")
    assert f"{home / place} cannot be written. Nothing was changed." in said
    assert "Traceback" not in said
    assert everything(home) == before


def test_a_place_that_is_no_folder_is_found_before_the_first_change(quickstart, tmp_path):
    """A file called plugins, a config that is a link to nowhere: words, and nothing changed."""
    (tmp_path / "plugins").write_text("a file")
    said = quickstart("--into", tmp_path, "--yes", code=1, said="stderr")
    assert f"{tmp_path / 'plugins'} cannot be written" in said
    (tmp_path / "plugins").unlink()
    (tmp_path / "config.yaml").symlink_to(tmp_path / "gone" / "config.yaml")
    said = quickstart("--into", tmp_path, "--yes", code=1, said="stderr")
    assert f"{tmp_path / 'gone'} cannot be written" in said
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]


def test_a_home_is_named_as_it_is(quickstart, tmp_path):
    """However the way to it was written; a --python that is not there is said not to be."""
    (tmp_path / "other").mkdir()
    said = quickstart("--into", tmp_path / "other" / "..", "--yes")
    assert f"The Hermes of {tmp_path}:" in said
    assert "hermes gateway restart" in said
    assert "/.." not in said
    said = quickstart("--into", tmp_path, "--python", "/nowhere/python", code=1, said="stderr")
    assert "there is no `/nowhere/python`" in said


def test_the_way_out_that_is_shown_can_be_typed(quickstart, tmp_path):
    """In a shell, whatever the home is called."""
    home = tmp_path / "a home of mine"
    home.mkdir()
    (line,) = [
        each for each in quickstart("--into", home, "--yes").splitlines() if "To undo it" in each
    ]
    undo = f"{line.removeprefix('To undo it: ')} --yes"
    done = subprocess.run(["/bin/sh", "-c", undo], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not (home / "plugins" / "lcm").exists()


def test_twice_is_once(quickstart, home):
    """HOST-08: the second --into changes nothing in the config and makes no second backup."""
    quickstart("--into", home, "--yes")
    once = (home / "config.yaml").read_text()
    kept = sorted(home.glob("config.yaml.before-lcm-*"))
    said = quickstart("--into", home)
    assert "It is installed already" in said
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


@pytest.mark.parametrize(
    ("text", "added"),
    [
        (OWN_STYLE, ["        - lcm", "    engine: lcm"]),
        ("plugins:\n    # none yet\n    isolation: none\n", None),
        ("a: {b: [1,2]}   # no section of ours", None),
    ],
)
def test_a_style_of_ones_own_stays(quickstart, tmp_path, text, added):
    """Lines are added to a file that is written in another style, none is changed; and are taken out of a newer one."""
    path = tmp_path / "config.yaml"
    path.write_text(text)
    quickstart("--into", tmp_path, "--yes")
    now = path.read_text().splitlines()
    assert [line for line in text.splitlines() if line not in now] == []
    assert added is None or [line for line in now if line not in text.splitlines()] == added
    with path.open("a") as config:
        config.write("# later\nadded:   [3,4]\n")
    quickstart("--out-of", tmp_path, "--yes")
    assert path.read_text() == text.rstrip("\n") + "\n# later\nadded:   [3,4]\n"


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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "a: 1\nplugins: [unclosed\n",
            "it is no YAML in line 3 or before it: look from line 2 on.",
        ),
        ("a: b: c\n", "it is no YAML in line 1."),
        (
            "plugins: {}\na: 1\nplugins: {}\n",
            "the key `plugins` stands more than once, in lines 1 and 3.",
        ),
        ("plugins:\n- weather\n", "`plugins:` is a list, and Hermes wants a mapping."),
        ("context: compressor\n", "`context:` is a text, and Hermes wants a mapping."),
        (
            "plugins:\n  enabled: weather\n",
            "`enabled:` under `plugins:` is a text, and Hermes wants a list.",
        ),
        ("- plugins\n", "it is a list, and Hermes wants keys with values"),
    ],
    ids=["yaml", "one-line", "twice", "plugins", "context", "enabled", "whole"],
)
@pytest.mark.parametrize("way", ["--into", "--out-of"])
def test_a_config_that_hermes_would_not_take_is_said_to_be_one(
    quickstart, tmp_path, way, text, said
):
    """In words that say what to change, with no name of a class; it stays as it was."""
    (tmp_path / "config.yaml").write_text(text)
    told = quickstart(way, tmp_path, "--yes", code=1, said="stderr")
    assert f"config.yaml cannot be edited: {said}" in told
    assert "Error" not in told and "<unicode" not in told
    assert (tmp_path / "config.yaml").read_text() == text


@pytest.mark.parametrize(
    "text", ["plugins:\n  enabled: lcm\ncontext: {engine: lcm}\n", "plugins:\n  enabled: [lcm\n"]
)
def test_what_to_do_by_hand_is_of_the_way_one_goes(quickstart, tmp_path, text):
    """Who wants it out is not told to write it in, and the engine is the one from before, where that is known."""
    (tmp_path / "config.yaml").write_text("context: {engine: other}\n")
    told = ["`lcm` in the list plugins.enabled, and `engine: lcm` under context."]
    out = "take `lcm` out of plugins.enabled, and write `engine: {}` under context in place of `engine: lcm`."
    told += [out.format("other"), out.format("compressor")]
    quickstart("--into", tmp_path, "--yes")
    (tmp_path / "config.yaml").write_text(text)
    said = [
        quickstart(way, tmp_path, "--yes", code=1, said="stderr") for way in ("--into", "--out-of")
    ]
    (tmp_path / "lcm-installed.json").unlink()
    said.append(quickstart("--out-of", tmp_path, "--yes", code=1, said="stderr"))
    by_hand = [" ".join(each.split()).partition("By hand: ")[2] for each in said]
    assert by_hand == told


@pytest.fixture
def cared_for(host, tmp_path, monkeypatch):
    """A home whose config holds a key, for functions to be called on; nothing is missing in its Python."""
    (tmp_path / "config.yaml").write_text(CARED_FOR)
    (tmp_path / "config.yaml").chmod(0o600)
    monkeypatch.setattr(install, "unmet", lambda *_: [])
    return install.Home(tmp_path, Path(host.python))


def test_what_is_written_belongs_to_whom_the_home_belongs_to(cared_for, monkeypatch):
    """Root does it for another user: the config, its backup, the record and the plugin become theirs."""
    given = {}

    def chown(path, *owner, **_):
        given[Path(path).relative_to(cared_for.path).as_posix().removesuffix(".new")] = owner

    monkeypatch.setattr(os, "chown", chown)
    install.into(ROOT, cared_for, Terminal(), yes=True)
    owner = cared_for.path.stat()
    (backup,) = cared_for.path.glob("config.yaml.before-lcm-*")
    for name in (
        "config.yaml",
        backup.name,
        "plugins",
        "lcm-installed.json",
        "plugins/lcm/dag/plan.py",
    ):
        assert given[name] == (owner.st_uid, owner.st_gid)


def test_keys_are_never_readable_by_others(cared_for, monkeypatch):
    """A config of mode 0600 is copied and written anew in files that were 0600 from the beginning."""
    seen = {}
    write = os.fdopen

    def noted(number, *given, **more):
        path = Path(f"/dev/fd/{number}").readlink()
        seen[path.name] = stat.S_IMODE(os.fstat(number).st_mode)
        return write(number, *given, **more)

    monkeypatch.setattr(os, "fdopen", noted)
    install.into(ROOT, cared_for, Terminal(), yes=True)
    (backup,) = cared_for.path.glob("config.yaml.before-lcm-*")
    assert {"config.yaml.new", f"{backup.name}.new"} <= set(seen)
    assert set(seen.values()) == {0o600}
    assert [0o600, 0o600] == [
        stat.S_IMODE(each.stat().st_mode) for each in (backup, cared_for.config)
    ]


def test_an_upgrade_that_was_interrupted_is_done_again(cared_for, monkeypatch):
    """It fails while it copies: the older plugin stands whole, and the way out still leads to the config as it was."""
    install.into(ROOT, cared_for, Terminal(), yes=True)
    (cared_for.plugin / "README.md").write_text("older")
    copytree = shutil.copytree

    def full(source, *given, **more):
        if Path(source).name == "docs":
            raise OSError(28, "No space left on device")
        return copytree(source, *given, **more)

    monkeypatch.setattr(shutil, "copytree", full)
    with pytest.raises(OSError, match="No space"):
        install.into(ROOT, cared_for, Terminal(), yes=True)
    monkeypatch.setattr(shutil, "copytree", copytree)
    assert (cared_for.plugin / "README.md").read_text() == "older"
    assert {each.name for each in cared_for.plugin.iterdir()} == {*files.plugin_parts(ROOT)}
    install.into(ROOT, cared_for, Terminal(), yes=True)
    assert files.same_plugin(ROOT, cared_for.plugin)
    install.out_of(cared_for, Terminal(), yes=True)
    assert cared_for.config.read_text() == CARED_FOR


def test_a_first_installation_that_was_interrupted_is_done_again(cared_for, monkeypatch):
    """It fails before it writes the config; what somebody writes there meanwhile is what the way out leads back to."""
    monkeypatch.setattr(install, "_write_config", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        install.into(ROOT, cared_for, Terminal(), yes=True)
    monkeypatch.undo()
    changed = f"{CARED_FOR}# mine\n"
    cared_for.config.write_text(changed)
    monkeypatch.setattr(install, "unmet", lambda *_: [])
    install.into(ROOT, cared_for, Terminal(), yes=True)
    install.out_of(cared_for, Terminal(), yes=True)
    assert cared_for.config.read_text() == changed
