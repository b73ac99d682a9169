"""What must hold, whatever a host did: judged from the store and the lists alone, by rules of its own."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from truth import Row, Truth, pieces, plain

__all__ = ["bodies", "check_graph", "check_messages", "difference", "faults", "same_row"]

_STUB = re.compile(r"\n?\[lcm [0-9a-f]{8}\] \d+ tokens are left out here;[^\n]*\n?")


def _words(row: dict[str, Any]) -> str:
    return json.dumps(row, sort_keys=True)


def bodies(store: Any, wanted: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    """Stored versions as the dicts that hosts once passed."""
    return [json.loads(message.body) for message in store.read(list(wanted))]


def check_messages(store: Any, truth: Truth, session: str) -> None:
    """Every message once, whole, in order; every word that was ever shown is kept."""
    kept = store.session(session)
    entries = store.entries(kept.line) if kept else []
    first = bodies(store, [(entry.id, 1) for entry in entries])
    now = [row for row, entry in zip(first, entries, strict=True) if not entry.withdrawn]
    expected = truth.expected(session)
    assert expected == now, difference(expected, now)
    lines = {store.session(name).line for name in truth.lines if store.session(name)}
    numbers = sorted({entry.id for line in lines for entry in store.entries(line)})
    count = Counter(map(_words, bodies(store, [(number, 1) for number in numbers])))
    said = Counter(map(_words, truth.first.values()))
    uids = Counter(_words(truth.first[each]) for each in truth.uids)
    for words, most in said.items():
        least = max(truth.most.get(words, 1), uids[words])
        assert least <= count[words] <= most, (words, least, count[words], most)
    assert not count.keys() - said.keys()
    text = [message.body.decode("utf-8", "replace") for message in store.stream()]
    lost = truth.said - pieces("\n".join(text))
    assert not lost, f"words that were shown and are kept nowhere: {sorted(lost)[:5]}"


def difference(expected: Sequence[Any], now: Sequence[Any]) -> str:
    """Where two conversations part."""
    at = next((n for n, (a, b) in enumerate(zip(expected, now, strict=False)) if a != b), None)
    at = min(len(expected), len(now)) if at is None else at
    return (
        f"{len(expected)} expected, {len(now)} stored; from row {at} on expected"
        f" {expected[at : at + 3]}, stored {now[at : at + 3]}"
    )


def check_graph(store: Any) -> None:
    """No node is above itself, and each stands for exactly what its sources stand for, in order."""
    lines = {session.line for session in store.sessions()}
    nodes = {
        node.uid: node
        for node in store.nodes_on(sorted(lines), kinds=("leaf", "condensed", "frame"))
    }
    for uid, node in nodes.items():
        under = _under(nodes, uid, ())
        assert under == [pair[0] for pair in store.stands_for(uid)]
        assert len(set(under)) == len(under)
        place = {entry.id: entry.seq for entry in store.entries(node.line)}
        places = [place[number] for number in under]
        assert places == sorted(places)
        assert (node.first_seq, node.last_seq) == (places[0], places[-1])


def _under(nodes: dict[str, Any], uid: str, above: tuple[str, ...]) -> list[int]:
    assert uid not in above, "the graph has a cycle"
    found: list[int] = []
    for source in nodes[uid].sources:
        inner = (
            [source.message] if source.node is None else _under(nodes, source.node, (*above, uid))
        )
        found += inner
    return found


def same_row(row: Row, kept: dict[str, Any]) -> bool:
    """Whether *kept* is the untouched copy of a row, or a stub that begins and ends as it does."""
    before, after = plain(row.data), plain(kept)
    if before == after or (row.ours and after.get("content") == row.rest):
        return True
    text, cut = str(after.get("content")), _STUB.search(str(after.get("content")))
    if not cut or {**before, "content": ""} != {**after, "content": ""}:
        return False
    whole = before["content"]
    if isinstance(whole, list):
        whole = "".join(part.get("text", "") for part in whole)
    return whole.startswith(text[: cut.start()]) and whole.endswith(text[cut.end() :])


def faults(rows: Sequence[dict[str, Any]]) -> Counter[str]:
    """What a strict provider refuses."""
    found: Counter[str] = Counter()
    open_calls: list[str] = []
    before = ""
    for row in rows:
        role = row["role"]
        if role == "system":
            continue
        if role == "tool":
            known = row.get("tool_call_id") in open_calls
            found["result without a call right before it"] += not known
            if known:
                open_calls.remove(row["tool_call_id"])
        else:
            found["call without a result"] += len(open_calls)
            open_calls = [call["id"] for call in row.get("tool_calls") or ()]
            found[f"{role} twice"] += role == before
        found["does not begin with a user"] += not before and role != "user"
        before = role
    found["call without a result"] += len(open_calls)
    return +found
