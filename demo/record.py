"""What was before the plugin came, written down in the home itself.

Who puts a lost folder back by installing again must still get out, so it lies neither in the plugin's folder
nor beside the database, which are a person's to delete. It is a JSON object: "engine", "enabled", "disabled",
"sections", "listed" (config_edit.py), "backup" (the name of the copy that was kept, null if there was no
config) and "wrote" (the SHA-256 of the config that was written); and "packages" (the names of all that was new in
Hermes's Python once what it needs was installed; older versions wrote the requirements alone).
A name that is not there is not known.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .environment import Trouble
from .files import write_private


def place_in(home: Path) -> Path:
    """Where the record of *home* is written."""
    return home / "lcm-installed.json"


def _places(home: Path) -> tuple[Path, Path]:
    """Where it may be; older versions wrote the second."""
    return place_in(home), home / "plugins" / "lcm" / "installed.json"


def read(home: Path) -> dict[str, Any]:
    """What is written down; nothing if that is not known. Raises Trouble if it cannot be read."""
    record = next((each for each in _places(home) if each.exists()), None)
    if record is None:
        return {}
    try:
        return {**json.loads(record.read_text(encoding="utf-8"))}
    except (OSError, ValueError, TypeError) as error:
        config = home / "config.yaml"
        raise Trouble(
            f"{record}, which says what the config was before lcm came, cannot be read: {error}\n"
            "Nothing was changed. Delete that file and try again. What the config said then has to be put "
            f"back by hand: `{config}.before-lcm-*` are copies of it."
        ) from error


def write(home: Path, record: Mapping[str, Any]) -> None:
    """Write it down, for the owner of *home* alone."""
    write_private(place_in(home), json.dumps(record).encode("utf-8"), like=home)


def with_what_is_known(
    former: Mapping[str, Any],
    found: Mapping[str, Any],
    written: Mapping[str, Any],
    installed: Sequence[str],
) -> dict[str, Any]:
    """What the way out wants to know: of the config before the first way in, and all packages since.

    Args:
        former: what is written down already.
        found: what the config says now, before it is edited.
        written: the names "backup" and "wrote" of an installation that is the first.
        installed: the packages that are new by now.
    """
    first = not (found["engine"] == "lcm" or found["enabled"])
    if (
        first
    ):  # nothing there is ours: what an earlier record says of it was put back, or never written
        known: dict[str, Any] = {**found, **written}
    else:  # without a record, nobody knows what was there before
        known = {name: value for name, value in former.items() if name != "packages"}
    before = former.get("packages", [] if first and not former else None)
    if before is None and not installed:
        return known
    return {**known, "packages": [*dict.fromkeys([*(before or ()), *installed])]}


def digest(content: bytes) -> str:
    """What "wrote" is of a config."""
    return hashlib.sha256(content).hexdigest()
