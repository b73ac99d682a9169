"""What is kept: messages, nodes and the order they stand in.

``open_store(url)`` is the way in. A path, or a URL with the scheme
``sqlite:``, is a file; ``memory:`` leaves no trace.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .protocol import Store

__all__ = ["open_store"]


def open_store(
    url: str | Path, *, create: bool = True, writes: bool = False, read_only: bool = False, patient: bool = True,
) -> Store:  # fmt: skip
    """Open the store that *url* names, creating it when *create* is true.

    *writes*: something may be written to it later, so a database that is there gets the lock file that it lacks.
    *patient*: whether to wait, five seconds, for whoever has it for itself just now.
    With *read_only* nothing is created and no page of the file is written, whoever asks for what.

    Raises:
        StoreError: the store cannot be opened; the text says why and what to
            do. With ``create=False`` a missing file is ``StoreMissing``.
    """
    text = str(url)
    if text == "memory:":
        from .memory import MemoryStore

        return MemoryStore()
    from .sqlite import SqliteStore  # 70 ms of imports that a shell must not pay for

    return SqliteStore(
        Path(text.removeprefix("sqlite:")).expanduser(),
        create=create,
        writes=writes,
        read_only=read_only,
        patient=patient,
    )
