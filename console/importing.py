"""``import FILE``: our own export, or the messages of hermes-lcm, lcm-x or lossless-claw.

What the file is, its content says. It is read through first; if anything in it is missing here, the
database is backed up; then each conversation is written whole or not at all. Twice is as once.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..dag.erase import cleaner
from ..dag.settings import Settings, load_settings, section_of
from ..dag.unkept import fitting, pattern_of
from ..storage import open_store
from ..storage.errors import StoreMissing
from ..storage.protocol import Store
from ..tools.describe import stamp
from .absent import mistaken
from .backup import make_backup
from .bringing import Outlook, bring, look
from .config_file import read_config
from .import_view import view
from .restoring import restore
from .scan import Bad, Group, Scan, scan
from .screen import clean, many
from .target import target_of
from .verb import Answer, Call, Progress, the_one

if TYPE_CHECKING:
    from ..storage.peers import Conversation, Peer, PeerRow

__all__ = ["add", "run"]

KINDS: Final = ("lcm", "hermes-lcm", "lcm-x", "lossless-claw")
_SQLITE: Final = b"SQLite format 3\0"
#: How our own exports begin that cannot be imported.
_FOR_READING: Final = {"markdown": b"# Session ", "state": b'{"sessions": ['}
_BEGIN: Final = 64


@dataclass(frozen=True, slots=True)
class _Job:
    """One import: into what, from where, how."""

    store: Store
    path: Path
    kind: str
    call: Call
    rehearsal: bool
    """Only show what would come."""
    settings: Settings
    """Of the home that the database is in."""

    def comes(self, wanted: Sequence[object], data: Mapping[str, Any]) -> bool:
        """Whether to write: of a file of which all is refused nothing comes, not even an empty database."""
        return not self.rehearsal and (bool(wanted) or not (data["refused"] or data["bad"]))

    def opened(self) -> AbstractContextManager[Store]:
        """The database, to be written to; made at need, so only where something comes."""
        return closing(open_store(f"sqlite:{self.call.path}"))

    @property
    def progress(self) -> Progress:
        """Never None."""
        return self.call.progress or (lambda _what, _done, _total: None)

    def named(self, names: Sequence[str]) -> set[str]:
        """Those of *names* that were asked for: all, or the one that --session means.

        Raises:
            LookupError: it means none of them, or more than one.
        """
        if not self.call.session:
            return set(names)
        found = the_one(dict.fromkeys(names), self.call.session)
        if found is None:
            raise LookupError(f"{self.path} has no session {self.call.session!r}.")
        return {found}

    def unwanted(self, name: str) -> str:
        """Why a session does not come: it was forgotten here, or would leave no trace here; empty if it may."""
        if self.store.eraser().is_forgotten(name):
            return "it was forgotten here on request"
        for key in ("ignore_sessions", "memory_only_sessions"):
            patterns = getattr(self.settings, key)
            if fitting(name, patterns) or pattern_of(self.store, name, patterns):
                return f"lcm.{key} of this Hermes keeps it out"
        return ""

    def backed_up(self, new: int) -> str | None:
        """Make a backup, if anything is going to be added to what is there."""
        if not new or self.call.options.get("no_backup") or not self.store.totals().messages:
            return None
        return make_backup(self.call.path, progress=self.progress).path


def run(call: Call) -> Answer:
    """See what would come; unless that is all that is asked for, let it come."""
    path = Path(call.options["file"]).expanduser()
    kind = _kind(path, call.options.get("from"))
    rehearsal = bool(call.options.get("dry_run"))
    settings, aside = _settings(call.path), _aside(call)
    if not (rehearsal or call.options.get("unmasked")) and settings.redact == "store":
        raise LookupError(
            "This Hermes masks secrets before it stores anything (redact: store), and an import brings "
            "them in as they are. Import with --unmasked if that is what you want; `forget --text` takes one out."
        )
    with closing(_looked_at(call.path)) as store:
        job = _Job(store, path, kind, call, rehearsal, settings)
        data = _own(job) if kind == KINDS[0] else _neighbours(job)
    data = {"file": str(path.absolute()), "database": call.path, "dry_run": rehearsal, **data}
    good = not data["bad"] and not data["refused"]
    return Answer(data, good, text=clean(view(data, call.options)), prose=True, warning=aside)


def _aside(call: Call) -> str:
    """That the home is none in which a Hermes would look, where that is so; a file that was named is meant."""
    path = Path(call.path)
    if call.options.get("db") or call.facts is not None or path.exists():
        return ""
    unlike = mistaken(path, named=False)
    return f"{unlike} An import makes one there.\n" if unlike else ""


def _settings(database: str) -> Settings:
    """Those of the home of the database, as its config.yaml has them."""
    config = read_config(Path(database).parent.parent / "config.yaml").values
    return load_settings(section_of(config)).settings


def _kind(path: Path, told: str | None) -> str:
    """What the caller says it is; else ``lcm`` for a text, and nothing for a database, for its tables say more.

    Raises:
        LookupError: there is no such file, it is an export that is made for people, or cannot be what was told.
    """
    if path.is_dir():
        raise LookupError(f"{path} is a folder. Name a file in it.")
    if not path.is_file():
        raise LookupError(f"There is no file `{path}`.")
    with path.open("rb") as file:
        begin = file.read(_BEGIN)
    for form, mark in _FOR_READING.items():
        if begin.startswith(mark):
            raise LookupError(
                f"{path} is an export as {form}. Only jsonl can be imported: export it again with `--format jsonl`."
            )
    if told and told != KINDS[0] and not begin.startswith(_SQLITE):
        raise LookupError(
            f"{path} is no SQLite database, so it is none of {told}. If it is an export of lcm, leave out --from."
        )
    return told or ("" if begin.startswith(_SQLITE) else KINDS[0])


def _looked_at(path: str) -> Store:
    """The database to look at before anything is written; one in memory where there is none."""
    try:
        return open_store(f"sqlite:{path}", create=False)
    except StoreMissing:
        return open_store("memory:")


# our own export


def _own(job: _Job) -> dict[str, Any]:
    found = scan(job.path, job.progress)
    found.groups = _asked_for(job, found.groups)
    refused = _refused(job, found, incomplete=bool(job.call.options.get("incomplete")))
    wanted = [group for group in found.groups if group.line not in refused]
    sessions = [_outlook(job.store, group) for group in wanted]
    bad = [*found.bad, *(each for group in found.groups for each in group.bad)]
    data = {
        "kind": KINDS[0],
        "shareable": found.shareable,
        "sessions": sessions,
        "refused": [
            {"session": _called(group), "why": refused[group.line]}
            for group in found.groups
            if group.line in refused
        ],
        "bad": [asdict(each) for each in sorted(bad, key=lambda each: each.line)],
        "backup": None,
        "done": None,
    }
    if job.comes(wanted, data):
        data["backup"] = job.backed_up(sum(each["new"] + each["nodes"] for each in sessions))
        with job.opened() as store:
            data["done"] = asdict(restore(store, job.path, found, wanted, job.progress))
    return data


def _asked_for(job: _Job, groups: list[Group]) -> list[Group]:
    """The groups of the sessions asked for, and those that they rest on."""
    named = job.named([each.name for group in groups for each in group.sessions])
    lines = {group.line for group in groups if named & {each.name for each in group.sessions}}
    if not job.call.session:
        return groups
    for group in reversed(groups):  # what a group rests on is written before it
        if group.line in lines:
            lines |= group.needs
    return [group for group in groups if group.line in lines]


def _refused(job: _Job, found: Scan, *, incomplete: bool) -> dict[int, str]:
    """Why groups (by line) do not come."""
    refused: dict[int, str] = {}
    for group in found.groups:
        if why := next(filter(None, (job.unwanted(each.name) for each in group.sessions)), ""):
            refused[group.line] = why
        elif not group.sessions or (group.bad and not incomplete):
            refused[group.line] = _said(group.bad)
        elif needed := sorted(group.needs & refused.keys()):
            refused[group.line] = f"it rests on line {needed[0]} of the export, which does not come"
    return refused


def _said(bad: Sequence[Bad]) -> str:
    """How many lines are bad of themselves, and how many for want of those."""
    worse = sum(each.depends for each in bad)
    first = len(bad) - worse
    said = [f"{many(first, 'line')} of it cannot be read"] if first else []
    if worse:
        said.append(
            f"{worse:,} more {'depends' if worse == 1 else 'depend'} on {'it' if first == 1 else 'them'}"
            if first
            else f"{many(worse, 'line')} of it {'rests' if worse == 1 else 'rest'} on what cannot be read"
        )
    return f"{', '.join(said)}; --incomplete brings the rest"


def _called(group: Group) -> str:
    return ", ".join(each.name for each in group.sessions) or f"what begins in line {group.begins}"


def _outlook(store: Store, group: Group) -> dict[str, Any]:
    target = target_of(store, group, None)
    known = target.known.keys()
    here = sum(not known.isdisjoint((uid, *names)) for uid, names in group.names.items())
    return {
        "session": _called(group),
        "as": ", ".join(each.name for each in target.sessions),
        "new": len(group.names) - here,
        "known": here,
        "summaries": len(group.summaries) - _whole(store, group.summaries),
        "nodes": len(group.nodes) - _whole(store, group.nodes),
        "skipped": {},
    }


def _whole(store: Store, uids: Sequence[str]) -> int:
    """How many of these nodes are here; of a damaged one no text is left, and a frame has none."""
    found = store.nodes(uids, brief=True, damaged=True)
    return sum(bool(node.texts) or node.kind == "frame" for node in found)


# a neighbour's database


def _neighbours(job: _Job) -> dict[str, Any]:
    from ..storage.peers import open_peer  # SQLite, which a shell must not pay for

    with open_peer(job.path, job.kind) as opened:
        peer = _Clean(opened, job.store)
        conversations = peer.conversations()
        named = job.named([each.name for each in conversations])
        conversations = [each for each in conversations if each.name in named]
        refused = {each.name: why for each in conversations if (why := job.unwanted(each.name))}
        wanted = [each for each in conversations if each.name not in refused]
        sessions = []
        for number, each in enumerate(wanted):
            sessions.append(_described(look(job.store, peer, each)))
            job.progress("conversations looked at", number + 1, len(wanted))
        data = {
            "kind": peer.kind,
            "shareable": False,
            "sessions": sessions,
            "summaries_left": peer.summaries,
            "refused": [{"session": name, "why": why} for name, why in refused.items()],
            "bad": [],
            "backup": None,
            "done": None,
        }
        if job.comes(wanted, data):
            data["backup"] = job.backed_up(sum(each["new"] for each in sessions))
            with job.opened() as store:
                data["done"] = _brought(job, store, peer, wanted)
    return data


def _brought(job: _Job, store: Store, peer: Peer, wanted: Sequence[Conversation]) -> dict[str, int]:
    done = {"sessions": 0, "messages": 0, "known": 0, "payloads": 0}
    for each in wanted:
        brought = asdict(bring(store, peer, job.path, each, job.progress))
        done = {name: count + brought[name] for name, count in done.items()}
    return done


def _described(outlook: Outlook) -> dict[str, Any]:
    times = outlook.times
    taken = sum(not each.reason for each in outlook.seen)
    return {
        "session": outlook.conversation.name,
        "title": outlook.conversation.title,
        "as": outlook.name,
        "new": outlook.new,
        "known": taken - outlook.new,
        "skipped": outlook.skipped,
        "first": stamp(times[0]) if times else None,
        "last": stamp(times[1]) if times else None,
    }


class _Clean:
    """A neighbour's database without what this store was told to forget."""

    def __init__(self, peer: Peer, store: Store) -> None:
        self.kind, self.summaries = peer.kind, peer.summaries
        self._peer, self._store = peer, store

    def conversations(self) -> list[Conversation]:
        return self._peer.conversations()

    def rows(self, conversation: Conversation) -> Iterator[PeerRow]:
        clean = cleaner(self._store, None)  # anew: something may have been forgotten meanwhile
        for row in self._peer.rows(conversation):
            if clean.erase is None:
                yield row
                continue
            whole = None if row.whole is None else clean.row(row.whole)
            yield row._replace(message=clean.row(row.message), whole=whole)


def add(parser: argparse.ArgumentParser) -> None:
    """From where, and how."""
    parser.add_argument("lcm_file", metavar="FILE", help="an export, or a neighbour's database")
    parser.add_argument(
        "--dry-run", dest="lcm_dry_run", action="store_true", help="only show what would come"
    )
    parser.add_argument(
        "--from", dest="lcm_from", choices=KINDS, help="what the file is, if its content misleads"
    )
    parser.add_argument(
        "--incomplete",
        dest="lcm_incomplete",
        action="store_true",
        help="also sessions of which lines are missing or cannot be read",
    )
    parser.add_argument(
        "--no-backup",
        dest="lcm_no_backup",
        action="store_true",
        help="without the backup that is made first if the database has messages",
    )
    parser.add_argument(
        "--unmasked",
        dest="lcm_unmasked",
        action="store_true",
        help="although this Hermes masks secrets before it stores anything (redact: store)",
    )
