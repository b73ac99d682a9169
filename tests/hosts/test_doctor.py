"""The doctor beside the real hosts: what it says of a home is what an agent in that home really gets."""

from __future__ import annotations

import json
import shutil
import sys

import pytest
import yaml
from hostkit.host import ROOT
from lcm.demo.model import Reply, Script, ScriptedModel, Turn
from test_ways_in import OTHER_ENGINE

pytestmark = pytest.mark.slow

HELLO = Turn("Hello, who keeps the log?", (Reply("The keeper does."),))

#: A Python in which a package cannot be found: what a forgotten `pip install` looks like.
HIDDEN = """
import importlib.util
_find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "rapidfuzz" else _find(name, package)
"""


@pytest.fixture
def model():
    with ScriptedModel(Script([HELLO, HELLO])) as server:
        yield server


@pytest.fixture
def home(make_home, model):
    made = make_home(model.url)
    made.install()
    return made


def from_outside(home):
    """scripts/lcm doctor on that home, in the Python of the tests: (exit code, what is wrong by name).

    The `hermes` on PATH is the one that runs it.
    """
    program = [sys.executable, str(ROOT / "scripts" / "run.py"), "console.cli"]
    path = f"{home.host.hermes.parent}:/usr/bin:/bin"
    done = home.run([*program, "--home", str(home.path), "doctor", "--json"], PATH=path)
    return done.returncode, wrong_in(done.stdout)


def from_inside(home):
    """`hermes lcm doctor` there."""
    done = home.hermes("lcm", "doctor", "--json")
    return done.returncode, wrong_in(done.stdout)


def wrong_in(text):
    checks = json.loads(text[text.index("{") :])["checks"]
    return {check["name"]: check for check in checks if check["state"] == "wrong"}


def engine_of(home):
    """Which engine an agent gets."""
    return home.drive("converse", {"turns": [HELLO.user]})["engine"]


def test_a_home_that_works_has_nothing_wrong(home):
    """HOST-02: an agent gets lcm, and the doctor finds no fault: asked in that Hermes, and from outside."""
    assert engine_of(home) == "lcm"
    assert from_inside(home) == (0, {})
    assert from_outside(home) == (0, {})


def not_selected(home):
    home.config["context"] = {}


def not_enabled(home):
    home.config["plugins"]["enabled"] = []


def disabled(home):
    home.config["plugins"]["disabled"] = ["lcm"]


def no_package(home):
    folder = home.folder / "hidden"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HIDDEN)
    home._python_path.append(str(folder))


def no_manifest(home):
    (home.path / "plugins" / "lcm" / "plugin.yaml").unlink()


def another_folder(home):
    (home.path / "plugins" / "lcm").rename(home.path / "plugins" / "hermes-lcm")


def another_kind(home):
    """What hosts guess from words in the code where the manifest names no kind."""
    manifest = home.path / "plugins" / "lcm" / "plugin.yaml"
    manifest.write_text(manifest.read_text().replace("kind: standalone\n", "kind: exclusive\n"))


def safe_mode(home):
    home.variables["HERMES_SAFE_MODE"] = "1"


def safe_mode_in_env(home):
    (home.path / ".env").write_text("HERMES_SAFE_MODE=1\n")


def broken_manifest(home):
    (home.path / "plugins" / "lcm" / "plugin.yaml").write_text(
        "name: lcm\nkind: standalone\ntags: ["
    )


def another_name(home):
    manifest = home.path / "plugins" / "lcm" / "plugin.yaml"
    manifest.write_text(manifest.read_text().replace("name: lcm\n", "name: lossless\n"))


def changed(home, name, old, new):
    module = home.path / "plugins" / "lcm" / name
    text = module.read_text()
    assert old in text
    module.write_text(text.replace(old, new, 1))


def cut_off(home):
    """A copy that was interrupted: register() raises, and the host logs that where nobody looks."""
    module = home.path / "plugins" / "lcm" / "host" / "engine.py"
    module.write_text(module.read_text()[:9000])


def room_missing(home):
    shutil.rmtree(home.path / "plugins" / "lcm" / "storage")


def not_copied(home):
    """An engine that cannot be copied for an agent."""
    begin = "    def clone_for_agent(self) -> LCMEngine:\n"
    changed(home, "host/engine.py", begin, f"{begin}        raise RuntimeError('not today')\n")


def rival(home):
    """Another plugin that brings an engine, and is loaded first."""
    other = home.path / "plugins" / "aa_other"
    other.mkdir()
    (other / "plugin.yaml").write_text("name: aa_other\nversion: 0.1.0\nkind: standalone\n")
    (other / "__init__.py").write_text(OTHER_ENGINE)
    home.config["plugins"]["enabled"] = ["lcm", "aa_other"]


#: What makes a host fall back in silence, and the check that names it.
CAUSES = {
    not_selected: "engine",
    not_enabled: "enabled",
    disabled: "enabled",
    no_package: "dependencies",
    no_manifest: "plugin",
    broken_manifest: "plugin",
    another_name: "plugin",
    another_kind: "plugin",
    safe_mode: "safe mode",
    safe_mode_in_env: "safe mode",
    cut_off: "load",
    room_missing: "load",
    not_copied: "load",
    rival: "rival",
}
#: What the newer host takes the engine in spite of; most of it keeps hooks and commands out.
NEWER_LOADS_IT = (
    not_enabled, disabled, no_manifest, broken_manifest, another_name, another_kind, safe_mode,
    safe_mode_in_env, not_copied, rival,
)  # fmt: skip


@pytest.mark.parametrize("cause", CAUSES)
def test_a_silent_fallback_is_found_and_its_cause_named(home, cause):
    """HOST-02: an agent that gets Hermes's own compressor is one of a home in which the doctor says why."""
    cause(home)
    served = engine_of(home)
    assert (served == "lcm") is (home.host.is_new and cause in NEWER_LOADS_IT)
    code, wrong = from_outside(home)
    assert code == 1
    assert CAUSES[cause] in wrong
    assert set(wrong) <= {CAUSES[cause], "log"}
    assert all(check["remedy"] for check in wrong.values())


def test_another_name_of_the_folder_stops_nothing(home):
    """Both hosts go by the manifest: the agent gets lcm, and the doctor only mentions it."""
    another_folder(home)
    assert engine_of(home) == "lcm"
    assert from_outside(home) == (0, {})


def test_asked_in_hermes_it_tells_which_engine_it_gives(home):
    """HOST-02: `hermes lcm doctor` asks the host as an agent does, and says so when it is another one."""
    assert engine_of(home) == "lcm"
    home.config["context"] = {"engine": "compressor"}
    code, wrong = from_inside(home)
    assert code == 1
    assert {"engine", "served by"} <= wrong.keys()
    assert "compressor" in wrong["served by"]["said"]


def test_a_broken_database_is_found_and_stops_nothing(home):
    """HOST-04: the turn goes through; the doctor, asked in Hermes, says what is wrong and what to do."""
    home.database.parent.mkdir(parents=True)
    home.database.write_text("This is no database. " * 400)
    before = home.database.read_bytes()
    result = home.drive("converse", {"turns": [HELLO.user]})
    assert result["turns"][-1]["final"] == "The keeper does."
    assert result["engine"] == "lcm"
    code, wrong = from_inside(home)
    assert code == 1
    assert "no SQLite database" in wrong["database"]["said"]
    assert home.database.read_bytes() == before
    assert "lcm: " in home.log()


def test_a_saved_list_of_toolsets_keeps_the_tools(home, model):
    """HOST-07: a list saved before the plugin came hides none of its tools; an empty one does, and is named."""
    home.config["platform_toolsets"] = {"cli": ["terminal", "file"]}
    home.hermes("-z", HELLO.user)
    assert "lcm_grep" in model.spoken[-1].tools
    home.config["platform_toolsets"] = {"cli": []}
    checks = json.loads(home.hermes("lcm", "doctor", "--json").stdout)["checks"]
    assert [check["name"] for check in checks if check["state"] == "note"].count("tools") == 1


def test_what_the_doctor_prints_is_json_alone(home):
    """HOST-10: standard output of a --json command holds nothing of the plugin's loading."""
    for verb in ("status", "doctor"):
        assert json.loads(home.hermes("lcm", verb, "--json").stdout)


def as_hermes_left_it(home):
    """Take over what was written into the config of *home*."""
    home.config = yaml.safe_load((home.path / "config.yaml").read_text())


def by_hand(home):
    """Write the lines that the doctor prints."""
    section = yaml.safe_load("\n".join(from_outside(home)[1]["enabled"]["lines"]))["plugins"]
    home.config["plugins"].update(section)


def by_the_installer(home):
    """Run the command that the doctor names."""
    remedy = from_outside(home)[1]["enabled"]["remedy"]
    command = f"scripts/quickstart --into {home.path}"
    assert f"`{command}`" in remedy
    words = [*command.split(), "--yes", "--python", str(home.host.python)]
    done = home.run([str(ROOT / words[0]), *words[1:]])
    assert done.returncode == 0, done.stdout + done.stderr
    as_hermes_left_it(home)


@pytest.mark.parametrize("way", [by_hand, by_the_installer])
def test_what_hermes_disabled_is_on_again_after_one_remedy(home, way):
    """`hermes plugins disable lcm` takes two entries to undo: both are told at once, and each way does it."""
    if home.host.is_new:  # whose command downloads a Python of its own; it writes the same
        home.config["plugins"] = {"enabled": [], "disabled": ["lcm"]}
    else:
        home.hermes("plugins", "disable", "lcm")
        as_hermes_left_it(home)
    assert home.config["plugins"]["disabled"] == ["lcm"]
    assert list(from_outside(home)[1]) == ["enabled"]
    way(home)
    assert from_outside(home) == (0, {})
    assert engine_of(home) == "lcm"
