"""What lcm-x put in files beside its database: large results, of which the message keeps only a name.

The file is JSON. Only files under the database's own folder are read, whatever a message names.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

__all__ = ["Payloads"]

#: A placeholder is short: a sentence around a name.
_LONGEST: Final = 2000
_NAME: Final = re.compile(r"[^\s\"'`<>()\[\]{}|,;=]{1,300}\.json(?![\w.])")
_KEYS: Final = ("content", "payload", "text", "output", "result", "data")


class Payloads:
    """The files under one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._by_name: dict[str, Path | None] = {}

    def behind(self, content: Any) -> str | None:
        """The payload that stands behind a placeholder; None for any other text."""
        if not isinstance(content, str) or len(content) > _LONGEST:
            return None
        for name in _NAME.findall(content):
            path = self._find(name)
            text = _payload(path) if path else None
            if text is not None:
                return text
        return None

    def _find(self, name: str) -> Path | None:
        """The file of that name, as a path from the folder or anywhere under it."""
        if name not in self._by_name:
            self._by_name[name] = self._look(name)
        return self._by_name[name]

    def _look(self, name: str) -> Path | None:
        whole = (self._folder / name).resolve()
        below = sorted(self._folder.glob(f"*/{Path(name).name}"))
        for path in (whole, *(each.resolve() for each in below)):
            if path.is_relative_to(self._folder) and path.is_file():
                return path
        return None


def _payload(path: Path) -> str | None:
    """The text in the file; None if it holds none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if isinstance(value, dict):
        texts = {key: item for key, item in value.items() if isinstance(item, str)}
        named = next((texts[key] for key in _KEYS if key in texts), None)
        return named if named is not None else max(texts.values(), key=len, default=None)
    return value if isinstance(value, str) else None
