"""The three ways into a Hermes, and the menu that lists what is there."""

from __future__ import annotations

import pytest
import yaml
from hostkit import Way
from hostkit.host import ROOT
from lcm.demo.model import Reply, Script, ScriptedModel, Turn

pytestmark = pytest.mark.slow

HELLO = Turn("Hello, who keeps the log?", (Reply("The keeper does."),))


@pytest.fixture
def model():
    with ScriptedModel(Script([HELLO])) as server:
        yield server


@pytest.fixture
def home(make_home, model, host):
    home = make_home(model.url)
    with host.unchanged():  # other tests go from one host to the other
        yield home
        host.clean()


@pytest.mark.parametrize("way", list(Way), ids=lambda way: way.name.lower())
def test_the_engine_comes_in_by_every_way(home, way):
    """HOST-03: from each of the three places the agent gets our engine, tools included."""
    home.install(way)
    result = home.drive("converse", {"turns": [HELLO.user]})
    assert result["engine"] == "lcm"
    assert "lcm_grep" in result["tools"]
    assert home.database.exists()


@pytest.mark.parametrize("way", list(Way), ids=lambda way: way.name.lower())
def test_the_menu_lists_the_engine(home, way):
    """`hermes plugins` shows lcm among the context engines, as the current one.

    For a plugin that registered itself the host shows words of its own in place of the
    description; where it reads the manifest, it is the manifest's.
    """
    home.install(way)
    menu = home.drive("menu", {})
    manifest = yaml.safe_load((ROOT / "plugin.yaml").read_text(encoding="utf-8"))
    assert menu["current"] == "lcm"
    described = dict(menu["engines"])["lcm"]
    by_manifest = way is Way.HOST or (way is Way.HOME and home.host.is_new)
    assert described == (manifest["description"] if by_manifest else "installed plugin")
    assert not home.database.parent.exists()


def test_the_newer_host_needs_no_plugins_enabled(home):
    """The engine alone works there without it; the older one needs both lines."""
    home.install()
    home.config["plugins"]["enabled"] = []
    result = home.drive("converse", {"turns": [HELLO.user]})
    assert (result["engine"] == "lcm") is home.host.is_new


def test_the_commands_come_with_it(home):
    """`hermes lcm status` is there once the plugin is enabled, before any session was."""
    home.install()
    done = home.hermes("lcm", "status")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert not home.database.exists()


def test_a_mistyped_option_is_answered_with_our_own_usage(home):
    """Not with that of the host, in which nothing of ours stands; the nearest option is named."""
    home.install()
    done = home.hermes("lcm", "why", "--sesion", "x")
    assert done.returncode == 2 and done.stderr.startswith("usage: hermes lcm why")
    assert "Did you mean --session?" in done.stderr


def test_hermes_itself_installs_it(home):
    """`hermes plugins install` takes the repository; only the older host can do it offline."""
    if home.host.is_new:
        pytest.skip("the newer host downloads a Python of its own before it installs anything")
    done = home.hermes("plugins", "install", f"file://{ROOT}", "--enable")
    assert done.returncode == 0, done.stdout + done.stderr
    assert home.drive("converse", {"turns": [HELLO.user]})["engine"] == "lcm"


def test_a_second_engine_does_not_push_ours_out(home):
    """Another plugin that registers an engine changes nothing, and the log names the active one."""
    home.install()
    other = home.path / "plugins" / "zz_other"
    other.mkdir()
    (other / "plugin.yaml").write_text("name: zz_other\nversion: 0.1.0\nkind: standalone\n")
    (other / "__init__.py").write_text(OTHER_ENGINE)
    home.config["plugins"]["enabled"] = ["lcm", "zz_other"]
    assert home.drive("converse", {"turns": [HELLO.user]})["engine"] == "lcm"
    assert "lcm" in home.log()


def test_a_host_that_meets_the_plugin_twice_warns_of_nothing(home):
    """As a plugin and as the engine: `/lcm` is offered once, and no log says that it was there already."""
    home.install()
    home.drive("converse", {"turns": [HELLO.user]})
    assert "already registered" not in home.log()


OTHER_ENGINE = """
from agent.context_engine import ContextEngine


class Other(ContextEngine):
    name = "zz_other"

    def update_from_response(self, usage):
        pass

    def should_compress(self, prompt_tokens=None):
        return False

    def compress(self, messages, current_tokens=None, **kwargs):
        return messages


def register(ctx):
    ctx.register_context_engine(Other())
"""
