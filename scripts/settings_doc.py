"""Writes docs/settings.md from the code: python3 scripts/run.py scripts.settings_doc

The keys, defaults and descriptions are those of dag/settings.py. A setting that no code
reads does nothing, and is listed apart.
"""  # noqa: INP001 - a script, not a package

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from ..dag.settings import describe

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "settings.md"
ROOMS = ("storage", "dag", "tools", "console", "host")

HEAD = """\
# Settings

<!-- Made by scripts/run.py scripts.settings_doc from dag/settings.py. Do not edit. -->

They stand in config.yaml of the Hermes home, under `lcm:`. All have defaults; an empty section is fine.

```yaml
context:
  engine: lcm
plugins:
  enabled: [lcm]
lcm:
  threshold: 0.70
  ignore_sessions: ["cron_*"]
```

`threshold`, `soft_threshold` and `target` are shares of the model's window; other sizes are tokens. An
unknown key or a wrong value is reported in `hermes lcm status` with the nearest known key, and the default
is used in its place. Which threshold governs: `lcm.threshold`; `compression.threshold` is the built-in
compressor's. Where Hermes has the section `plugins.entries.lcm.settings`, a key there wins.

| key | default | meaning |
|---|---|---|
"""

WITHOUT_EFFECT = """
## Without effect in this version

These are accepted and checked, and nothing acts on them
([decision 15](decisions/0015-settings-without-effect.md), [decision 38](decisions/0038-no-search-by-meaning.md)).

| key | default | why |
|---|---|---|
"""


def unread(keys: Iterable[str]) -> set[str]:
    """Those of *keys* that no code asks the settings for."""
    code = "\n".join(
        path.read_text(encoding="utf-8") for room in ROOMS for path in (ROOT / room).rglob("*.py")
    )
    return {key for key in keys if not re.search(rf"settings\.{key}\b", code)}


def shown(default: object) -> str:
    """A default as YAML has it; nothing for an empty one."""
    if default in (None, "", ()):
        return ""
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{list(default)}`" if isinstance(default, tuple) else f"`{default}`"


def page() -> str:
    """What docs/settings.md must hold."""
    rows = {key: f"| `{key}` | {shown(default)} | {doc} |" for key, default, doc in describe()}
    idle = unread(rows)
    text = HEAD + "\n".join(row for key, row in rows.items() if key not in idle) + "\n"
    if idle:
        text += WITHOUT_EFFECT + "\n".join(row for key, row in rows.items() if key in idle) + "\n"
    return text


def main(_: list[str]) -> int:
    """Write the file."""
    TARGET.write_text(page(), encoding="utf-8")
    return 0
