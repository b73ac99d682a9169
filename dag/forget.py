"""What goes when a session, or a string, is forgotten on request; and how it goes.

First a plan, which a person sees, then the same plan made anew and carried out in one transaction.
Digests of what was there are kept in stones, so that what stands over it can still be verified.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from ..storage.canon import decode, digest, pack_text
from ..storage.errors import StoreDamaged, StoreIndexBroken
from ..storage.escapes import said
from ..storage.forget import Stone
from ..storage.protocol import Store
from ..storage.records import Entry, Message, Node, Session
from .cases import Cases
from .erase import GONE, Cleaner, eraser, forms_of, plain_forms, stones_of
from .messages import draft_of, key_of
from .nodes import marks_of, uid_of
from .remnants import Remnants
from .strings import strings_of

__all__ = [
    "SessionPlan",
    "TextPlan",
    "forget_session",
    "forget_text",
    "node_digest",
    "plan_session",
    "plan_text",
    "refusal",
]

#: A shorter string would be found in the middle of everything.
_LEAST_CHARACTERS: Final = 4

Progress = Callable[[str, int, int], None]
_PAGE: Final = 500


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """What goes with a session."""

    line: int
    sessions: tuple[str, ...]
    """All that stand on its line: the host gave the conversation a new name now and then."""
    entries: tuple[Entry, ...]
    """The messages that go."""
    shared: int
    """Messages that stay, because a branch shows them too."""
    branches: tuple[str, ...]
    """Sessions that were branched from it, and stay."""
    nodes: tuple[str, ...]
    """uids of the summaries and summary rows that go."""
    rows: int = 0
    """How many of these are no summaries: rows that showed some, or states."""


@dataclass(frozen=True, slots=True)
class TextPlan:
    """Where a string stands."""

    messages: tuple[Message, ...]
    """Versions of messages, without their bodies."""
    nodes: tuple[str, ...]
    """uids of summaries that hold it, or a part of it that nothing else under them says."""
    names: tuple[str, ...]
    """Sessions in whose name it stands; those are not changed."""
    uids: tuple[str, ...] = ()
    """The host's names of messages in which it stands: each gets another in its place."""
    told: tuple[str, ...] = ()
    """uids of summaries by a model over those messages: what one says of it in other words is not known."""
    left: Mapping[str, int] = field(default_factory=dict)
    """In how many rows of what it stands, looked for byte by byte: before the deed, or after it."""
    other_case: Mapping[str, Any] = field(default_factory=dict)
    """Where it stands in another case, which stays: see :meth:`.cases.Cases.told`."""


_Plan = TypeVar("_Plan", SessionPlan, TextPlan)


# a session


def plan_session(store: Store, session: Session) -> SessionPlan:
    """What would go."""
    tools, sessions = store.eraser(), store.sessions()
    entries = tools.alone(session.line)
    branches = [
        each.name
        for each in sessions
        if each.line != session.line and session.line in store.lineage(each.line)
    ]
    nodes = tools.above([entry.id for entry in entries])
    kinds = [node.kind for node in store.nodes(nodes, brief=True, damaged=True)]
    return SessionPlan(
        line=session.line,
        sessions=tuple(each.name for each in sessions if each.line == session.line),
        entries=tuple(entries),
        shared=store.totals(session.line).messages - len(entries),
        branches=tuple(branches),
        nodes=tuple(nodes),
        rows=sum(kind not in ("leaf", "condensed") for kind in kinds),
    )


def forget_session(
    store: Store, session: Session, time: float, progress: Progress | None = None
) -> SessionPlan:
    """Take a session out; *time* in Unix seconds. Returns what went."""
    return _again(lambda: _forget_session(store, session, time, progress))


def _forget_session(
    store: Store, session: Session, time: float, progress: Progress | None
) -> SessionPlan:
    tools = store.eraser()
    with store.writing():
        plan = plan_session(store, session)
        tools.remove(plan.line, [entry.id for entry in plan.entries], plan.nodes)
        was = digest(*(entry.digest for entry in plan.entries))
        detail = {"messages": len(plan.entries), "nodes": len(plan.nodes)}
        for n, name in enumerate(plan.sessions):  # counted once, however many names it had
            counted = detail if not n else {}
            tools.bury(Stone("session", name, time, was, plan.line, counted))
        _sweep(store, progress)
    return plan


def _again(carry_out: Callable[[], _Plan]) -> _Plan:
    """Where the search index fails all is undone, and it is made anew the second time."""
    try:
        return carry_out()
    except StoreIndexBroken:
        return carry_out()


# a string


def refusal(text: str) -> str:
    """Why *text* cannot be forgotten; empty if it can."""
    forms = plain_forms(text)
    if min((len(form.strip()) for form in forms), default=0) < _LEAST_CHARACTERS:
        return f"The string must have {_LEAST_CHARACTERS} characters at least, blanks in a row counted as one."
    if any(form in GONE for form in forms):
        return (
            f"{GONE} stands in the place of what was forgotten: neither it nor a part of it can be."
        )
    return ""


def _check(text: str) -> None:
    if why := refusal(text):
        raise ValueError(why)


def plan_text(store: Store, text: str, progress: Progress | None = None) -> TextPlan:
    """Where *text* stands, in any of its forms.

    Raises:
        ValueError: it cannot be forgotten: see :func:`refusal`.
    """
    _check(text)
    cleaner, forms, cases = Cleaner(erase=eraser(stones_of(text, 0.0))), forms_of(text), Cases(text)
    held = _messages(store, cleaner, forms, cases, progress)
    found = [each._replace(body=b"") for each in held]
    nodes, told = _nodes(store, cleaner, forms, found)
    uids = tuple(uid for _, uid in _uids(store, cleaner, forms))
    return TextPlan(
        tuple(found),
        tuple(node.uid for node in nodes),
        _names(store, forms),
        uids,
        told,
        _standing(store, text),
        cases.told(),
    )


def _names(store: Store, forms: Sequence[str]) -> tuple[str, ...]:
    return tuple(each.name for each in store.sessions() if _says([each.name], forms))


def _standing(store: Store, text: str) -> dict[str, int]:
    """Where the bytes of any form of *text* stand, also as the store's own JSON writes them, or any other JSON."""
    forms = forms_of(text)
    written = [json.dumps(form, ensure_ascii=False)[1:-1] for form in forms]
    needles = [pack_text(form) for form in dict.fromkeys([*forms, *written])]
    return store.eraser().holding(needles, [pack_text(form) for form in plain_forms(text)])


def _uids(store: Store, cleaner: Cleaner, forms: Sequence[str]) -> list[tuple[int, str]]:
    """Numbers of messages and those of their names in which it stands."""
    return [each for each in store.eraser().called(forms) if cleaner.name(each[1]) != each[1]]


def _messages(
    store: Store,
    cleaner: Cleaner,
    forms: Sequence[str],
    cases: Cases,
    progress: Progress | None,
) -> Iterator[Message]:
    """Those that hold it; what stands in another case is noted beside, for the log is looked through once."""
    total = store.totals().messages if progress else 0
    for end, pairs in store.eraser().suspects([*forms, *cases.forms]):
        for at in range(0, len(pairs), _PAGE):
            if progress:
                progress("messages", pairs[at][0], max(total, pairs[at][0]))
            for message in _read(store, pairs[at : at + _PAGE]):
                row = decode(message.body)
                read = [each for text in strings_of([message.role, row]) for each in said(text)]
                cases.note(message.id, read)
                if _holds(read, forms) and _is_changed(message, row, cleaner):
                    yield message
        if progress:
            progress("messages", end, max(total, end))


def _read(store: Store, pairs: Sequence[tuple[int, int]]) -> list[Message]:
    """One that cannot be read is passed over; its bytes are looked for in the end."""
    try:
        return list(store.read(pairs))
    except StoreDamaged:
        return [] if len(pairs) == 1 else [each for pair in pairs for each in _read(store, [pair])]


def _is_changed(message: Message, row: Any, cleaner: Cleaner) -> bool:
    """Whether there is anything in a message to be taken out."""
    role = {"role": message.role}
    return cleaner.row(row) is not row or cleaner.row(role) is not role


def _nodes(
    store: Store, cleaner: Cleaner, forms: Sequence[str], messages: Sequence[Message]
) -> tuple[list[Node], tuple[str, ...]]:
    """The nodes that lose something, as they become; and which nodes over *messages* a model wrote."""
    tools = store.eraser()
    over = set(tools.above(list(dict.fromkeys(each.id for each in messages))))
    spoken = [
        (uid, words) for uid, words in tools.words() if words
    ]  # else its bytes are looked for
    held = store.nodes([u for u, words in spoken if u in over or _says(words, forms)])
    clean = Remnants(store, cleaner, forms).without(held)
    changed = [new for new, old in zip(clean, held, strict=True) if new != old]
    told = [n.uid for n in held if n.uid in over and n.texts and not n.degraded]
    return changed, tuple(told)


def _says(texts: Sequence[str], forms: Sequence[str]) -> bool:
    """Whether any of *texts* holds one of *forms*, as it is or with its escapes undone."""
    return any(_holds(said(text), forms) for text in texts)


def _holds(texts: Sequence[str], forms: Sequence[str]) -> bool:
    return any(form in text for text in texts for form in forms)


def forget_text(store: Store, text: str, time: float, progress: Progress | None = None) -> TextPlan:
    """Put ``[forgotten]`` in the place of *text* wherever it stands, now and from now on; nothing if it stands nowhere.

    Raises:
        ValueError: it cannot be forgotten: see :func:`refusal`.
    """
    _check(text)
    plan = _again(lambda: _forget_text(store, text, time, progress))
    return replace(plan, left=_standing(store, text))  # nobody waits for it


def _forget_text(store: Store, text: str, time: float, progress: Progress | None) -> TextPlan:
    stones, forms = stones_of(text, time), forms_of(text)
    cleaner, cases = Cleaner(erase=eraser(stones)), Cases(text)
    with store.writing():
        messages = list(_messages(store, cleaner, forms, cases, progress))
        nodes, told = _nodes(store, cleaner, forms, messages)
        uids = _uids(store, cleaner, forms)
        if messages or nodes or uids:
            for stone in stones:
                store.eraser().bury(stone)
            for message in messages:
                _overwrite(store, message, cleaner, time)
            for node in nodes:
                _overwrite_node(store, node, time)
            for number, uid in uids:
                store.eraser().rename(number, uid, cleaner.name(uid))
            _sweep(store, progress)
    return TextPlan(
        tuple(each._replace(body=b"") for each in messages),
        tuple(node.uid for node in nodes),
        _names(store, forms),
        tuple(uid for _, uid in uids),
        told,
        other_case=cases.told(),
    )


def _sweep(store: Store, progress: Progress | None) -> None:
    """Leave nothing of it outside the log, and say how far that is."""
    total = store.totals()
    texts = total.messages + total.versions
    store.eraser().sweep(lambda done: progress("texts indexed", done, texts) if progress else None)


def _overwrite(store: Store, message: Message, cleaner: Cleaner, time: float) -> None:
    row = cleaner.row(decode(message.body))
    draft = draft_of(row, key=key_of(row), uid=message.uid, time=message.time)
    store.eraser().overwrite(message.id, message.version, draft)
    name = f"{message.id}@{message.version}"
    store.eraser().bury(Stone("message", name, time, draft.digest))


def _overwrite_node(store: Store, clean: Node, time: float) -> None:
    store.eraser().overwrite_node(clean)
    pairs = [(s.message, s.version) for s in clean.sources if s.message is not None]
    digests = store.audit().digests(pairs)
    store.eraser().bury(Stone("node", clean.uid, time, node_digest(clean, digests)))


def node_digest(node: Node, digests: Mapping[tuple[int, int], bytes]) -> bytes:
    """What a node's texts and sources give: its uid, unless something in it was forgotten.

    *digests*: of the (message, version) pairs among its sources.
    """
    return bytes.fromhex(uid_of(node, marks_of(node, digests)))
