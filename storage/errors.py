"""What can go wrong with a store.

StoreError
├── StoreMissing      there is no database at that path
├── StoreForeign      the file is not ours (or no database at all)
├── StoreTooNew       written by a newer version than this one
├── StoreDamaged      the file or a row in it does not hold what was written
│   ├── StoreIndexBroken   only the search index, which the log can rebuild
│   └── StoreGarbled       only one message, whose bytes are no JSON
├── StoreSlow         the search index took too long and was stopped
├── StoreClosed       it was closed while it was in use: open it again
├── StoreForked       SQLite's locks do not work in this process: forked with the file open, or dropped by it
├── StoreBusy         another process holds the database longer than we wait
├── StoreForgotten    what should be written belongs to a session that was forgotten on request
└── StoreUnwritable   no permission, read-only or full disk

Each carries the path it is about. What SQLite raises is mapped in one place,
``storage.connection.translated``.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "BROKEN",
    "StoreBusy",
    "StoreClosed",
    "StoreDamaged",
    "StoreError",
    "StoreForeign",
    "StoreForgotten",
    "StoreForked",
    "StoreGarbled",
    "StoreIndexBroken",
    "StoreMissing",
    "StoreSlow",
    "StoreTooNew",
    "StoreUnwritable",
]


class StoreError(Exception):
    """A store could not do what it was asked to."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.path = path
        """The file that the error is about, empty for a store in memory."""


class StoreMissing(StoreError):
    """There is no database at that path."""


class StoreForeign(StoreError):
    """The file belongs to another program, or is no database."""


class StoreForgotten(StoreError):
    """The session was forgotten on request, and nothing of it is stored any more."""


class StoreTooNew(StoreError):
    """The database was written by a newer version of this program."""


class StoreDamaged(StoreError):
    """What is read back is not what was written."""


class StoreIndexBroken(StoreDamaged):
    """The search index does not work; every message is in the log beside it, which can be read."""


class StoreGarbled(StoreDamaged, ValueError):
    """The bytes of a message are not those of one."""


class StoreSlow(StoreError):
    """The search index took longer for an answer than one may wait, and was stopped."""


class StoreClosed(StoreError):
    """The store was closed while it was in use; whoever opens it again may go on."""


class StoreForked(StoreError):
    """SQLite's locks on the file do not work in this process.

    It was open when the process was forked and could not be closed, or something else in the process
    opened and closed it.
    """


class StoreBusy(StoreError):
    """Another process held the database for longer than we wait."""


class StoreUnwritable(StoreError):
    """The database cannot be written: permission, read-only, or a full disk."""


#: What reading a damaged row may raise, apart from what there are words for here.
BROKEN: Final = (
    StoreError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
