"""Run ``main()`` of a module of this clone, nothing installed: run.py MODULE [ARGUMENT ...].

The repository root is the package, whatever its folder is called, and is loaded as Hermes
loads it. It must not stand on sys.path, where its tools/ would hide the host's own.
"""  # noqa: INP001 - a script, not a package

from __future__ import annotations

import os
import signal
import sys
from types import ModuleType


def _stop(_number: int, _frame: object) -> None:
    """Ctrl-C while modules are imported: nothing is open yet, and a traceback would tell nothing."""
    os.write(2, b"\nlcm: stopped\n")
    os._exit(130)


def main(arguments: list[str]) -> int:
    """Load the root as ``lcm``, and hand the arguments to the module's main()."""
    quiet = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else it is ignored
    if quiet:
        signal.signal(signal.SIGINT, _stop)
    module = _loaded(arguments[0])
    if quiet:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return int(module.main(arguments[1:]))


def _loaded(name: str) -> ModuleType:
    import importlib.util
    from pathlib import Path

    here = Path(__file__).resolve().parent
    root = here.parent
    sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() not in (root, here)]
    spec = importlib.util.spec_from_file_location(
        "lcm", root / "__init__.py", submodule_search_locations=[str(root)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{root} is no package.")
    package = importlib.util.module_from_spec(spec)
    sys.modules["lcm"] = package
    spec.loader.exec_module(package)
    return importlib.import_module(f"lcm.{name}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
