"""Run ``main()`` of a module of this clone, nothing installed: run.py MODULE [ARGUMENT ...].

The repository root is the package, whatever its folder is called, and is loaded as Hermes
loads it. It must not stand on sys.path, where its tools/ would hide the host's own.
"""  # noqa: INP001 - a script, not a package

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: list[str]) -> int:
    """Load the root as ``lcm``, and hand the arguments to the module's main()."""
    here = Path(__file__).resolve().parent
    sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() not in (ROOT, here)]
    spec = importlib.util.spec_from_file_location(
        "lcm", ROOT / "__init__.py", submodule_search_locations=[str(ROOT)]
    )
    if spec is None or spec.loader is None:
        return 1
    package = importlib.util.module_from_spec(spec)
    sys.modules["lcm"] = package
    spec.loader.exec_module(package)
    return int(importlib.import_module(f"lcm.{arguments[0]}").main(arguments[1:]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
