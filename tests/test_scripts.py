"""The scripts a newcomer and the CI start, as far as they need no Hermes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from lcm.demo import environment, story
from lcm.demo.environment import Trouble
from lcm.demo.files import copy_plugin, plugin_parts
from lcm.demo.install import find_home
from lcm.demo.model import Call, Reply, Script, Turn
from lcm.demo.terminal import progress_line

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "scripts"


def run(*command, **more):
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        stdin=subprocess.DEVNULL,
        **more,
    )


@pytest.mark.parametrize("name", ["quickstart", "test", "check", "lcm"])
def test_scripts_explain_themselves(name):
    """--help says what a script does and changes nothing."""
    done = run(SCRIPTS / name, "--help", env={"PATH": "/usr/bin:/bin", "PYTHON": sys.executable})
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout


def test_ci_runs_scripts_test_and_nothing_else():
    """What CI does is what anybody can do with one command."""
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert lines[0].startswith("#!")
    assert [line for line in lines[1:] if line] == ['exec "$(dirname "$0")/../scripts/test"']
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_an_unsuitable_python_is_refused_in_words(tmp_path):
    """Without a Python from 3.11 to 3.13 the script says which ones it takes."""
    old = tmp_path / "python-old"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    done = run(SCRIPTS / "test", env={"PATH": os.environ["PATH"], "PYTHON": str(old)})
    assert done.returncode == 1
    assert "3.11" in done.stderr


def test_a_python_without_venv_gets_the_apt_line(tmp_path):
    """Debian's bare python3 has no venv; the script says how to get it."""
    bare = tmp_path / "python-bare"
    bare.write_text(f'#!/bin/sh\ncase "$2" in *venv*) exit 1;; esac\nexec {sys.executable} "$@"\n')
    bare.chmod(0o755)
    done = run(SCRIPTS / "quickstart", env={"PATH": os.environ["PATH"], "PYTHON": str(bare)})
    assert done.returncode == 1
    assert "apt-get install -y python3-venv" in done.stderr


def test_an_installed_plugin_is_the_rooms_and_the_manifest(tmp_path):
    """Nothing of tests, scripts or this demonstration gets into a home; every room does."""
    copy_plugin(ROOT, tmp_path / "lcm")
    names = {path.name for path in (tmp_path / "lcm").iterdir()}
    assert names == set(plugin_parts(ROOT))
    assert {"__init__.py", "plugin.yaml", "storage", "dag", "tools", "console", "host"} <= names
    assert not {"tests", "demo", "scripts", "benchmarks"} & names
    prompts = {path.name for path in (ROOT / "dag").glob("*.yaml")}
    assert prompts == {path.name for path in (tmp_path / "lcm" / "dag").glob("*.yaml")}


def test_an_older_copy_leaves_nothing_behind(tmp_path):
    """A file that a new version no longer has is gone after it is installed again."""
    copy_plugin(ROOT, tmp_path / "lcm")
    (tmp_path / "lcm" / "dag" / "left_over.py").touch()
    copy_plugin(ROOT, tmp_path / "lcm")
    assert not (tmp_path / "lcm" / "dag" / "left_over.py").exists()


def test_a_link_to_a_clone_is_replaced_and_the_clone_is_not(tmp_path):
    """Who linked plugins/lcm to a clone keeps the clone."""
    clone = tmp_path / "clone"
    clone.mkdir()
    (clone / "precious").touch()
    (tmp_path / "lcm").symlink_to(clone)
    copy_plugin(ROOT, tmp_path / "lcm")
    assert (clone / "precious").exists()
    assert not (tmp_path / "lcm").is_symlink()


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """An environment without pip, with a package called hermes_cli."""
    folder = tmp_path_factory.mktemp("hermes") / "environment"
    venv.create(folder, with_pip=False)
    site = next(folder.glob("lib/python3*/site-packages"))
    (site / "hermes_cli.py").touch()
    return folder


def hermes_at(folder, text):
    script = folder / "hermes"
    script.write_text(text)
    script.chmod(0o755)


@pytest.mark.parametrize(
    "text",
    [
        "#!{python}\nimport hermes_cli\n",
        "#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n",
        '#!/usr/bin/env bash\nexec "{folder}/bin/hermes" "$@"\n',
    ],
    ids=["shebang", "long-shebang", "wrapper"],
)
def test_the_python_of_a_hermes_is_found(bare, tmp_path, monkeypatch, text):
    """Behind a first line, pip's form of a long one, and an installer's wrapper script."""
    python = bare / "bin" / "python"
    hermes_at(tmp_path, text.format(python=python, folder=bare))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert environment.python_of_hermes(None) == python


def test_the_python_of_a_linked_hermes_is_found(bare, tmp_path, monkeypatch):
    """~/.local/bin/hermes is often a link into the environment."""
    hermes_at(bare / "bin", f"#!{bare}/bin/python\n")
    (tmp_path / "hermes").symlink_to(bare / "bin" / "hermes")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert environment.python_of_hermes(None) == bare / "bin" / "python"


def test_the_hermes_of_the_demonstration_is_nobodys_own(bare, tmp_path, monkeypatch):
    """It is first on PATH in a shell that looked around: passed over, refused alone, right for its own home."""
    ours, own, home = tmp_path / ".venvs", tmp_path / "own", tmp_path / "home"
    for folder in (ours / "quickstart" / "bin", ours / "quickstart-home", own, home):
        folder.mkdir(parents=True)
    python = bare / "bin" / "python"
    (ours / "quickstart" / "bin" / "python").symlink_to(python)
    demonstrations = ours / "quickstart" / "bin" / "python"
    hermes_at(ours / "quickstart" / "bin", f"#!{demonstrations}\nimport hermes_cli\n")
    monkeypatch.setattr(environment, "runs_hermes", lambda path: path in (python, demonstrations))
    monkeypatch.setenv("PATH", f"{ours / 'quickstart' / 'bin'}:{own}")
    with pytest.raises(Trouble, match=r"the demonstration's .*new shell.*--python"):
        find_home(str(home), None, ours)
    assert find_home(str(ours / "quickstart-home"), None, ours).python == demonstrations
    hermes_at(own, f"#!{python}\nimport hermes_cli\n")
    assert find_home(str(home), None, ours).python == python
    assert find_home(str(home), str(demonstrations), ours).python == demonstrations


def test_where_there_is_no_hermes_it_says_what_to_do(tmp_path, monkeypatch):
    """No guess, but the option that helps."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Trouble, match="--python"):
        environment.python_of_hermes(None)
    with pytest.raises(Trouble, match="hermes_cli"):
        environment.python_of_hermes(sys.executable)


def test_an_environment_without_pip_gets_it_or_uses_uv(bare, tmp_path, monkeypatch):
    """uv where it is on PATH, else ensurepip brings pip back; everything is missing there."""
    python = bare / "bin" / "python"
    wanted = environment.requirements(ROOT)
    assert environment.unmet(python, wanted) == wanted
    monkeypatch.setenv("PATH", str(tmp_path))
    first, second = environment.installer(python)
    assert first[1:] == ["-m", "ensurepip", "--default-pip"]
    assert second[1:4] == ["-m", "pip", "install"]
    assert environment.uninstaller(python, wanted[-1:]).startswith(f"{python} -m pip uninstall ")
    uv = tmp_path / "uv"
    shutil.copy("/bin/true", uv)
    assert environment.installer(python) == [[str(uv), "pip", "install", "--python", str(python)]]


def test_what_is_installed_is_not_missing():
    """In this environment nothing that pyproject.toml asks for is missing."""
    assert environment.unmet(Path(sys.executable), environment.requirements(ROOT)) == []


def test_the_story_hides_one_fact_and_asks_for_it():
    """Said once on the first day, asked for in the last turn, and in no file."""
    turns = story.turns()
    holding = [n for n, turn in enumerate(turns) if story.ODD_FACT in turn.user]
    assert holding == [1]
    assert turns[-1].user == story.ODD_QUESTION
    assert len(turns) >= 60


def test_the_story_is_the_same_every_time(tmp_path):
    """Generated, and yet the same bytes: a failure can be looked at again."""
    for name in ("one", "two"):
        story.lay_out(tmp_path / name)
    one, two = (
        {p.relative_to(base): p.read_bytes() for p in base.rglob("*") if p.is_file()}
        for base in (tmp_path / "one", tmp_path / "two")
    )
    assert one == two
    assert len(one) > 30


def test_the_scripted_model_keeps_its_place():
    """Steps follow each other, identical texts are different turns, a retry gets the same reply."""
    look = Reply(calls=(Call("look", {"at": "sea"}),))
    script = Script(
        [
            Turn("ok", (Reply("one"),)),
            Turn("ok", (Reply("two"),)),
            Turn("sea", (look, Reply("calm"))),
        ]
    )
    rows = [{"role": "user", "content": "ok"}]
    assert script.answer(rows).text == "one"
    assert script.answer(list(rows)).text == "one"
    rows += [{"role": "assistant", "content": "one"}, {"role": "user", "content": "ok"}]
    assert script.answer(rows).text == "two"
    assert script.unsaid() == ["sea"]
    rows += [{"role": "assistant", "content": "two"}, {"role": "user", "content": "note\n\nsea"}]
    assert script.answer(rows) == look
    assert script.answer([*rows, {"role": "tool", "content": "blue"}]).text == "calm"
    assert script.unsaid() == []


def test_lcm_from_a_clone_names_everything_that_is_missing(tmp_path):
    """A Python without the dependencies is passed over, and the line that helps names all of them."""
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    clone = tmp_path / "clone"
    (clone / "scripts").mkdir(parents=True)
    shutil.copy(SCRIPTS / "lcm", clone / "scripts" / "lcm")
    done = run(clone / "scripts" / "lcm", "status", env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert done.returncode == 1
    for wanted in environment.requirements(ROOT):
        assert wanted.partition(">")[0] in done.stderr


def test_lcm_explains_itself_before_anything_is_installed(bare):
    """Help needs a Python and nothing else, for the whole and for a verb."""
    surroundings = {"PATH": "/usr/bin:/bin", "PYTHON": str(bare / "bin" / "python")}
    for asked in (["--help"], ["tree", "--help"]):
        done = run(SCRIPTS / "lcm", *asked, env=surroundings)
        assert done.returncode == 0, done.stderr
        assert "usage: lcm" in done.stdout


@pytest.mark.parametrize("name", ["quickstart", "test", "lcm"])
def test_a_python_that_is_not_there_is_named(name):
    """PYTHON is honoured by every script, and a wrong one is said to be wrong."""
    done = run(SCRIPTS / name, env={"PATH": os.environ["PATH"], "PYTHON": "/no/python"})
    assert done.returncode == 1
    assert "PYTHON=/no/python: there is no such program" in done.stderr


def test_lcm_uses_the_python_it_is_told_to(bare):
    """One without the packages is not passed over in silence."""
    python = bare / "bin" / "python"
    done = run(SCRIPTS / "lcm", "status", env={"PATH": os.environ["PATH"], "PYTHON": str(python)})
    assert done.returncode == 1
    assert f"PYTHON={python}" in done.stderr
    assert "networkx" in done.stderr


def test_lcm_says_how_to_name_a_python(bare, tmp_path):
    """In a clone without environments, where no Python has what it needs: the one that runs Hermes can be named."""
    clone = tmp_path / "clone"
    (clone / "scripts").mkdir(parents=True)
    shutil.copy(SCRIPTS / "lcm", clone / "scripts" / "lcm")
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "python3").symlink_to(bare / "bin" / "python")
    for name in ("sh", "dirname", "readlink", "sed"):
        (tools / name).symlink_to(shutil.which(name))
    done = run(clone / "scripts" / "lcm", "status", env={"PATH": str(tools)})
    assert done.returncode == 1
    assert "PYTHON=/path/to/the/python scripts/lcm" in done.stderr


def test_a_clone_in_a_folder_with_a_blank(tmp_path):
    """lcm finds the environments of its own clone, and the Python of a `hermes` there; PYTHON may have a blank, too."""
    clone = tmp_path / "my clones" / "lcm"
    shutil.copytree(SCRIPTS, clone / "scripts")
    place = clone / ".venvs" / "quickstart" / "bin"
    place.mkdir(parents=True)
    python = place / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (clone / "scripts" / "run.py").write_text("import sys\nprint('ran', *sys.argv[1:])\n")
    usual = "/usr/bin:/bin"
    done = run(clone / "scripts" / "lcm", "status", env={"PATH": usual})
    assert "ran console.cli status\n" == done.stdout, done.stderr
    done = run(clone / "scripts" / "quickstart", env={"PATH": usual, "PYTHON": str(python)})
    assert "ran demo.quickstart\n" == done.stdout, done.stderr
    python.rename(place / "python of hermes")
    (tmp_path / "tools").mkdir()
    hermes = tmp_path / "tools" / "hermes"
    hermes.write_text(f"#!/bin/sh\n'''exec' \"{place}/python of hermes\" \"$0\" \"$@\"\n' '''\n")
    hermes.chmod(0o755)
    done = run(clone / "scripts" / "lcm", "status", env={"PATH": f"{tmp_path / 'tools'}:{usual}"})
    assert "ran console.cli status\n" == done.stdout, done.stderr


def test_the_seconds_are_never_cut():
    """In 80 columns and in 20 a line fits, and what moves is at its end."""
    label = "Hermes, in .venvs/quickstart"
    assert progress_line(label, "", 3.2, 79) == f"{label}: working (3 s)"
    for width in (79, 20):
        line = progress_line(label, "Installing collected packages: " + "x" * 40, 117, width)
        assert len(line) == width
        assert line.endswith("… (117 s)")
