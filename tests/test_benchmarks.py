"""The benchmarks run, and what they measure was done; what the figures are is no matter here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def run(*arguments):
    """The benchmarks as a user starts them."""
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(name="told", scope="module")
def _told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("benchmarks")
    file = folder / "figures.json"
    small = ("--sizes", "120", "--stored", "240", "--runs", "1")
    done = run("all", *small, "--json", str(file), "--folder", str(folder))
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(file.read_text(encoding="utf-8")), folder


def test_every_group_gives_figures(told):
    """``all`` measures what each group measures, and nothing it measures is nothing."""
    _, data, _ = told
    assert {"ingest", "turn", "compress", "memory", "verify"} == {
        each["group"] for each in data["figures"]
    }
    timed = [each for each in data["figures"] if each["unit"] != "MB"]
    assert all(each["ours"] > 0 for each in timed)


def test_figures_stand_beside_a_floor(told):
    """Without the bare script's figure from the same run, a figure says nothing about us."""
    _, data, _ = told
    alone = [each["name"] for each in data["figures"] if each["floor"] is None]
    assert all("first in a process" in name for name in alone)
    assert len(alone) < len(data["figures"])


def test_table_says_what_was_measured_where(told):
    """A reader sees machine, versions, method and every figure."""
    text, data, _ = told
    for name in ("processor", "Python", "SQLite", "method", "commit"):
        assert f"{name}: {data['machine'][name]}" in text
    assert all(f"| {each['name']} |" in text for each in data["figures"])


def test_databases_are_removed(told):
    """A run leaves nothing behind but the file it was asked for."""
    _, _, folder = told
    assert ["figures.json"] == [path.name for path in folder.iterdir()]


def test_a_size_that_cuts_a_block_is_refused():
    """Half a tool call would measure something else."""
    done = run("ingest", "--sizes", "10")
    assert 2 == done.returncode
    assert "multiples of four" in done.stderr
