"""Walk through the host's habits, each in a conversation of its own; show what doors saw and what is kept."""

from __future__ import annotations

import importlib
import os
import time
import traceback
from pathlib import Path

from common import give, read_job
from store import load_plugin
from witness import Witness, read_back, verify


def main() -> None:
    job = read_job()
    home = Path(os.environ["HERMES_HOME"])
    plugin = load_plugin(home / "plugins" / "lcm")
    witness = Witness()
    witness.watch_agents()
    results = {}
    for key, module, name, arguments in job["scenes"]:
        begun = time.monotonic()
        try:
            told = getattr(importlib.import_module(module), name)(**arguments)
        except BaseException:  # noqa: BLE001 - the other scenes are still worth knowing
            told = {"error": traceback.format_exc()[-3000:], "sessions": []}
        seen = witness.report()
        sessions = dict.fromkeys([*(each["session"] for each in seen["lists"]), *told["sessions"]])
        results[key] = {
            **told,
            "seen": seen,
            "kept": read_back(plugin, home, sessions),
            "seconds": round(time.monotonic() - begun, 2),
        }
    give({"scenes": results, "verify": verify(home)})


main()
