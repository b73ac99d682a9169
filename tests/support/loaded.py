"""Imported first by a child process of a test: loads the clone as the package ``lcm``, as conftest does."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

if "lcm" not in sys.modules:
    spec = importlib.util.spec_from_file_location(
        "lcm", ROOT / "__init__.py", submodule_search_locations=[str(ROOT)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["lcm"] = module
    spec.loader.exec_module(module)
