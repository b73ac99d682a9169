"""The database as the doctor sees it: each check says what it found, and what to do about it.

Nothing here writes: what may be repaired is named, and the doctor does it when it is asked to.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..dag.ahead_record import AheadRecord
from ..storage.errors import StoreError, StoreForeign, StoreMissing
from .absent import ANOTHER, lost
from .check import Check, good, note, typed, wrong
from .lock import check_lock
from .mending import damaged, missing
from .screen import clean, many
from .status import size

if TYPE_CHECKING:
    from ..storage.examine import Examination

__all__ = [
    "INDEX",
    "PERMISSIONS",
    "check_database",
    "close_to_others",
]

INDEX, PERMISSIONS = "index", "permissions"
"""Names of the checks whose faults can be repaired without asking anybody."""

_OWN_FOLDER: Final = "lcm"
_BESIDE: Final = ("-wal", "-shm", "-lock")
_LEAST_FREE: Final = 100_000_000
#: A WAL that big was not emptied for a long time.
_LARGE_WAL: Final = 64_000_000

_ANOTHER: Final = "Name another file: `database:` under `lcm:` in config.yaml."
_ANEW: Final = (
    "Whoever put it there can take it away with a SQLite program, while no Hermes runs. Or begin anew: "
    "`hermes lcm export --out NEW-FILE`, move the database away, `hermes lcm import NEW-FILE`."
)


def check_database(
    path: Path, looking: Callable[[str], None], mistaken: str = ""
) -> Iterator[Check]:
    """Everything about one database file, from its folder to its index.

    *mistaken*: why none will come to be there, where none is.
    """
    try:
        file = _file_of(path)
        path.parent.stat()
    except OSError as error:
        yield from _unseen(path, error)
        return
    ours = file is None
    barred = _barred(path, file)
    if barred:
        yield barred
        return
    if file is not None and stat.S_ISDIR(file.st_mode):
        yield wrong("database", f"{path} is a folder, not a database.", _ANOTHER)
    elif not _size(path):
        yield _no_file(path, mistaken)
    else:
        found = list(_inside(path, looking))
        yield from found
        ours = found[0].state == "ok"
    if ours and os.name == "posix":
        yield _privacy(path)
    yield _space(path)
    if file is not None:
        yield from check_lock(path)


def _file_of(path: Path) -> os.stat_result | None:
    """None where there is none.

    Raises:
        OSError: it cannot be looked at.
    """
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _unseen(path: Path, error: OSError) -> Iterator[Check]:
    if not isinstance(error, FileNotFoundError):
        said = f"{path} cannot be looked at: {error.strerror}."
        yield wrong(PERMISSIONS, said, _way_to(path))
        return
    yield note("database", f"There is none at {path} yet.", "It begins with the first turn.")
    above = next((each for each in path.parents if each.is_dir()), Path("/"))
    if not os.access(above, os.W_OK):
        how = typed("chmod", "u+w", above)
        remedy = f"Give it write access: {how}; or name another file as lcm.database."
        yield wrong(PERMISSIONS, f"No folder can be made in `{above}`.", remedy)


def _way_to(path: Path) -> str:
    """How whoever asks gets at what is in the folders above: by their modes, if the folder is theirs."""
    shut = next((each for each in reversed(path.parents) if not os.access(each, os.X_OK)), None)
    if shut is not None and os.name == "posix" and shut.stat().st_uid == os.geteuid():
        how = typed("chmod", "u+rwx", shut)
        return f"The folder is yours and its mode shuts you out: {how}."
    how = typed("sudo", "chown", "-R", "USER", path.parent)
    return f"Run this as the user that runs Hermes, or give that user the folder: {how}."


def _no_file(path: Path, mistaken: str) -> Check:
    left = _size(path.with_name(f"{path.name}-wal"))
    if left:
        wal = f"{path.name}-wal"
        said = f"{path} is missing or empty, and {wal} beside it holds {size(left)} of it."
        remedy = (
            f"Put {path.name} back beside it (from where it was moved to); or, to begin anew, move {wal} away. "
            "Until then nothing is stored."
        )
        return wrong("database", said, remedy)
    if said := lost(path):
        return missing(path, said)
    if mistaken:
        return wrong("database", mistaken, ANOTHER)
    return note("database", f"There is none at {path} yet.", "It begins with the first turn.")


def _barred(path: Path, file: os.stat_result | None) -> Check | None:
    """What may not be read and written by who asks; None if nothing."""
    beside = (
        [] if file is None else [path, *(path.with_name(f"{path.name}{end}") for end in _BESIDE)]
    )
    barred = [each for each in beside if each.exists() and not os.access(each, os.R_OK | os.W_OK)]
    if not os.access(path.parent, os.W_OK | os.X_OK):
        barred.append(path.parent)
    if not barred:
        return None
    how = typed("chmod", "u+rwX", *barred)
    who = f"`sudo chown -R $(id -un) {shlex.quote(str(path.parent))}`"
    remedy = (
        f"Give the user that runs Hermes write access: {how}; where it is another user's: {who}."
    )
    return wrong(PERMISSIONS, f"{_as_barred(barred)}; nothing is stored.", remedy)


def _as_barred(paths: list[Path]) -> str:
    """Which of them may not be read, and which may be read alone: who finds something in one knows that it is read."""
    shut = [each for each in paths if not os.access(each, os.R_OK)]
    kept = [each for each in paths if each not in shut]
    states = ((shut, "cannot be read"), (kept, "can be read and not written"))
    return "; ".join(f"{' and '.join(map(str, each))} {what}" for each, what in states if each)


def _open_to_others(path: Path) -> dict[Path, int]:
    """What others may read and must not, by its mode: the database, and what SQLite keeps beside it.

    Its folder, too, but one that somebody chose: that may hold other things, and is not ours to close.
    """
    own = [path.parent] if path.parent.name == _OWN_FOLDER else []
    found = {}
    for each in (*own, path, *(path.with_name(f"{path.name}{end}") for end in _BESIDE[:2])):
        with contextlib.suppress(FileNotFoundError):  # what is beside it comes and goes
            found[each] = stat.S_IMODE(each.stat().st_mode)
    return {each: mode for each, mode in found.items() if mode & 0o077}


def _privacy(path: Path) -> Check:
    seen = _open_to_others(path)
    if not seen:
        return good(PERMISSIONS, "only its owner can read it")
    said = f"Others on this machine may read {' and '.join(map(str, seen))}: all that was said is in there."
    how = typed("chmod", "go=", *seen)
    return wrong(PERMISSIONS, said, f"{how}, or `hermes lcm doctor --fix`.", fixable=True)


def close_to_others(path: Path) -> list[str]:
    """Take the rights of others from all that; says from which."""
    changed = []
    for each, mode in _open_to_others(path).items():
        with contextlib.suppress(FileNotFoundError):
            each.chmod(mode & 0o700)  # by its name: to open it would drop SQLite's locks
            changed.append(str(each))
    return changed


def _space(path: Path) -> Check:
    free = shutil.disk_usage(path.parent).free
    said = f"{size(free)} free on the disk of {path.parent}"
    if free >= max(_LEAST_FREE, _size(path) // 10):
        return good("space", said)
    remedy = "Free some. When it is full, nothing more is stored, and what is missing is stored afterwards."
    return wrong("space", f"Only {said}.", remedy)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _inside(path: Path, looking: Callable[[str], None]) -> Iterator[Check]:
    try:
        from ..storage.examine import examine, sqlite_version
    except ImportError as error:
        yield note(
            "database", f"{path} is there; without {error.name or error} nobody can look into it."
        )
        return
    try:
        seen = examine(path, looking)
    except StoreMissing as error:
        yield wrong("database", str(error), _ANOTHER)
        return
    except StoreForeign as error:
        yield damaged("database", path, f"{_alone(error)} If it never was one of lcm: {_ANOTHER}")
        return
    except StoreError as error:
        yield damaged("database", path, _alone(error))
        return
    yield _whose(seen)
    if seen.owner != "ours":
        return
    yield _integrity(seen)
    yield _messages(seen)
    yield _index(seen)
    yield _journal(seen, _size(path.with_name(f"{path.name}-wal")), sqlite_version())
    yield _summaries(seen)
    yield from _old_bytes(seen)
    yield from _ahead(seen)


_MADE_AGAIN: Final = (
    "`hermes lcm verify` names them. The messages under them are kept in full. The next compaction makes those again"
    " that the list shows; `hermes lcm import FILE` puts all of them back from an export of before."
)


def _alone(error: StoreError) -> str:
    """What the error says, without the advice to ask the doctor."""
    return str(error).replace(" `hermes lcm doctor` says what to do.", "")


def _whose(seen: Examination) -> Check:
    if seen.owner == "foreign":
        said = (
            f"{seen.path} belongs to another program. It is left as it is, and nothing is stored."
        )
        return wrong("database", said, _ANOTHER)
    if seen.owner == "empty":
        return note("database", f"{seen.path} is empty.", "It is filled with the first turn.")
    if seen.newer:
        said = f"{seen.path} was written by a newer version ({', '.join(seen.newer)}): nothing is stored."
        return wrong(
            "database", said, "Upgrade this plugin, or restore a backup of the older version."
        )
    if seen.pending:
        return note("database", f"{seen.path} is brought up to date by the next agent.")
    return good("database", f"{seen.path}, {many(seen.messages, 'message')}")


def _integrity(seen: Examination) -> Check:
    faults = [f"the table {name} is missing" for name in seen.missing] + seen.faults
    if not faults and seen.odd:
        said = "; ".join(f"{clean(name)} {what}" for name, what in seen.odd[:3])
        return wrong("integrity", f"The schema was changed: {said}.", _ANEW)
    if not faults:
        return good("integrity", "SQLite finds no damage; `hermes lcm verify` checks every message")
    verify = "`hermes lcm verify` says which messages are hit."
    said = f"The file is damaged: {'; '.join(faults[:3])}."
    return damaged("integrity", Path(seen.path), said, verify)


def _messages(seen: Examination) -> Check:
    if not seen.altered:
        return good("messages", f"{many(seen.looked, 'message')} looked at, as stored")
    are = "is" if seen.altered == 1 else "are"
    said = (
        f"{seen.altered:,} of {many(seen.looked, 'message')} looked at {are} not what was stored."
    )
    return wrong(
        "messages", said, "`hermes lcm verify` names all such. A backup of before has them."
    )


def _index(seen: Examination) -> Check:
    again = "`hermes lcm doctor --fix` makes it again from the log."
    if not seen.index and seen.older_index:
        said = "An earlier version made it: it finds fewer words of some scripts, and no parts of names."
        return note(INDEX, said, again, fixable=True)
    if not seen.index:
        return good(INDEX, "it finds what it should")
    said = f"The search index is broken; no message is lost. {' '.join(seen.index)}"
    if not seen.sound:
        return wrong(
            INDEX, said, "First put the file itself right; the index can be made again then."
        )
    return wrong(INDEX, said, again, fixable=True)


def _journal(seen: Examination, wal: int, version: str) -> Check:
    said = f"SQLite {version}, journal mode {seen.journal}"
    if seen.journal != "wal" and os.name == "posix":
        if not Path(f"{seen.path}-lock").exists():  # each agent makes one beside what it opens
            fresh = (
                "as in every backup: no agent has opened this file here yet; the first one sets wal"
            )
            return good("sqlite", f"{said}, {fresh}")
        remedy = (
            "The next agent sets WAL. If it stays like this, the disk has no shared memory for it, as network "
            "file systems: use a local disk."
        )
        return note("sqlite", f"{said} instead of wal.", remedy)
    if wal > _LARGE_WAL:
        remedy = "Something reads it all the time. It shrinks once all have let go of it: restart Hermes."
        return note("sqlite", f"{said}; {size(wal)} are not in the file itself yet.", remedy)
    return good("sqlite", said)


def _summaries(seen: Examination) -> Check:
    if seen.damaged:
        said = f"{many(seen.damaged, 'summary')} {'is' if seen.damaged == 1 else 'are'} damaged."
        return wrong("summaries", said, _MADE_AGAIN)
    if not seen.degraded:
        return good("summaries", "none had to do without a model")
    hold = "holds" if seen.degraded == 1 else "hold"
    said = f"{many(seen.degraded, 'summary')} {hold} extracted sentences: no model gave a usable answer."
    return note(
        "summaries",
        said,
        "Every message under them is kept. See auxiliary.compression in config.yaml.",
    )


def _old_bytes(seen: Examination) -> Iterator[Check]:
    """Whether what was forgotten is gone from the bytes of the file, too."""
    if not seen.scrubbed:
        said = "Something was forgotten, and old bytes of it may still be in the file: it was not written anew since."
        remedy = "`hermes lcm forget --finish` wipes them. Another process that reads just then keeps it from that."
        yield wrong("forgotten", said, remedy)


def _ahead(seen: Examination) -> Iterator[Check]:
    """Whether what should be prepared between two turns is."""
    record = AheadRecord.newest(AheadRecord.read(_value(kept)) for kept in seen.ahead)
    if record.fails:
        said = (
            f"Nothing could be summarised ahead the last {many(record.failures, 'time')}: {record.why}. "
            "Every compaction makes the turn wait for the model, or extracts sentences."
        )
        yield wrong(
            "work ahead", said, "Look at auxiliary.compression in config.yaml, and at the log."
        )
    elif record.nodes or record.repaired:
        yield good("work ahead", f"{many(record.nodes, 'summary')} made ahead between turns")


def _value(kept: str) -> object:
    try:
        return json.loads(kept)
    except ValueError:
        return None
