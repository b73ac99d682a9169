"""Messages as a file has them: the JSON of what :mod:`.pieces` says of each.

Nearly every message has one version and is kept in one piece. So of those a file's JSON is put together text by
text, as they come from the store; all others, and what is damaged, go the long way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from json.encoder import encode_basestring_ascii as said
from typing import Any, Final

from ..storage.canon import digests, dumper, each_of
from ..storage.errors import BROKEN
from ..storage.protocol import Store
from ..storage.records import Entry
from ..tools.describe import stamp
from . import finding, pieces
from .wording import result_words, words

__all__ = ["passages"]

_RESULT: Final = {"role", "content", "tool_call_id"}
#: A role and a text: the most frequent message has nothing else.
_PLAIN: Final = 2
#: Where they stand in what is kept.
_DIGEST: Final = 3
_BODY: Final = 4
_EMPTY: Final = '""'
_as_json: Final = dumper(json.JSONEncoder(separators=(",", ":")))


def passages(
    store: Store,
    entries: list[Entry],
    names: Mapping[int, Sequence[str]],
    searched: finding.Searched,
) -> Iterator[tuple[int, str]]:
    """For each part of *entries* how many they are, and their JSON; *names*: other names of messages, of all."""
    for part in pieces.batches(entries):
        found = _singles(store, part, names)
        others = [entry for entry in part if entry.id not in found]
        for entry, told in zip(
            others, pieces.versions(store, others, names, searched.of), strict=True
        ):
            found[entry.id] = _as_json(told)
        yield len(part), f"[{','.join([found[entry.id] for entry in part])}]"


def _singles(
    store: Store, part: Sequence[Entry], names: Mapping[int, Sequence[str]]
) -> dict[int, str]:
    """The JSON of those that have one version, are kept in one piece, and are what was stored."""
    uids = {entry.id: entry.uid for entry in part if entry.version == 1 and type(entry.uid) is str}
    try:
        kept = store.archive().single(list(uids))
        texts = [each[_BODY] for each in kept]
        marks = digests(texts)
        if marks != [each[_DIGEST] for each in kept]:
            kept = [each for each, mark in zip(kept, marks, strict=True) if each[_DIGEST] == mark]
            texts = [each[_BODY] for each in kept]
        rows = each_of(texts)
    except BROKEN:
        return {}
    found = {}
    for each, row in zip(kept, rows, strict=True):
        if type(row) is not dict:
            continue
        number, time, tool, _, _ = each
        shown, more = _shown(row)
        other = _as_json(list(names[number])) if number in names else "[]"
        when = f'"{stamp(time)}"' if type(time) is float else said(stamp(time))
        by = said(tool) if tool else _EMPTY
        found[number] = (
            f'{{"uid":{said(uids[number])},"names":{other},"time":{when},"tool":{by},'
            f'"versions":[{said(shown)}]{more}}}'
        )
    return found


def _shown(row: Mapping[str, Any]) -> tuple[str, str]:
    """What is shown of a message, and the JSON of what else there is to say of it."""
    content = row.get("content")
    if (
        len(row) == _PLAIN and type(content) is str and "role" in row
    ):  # half of all: less than a third of the time
        return content, ""
    if row.keys() == _RESULT and type(content) is str and content:  # and half of the others
        call = row["tool_call_id"]
        if call and type(call) is str and row["role"] == "tool":
            return result_words(content, call), ""
    shown = words(row)
    beside = finding.only(row, shown)
    return shown, "" if beside is None else f',"found":[{_as_json(beside)}]'
