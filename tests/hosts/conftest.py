"""The real hosts: where they are, what a test gets of them, and when their absence is a failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# These modules are shared by the tests of this folder and by nothing else.
sys.path.insert(0, str(Path(__file__).resolve().parent))

from hostkit import GENERATIONS, HermesHome, find_host
from hostkit.host import ROOT
from hostkit.scenes import walk


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes seconds; left out by scripts/test --quick")
    config.addinivalue_line("markers", "long: takes minutes; only scripts/test --all runs it")


#: The release that users have first; the newer one is left out by scripts/test --quick, which does not install it.
_HOSTS = ["old", pytest.param("new", marks=pytest.mark.slow)]


@pytest.fixture(scope="session", params=_HOSTS)
def host(request):
    """One of the two Hermes environments; every test that takes it runs on both."""
    found = find_host(request.param)
    if found is None:
        said = (
            f"THE {request.param.upper()} HERMES IS NOT INSTALLED ({GENERATIONS[request.param]}, "
            f".venvs/{request.param}): nothing is known about it. scripts/test installs it."
        )
        pytest.fail(said) if os.environ.get("CI") == "true" else pytest.skip(said)
    found.clean()  # a run that was killed may have left its copy
    return found


@pytest.fixture
def quickstart(host):
    """Run scripts/quickstart for this host's Python."""

    def run(*arguments, answer="", code=0, said="stdout"):
        done = subprocess.run(
            [ROOT / "scripts" / "quickstart", "--python", host.python, *arguments],
            input=answer,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return getattr(done, said)

    return run


@pytest.fixture
def make_home(host, tmp_path):
    """Make a home of *host* for the model at a URL; the host itself is clean afterwards."""
    homes: list[HermesHome] = []

    def make(url: str) -> HermesHome:
        homes.append(HermesHome(tmp_path / f"home{len(homes)}", host, url))
        return homes[-1]

    yield make
    host.clean()


@pytest.fixture(scope="session")
def walked(host, request, tmp_path_factory):
    """The scenes that the collected tests name in ``SCENES``, lived through in one process of *host*."""
    modules = {item.module for item in request.session.items}
    scenes = {scene for module in modules for scene in getattr(module, "SCENES", ())}
    return walk(tmp_path_factory.mktemp("walk"), host, scenes)
