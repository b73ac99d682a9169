"""What `scripts/quickstart --into` writes down of what was there before, and what becomes of it."""

from __future__ import annotations

import json
import shlex
import shutil
import stat
import subprocess
import venv
import zipfile
from functools import partial
from pathlib import Path

import pytest
from hostkit.host import ROOT
from lcm.demo import environment, install
from lcm.demo.terminal import Terminal

BEFORE = "model:\n  default: mine   # in the cellar\n"
slow = partial(pytest.param, marks=pytest.mark.slow)
NEVER = "Hermes will never ask any engine to compact"


@pytest.fixture
def home(tmp_path):
    """A home with a config in which there is nothing of ours."""
    (tmp_path / "config.yaml").write_text(BEFORE)
    return tmp_path


def record_of(home):
    return home / "lcm-installed.json"


def note(home, **more):
    """Change what is written down."""
    record_of(home).write_text(json.dumps({**json.loads(record_of(home).read_text()), **more}))


def test_a_repair_does_not_forget_what_was_before(quickstart, home):
    """The plugin's folder is lost, and the database's; installed again it still leads back, byte for byte."""
    quickstart("--into", home, "--yes")
    note(home, packages=["rapidfuzz>=3.9"])
    (home / "lcm").mkdir()
    for lost in ("plugins/lcm", "lcm"):
        shutil.rmtree(home / lost)
        quickstart("--into", home, "--yes")
    said = quickstart("--out-of", home, "--yes")
    assert BEFORE == (home / "config.yaml").read_text()
    assert " uninstall " in said and said.count("rapidfuzz") == 1
    assert not record_of(home).exists()
    assert "It is not installed there." in quickstart("--out-of", home, "--yes")
    assert BEFORE == (home / "config.yaml").read_text()


@pytest.mark.slow
def test_a_repair_of_a_config_that_was_edited_since(quickstart, home):
    """The keys that were not there before are not there afterwards; what somebody wrote stays."""
    quickstart("--into", home, "--yes")
    shutil.rmtree(home / "plugins" / "lcm")
    with (home / "config.yaml").open("a") as config:
        config.write("added: later\n")
    quickstart("--into", home, "--yes")
    quickstart("--out-of", home, "--yes")
    assert f"{BEFORE}added: later\n" == (home / "config.yaml").read_text()


@pytest.mark.slow
def test_without_a_record_nothing_is_claimed(quickstart, home):
    """An installation of which nothing is written down is taken out all the same, at once, and without a guess."""
    quickstart("--into", home, "--yes")
    record_of(home).unlink()
    shutil.rmtree(home / "plugins" / "lcm")
    quickstart("--into", home, "--yes")
    said = quickstart("--out-of", home, "--yes")
    assert "lcm" not in (home / "config.yaml").read_text()
    assert "What it said before lcm came is written down nowhere." in said
    assert "- the packages in Hermes's Python\n" in said
    assert "already" not in said
    assert "It is not installed there." in quickstart("--out-of", home, "--yes")


@pytest.mark.slow
def test_the_record_of_an_older_version_counts(quickstart, home):
    """It lay in the plugin's folder; an upgrade takes it over, and so does the way out."""
    quickstart("--into", home, "--yes")
    older = home / "plugins" / "lcm" / "installed.json"
    record_of(home).rename(older)
    quickstart("--into", home, "--yes")
    assert record_of(home).exists() and not older.exists()
    record_of(home).rename(older)
    quickstart("--out-of", home, "--yes")
    assert BEFORE == (home / "config.yaml").read_text()


def test_the_record_is_for_its_owner_alone(quickstart, home):
    """Mode 0600, as what it tells of."""
    quickstart("--into", home, "--yes")
    assert 0o600 == stat.S_IMODE(record_of(home).stat().st_mode)


@pytest.mark.slow
def test_the_way_out_names_the_packages_that_came(quickstart, host, home):
    """With the line that takes them out; of a home where none came that is said, and a second time nothing is left."""
    quickstart("--into", home, "--yes")
    assert json.loads(record_of(home).read_text())["packages"] == []
    note(home, packages=["rapidfuzz>=3.9", "sqlite-utils>=4,<5"])
    quickstart("--into", home, "--yes")
    said = quickstart("--out-of", home, "--yes")
    assert f"Removed {home / 'plugins' / 'lcm'}" in said
    (line,) = [each for each in said.splitlines() if " uninstall " in each]
    assert str(host.python) in line and line.endswith(" rapidfuzz sqlite-utils")
    assert "It is not installed there." in quickstart("--out-of", home, "--yes")
    quickstart("--into", home, "--yes")
    assert "they were there already" in quickstart("--out-of", home, "--yes")


def wheel(folder, name, version="1", needs=""):
    """A package that can be installed, with nothing in it."""
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        needed = f"Requires-Dist: {needs}\n" if needs else ""
        head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needed}"
        file.writestr(f"{info}/METADATA", head)
        file.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{info}/RECORD", "")


@pytest.mark.slow
def test_what_came_with_a_package_is_taken_out_with_it(host, home, tmp_path, monkeypatch, capsys):
    """All that is new, and nothing that was there: after the printed line that Python has what it had."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    wheel(tmp_path, "wanted", needs="brought_along")
    wheel(tmp_path, "brought_along", needs="older>=2")
    wheel(tmp_path, "older", "1")
    wheel(tmp_path, "older", "2")
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    environment.install(python, ["older==1"], lambda _: None)
    before = environment.installed(python)
    monkeypatch.setattr(install, "unmet", lambda *_: ["wanted>=1"])
    hermes = install.Home(home, Path(host.python))
    monkeypatch.setattr(install, "bring", lambda _, *more: environment.bring(python, *more))
    install.into(ROOT, hermes, Terminal(), yes=True)
    assert json.loads(record_of(home).read_text())["packages"] == ["brought-along", "wanted"]
    monkeypatch.setattr(
        install, "uninstaller", lambda _, names: environment.uninstaller(python, names)
    )
    capsys.readouterr()
    install.out_of(hermes, Terminal(), yes=True)
    (line,) = [each for each in capsys.readouterr().out.splitlines() if " uninstall " in each]
    subprocess.run(shlex.split(line), input=b"y\ny\n", check=True, capture_output=True)
    assert environment.installed(python) == before


def test_the_record_of_an_older_version_and_what_came_since_are_one_line(quickstart, home):
    """Requirements and names are each named once; pip, where it came too, is needed until the last."""
    quickstart("--into", home, "--yes")
    note(home, packages=["sqlite-utils>=4,<5", "pip", "Rapid.Fuzz>=3.9", "rapid-fuzz", "tabulate"])
    said = quickstart("--out-of", home, "--yes")
    (line,) = [each for each in said.splitlines() if " uninstall " in each]
    assert line.endswith(" sqlite-utils rapid-fuzz tabulate pip")


def test_what_was_taken_out_by_hand_is_told_of(quickstart, home):
    """Folder and entries are gone: the packages that came are still named, once."""
    quickstart("--into", home, "--yes")
    note(home, packages=["rapidfuzz>=3.9"])
    shutil.rmtree(home / "plugins" / "lcm")
    (home / "config.yaml").write_text(BEFORE)
    assert " uninstall " in quickstart("--out-of", home, "--yes")
    assert "It is not installed there." in quickstart("--out-of", home, "--yes")


@pytest.mark.slow
@pytest.mark.parametrize("text", ['{"engine": nu', "[]"])
@pytest.mark.parametrize("way", ["--into", "--out-of"])
@pytest.mark.parametrize("place", ["lcm-installed.json", "plugins/lcm/installed.json"])
def test_a_record_that_is_cut_is_said_to_be_so(quickstart, home, way, text, place):
    """Nothing is changed, and it is said what to do; after that it works."""
    quickstart("--into", home, "--yes")
    record_of(home).unlink()
    record, readme = home / place, home / "plugins" / "lcm" / "README.md"
    record.write_text(text)
    readme.write_text("older")
    said = quickstart(way, home, "--yes", code=1, said="stderr")
    assert "Traceback" not in said
    assert f"{record}, which says what the config was before lcm came, cannot be read" in said
    assert readme.read_text() == "older"
    record.unlink()
    quickstart(way, home, "--yes")


@pytest.mark.parametrize(
    ("text", "never"),
    [
        ("compression: {enabled: false}\n", True),
        slow("compression:\n  enabled: off\n", True),
        slow("compression:\n  enabled:\n", True),
        slow("compression:\n  threshold: 0.5\n", False),
        slow("compression: {enabled: yes}\n", False),
        slow("compression: false\n", False),  # hosts take what is no mapping for nothing
        ("", False),
    ],
)
def test_where_hermes_never_compacts_it_is_said(quickstart, home, text, never):
    """Each time, with the line that switches it on; it is not changed unasked."""
    (home / "config.yaml").write_text(BEFORE + text)
    for _ in ("installed", "installed already"):
        said = quickstart("--into", home, "--yes")
        assert never is (NEVER in said)
        assert never is ("`enabled: true` under `compression:`" in said)
    assert (home / "config.yaml").read_text().startswith(BEFORE + text)
