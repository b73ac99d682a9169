"""``show UID``: a message word for word; or what a summary says, and every message under it.

``show --turn N``: the tokens that suffice for a turn, and what one could ask of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ..dag.settings import Settings
from ..dag.states import state_at
from ..storage.canon import decode
from ..storage.proof import ALTERED, read_whole
from ..storage.protocol import Store
from ..storage.records import Message, Node, Session
from ..tools.answers import ToolError
from ..tools.desk import Desk
from .pointing import pointed
from .present import present
from .screen import clean, many
from .status import no_session, turns_of
from .verb import Answer, Call, WrongCall, number_to
from .wording import words

__all__ = ["add", "check", "gather", "run", "view"]

_MOST_TURNS: Final = 10_000_000
_MOST_NAMES: Final = 12
_MOST_TOKENS: Final = 1_000_000


def gather(store: Store, session: Session, uid: str) -> dict[str, Any]:
    """What *uid* names, and says, with the messages it stands for, in the version that was summarised.

    Raises:
        ToolError: nothing, or more than one thing, is called so.
    """
    desk = Desk(store, session, Settings())
    found = desk.find(uid)
    if found.node is not None:
        pairs, name, kind = store.stands_for(found.node.uid), found.node.uid, "node"
    elif found.message is not None:
        pairs, name, kind = (
            [(found.message.id, found.message.version)],
            found.message.uid,
            "message",
        )
    else:
        raise ToolError(f"Nothing is called '{uid}'.", "`hermes lcm tree --messages` lists names.")
    places = desk.places([number for number, _ in pairs])
    names = store.archive().aliases([number for number, _ in pairs])
    messages = [
        {
            "uid": message.uid,
            "names": list(names.get(message.id, ())),
            "turn": places[message.id].turn if message.id in places else None,
            "version": message.version,
            "message": row,
            **({} if whole else {"damaged": ALTERED}),
        }
        for message, row, whole in _read(store, pairs)
    ]
    said = _summary(found.node) if found.node is not None else {}
    return {"uid": name, "kind": kind, **said, "messages": messages}


def _read(
    store: Store, pairs: Sequence[tuple[int, int]]
) -> Iterator[tuple[Message, dict[str, Any], bool]]:
    """Messages, what the host had, and whether that is what was stored: of one that is not, what there is."""
    for pair, message in zip(pairs, read_whole(store, pairs), strict=True):
        if message is not None:
            yield message, decode(message.body), True
        else:
            ((found, row),) = store.parsed([pair], damaged=True)
            yield found, row, False


def _summary(node: Node) -> dict[str, Any]:
    """What a node says, at each of its sizes; of a summary row, which says nothing itself, what it shows."""
    return {
        "turns": [node.first_turn, node.last_turn],
        "depth": node.depth,
        "topic": node.topic,
        "levels": {str(level): text for level, text in sorted(node.texts.items())},
        "hints": list(node.hints),
        "degraded": node.degraded,
        "shown_at": None,
        "shows": [source.node for source in node.sources] if node.kind == "frame" else [],
    }


def gather_turn(store: Store, session: Session, turn: int) -> dict[str, Any]:
    """What suffices for a turn, and what one could ask of it; by the state after it where there is one.

    Raises:
        ToolError: there is no such turn.
    """
    found = state_at(store, session.line, turn)
    if found is None:
        raise ToolError(_no_turn(turn, turns_of(store, session)), "")
    own = [entry for entry in store.turns(session.line, turn, turn) if not entry.withdrawn]
    shown = {entry.id for entry in present(store, session).behind}
    verbatim = bool(own) and all(entry.id in shown for entry in own)
    return {**found.plain(), "messages": [entry.uid for entry in own], "verbatim": verbatim}


def _no_turn(turn: int, last: int) -> str:
    if turn <= last:
        return f"Nothing of turn {turn} is in the conversation any more: it was withdrawn."
    return f"There is no turn {turn}: the conversation has {many(last, 'turn')}."


def view_turn(data: Mapping[str, Any], opens: str = "`show UID`") -> str:
    """By what it is known, the tokens that suffice, the hints, and the text of the size that suffices.

    What stands over several turns says all of this of them together; the turn's own words are named, and with
    which command one *opens* them.
    """
    name, turns = data["uid"][:8], "-".join(dict.fromkeys(map(str, data["turns"])))
    known = {
        "state": f"the state {name} of the conversation after it (turns {turns})",
        "node": f"the summary {name} of turns {turns}",
        "messages": "its messages, which stand under no summary",
    }
    said = [f"[turn {data['turn']}, by {known[data['by']]}]"]
    if data["verbatim"] and data["by"] != "messages":
        said.append("[it stands in the context word for word; this was prepared for later]")
    said += [f"topic: {data['topic']}"] if data["topic"] else []
    whole = f" for turns {turns} as a whole" if "-" in turns else ""
    said.append(f"sufficient: {data['sufficient_tokens']} tokens{whole}")
    said += [f"ask about: {'; '.join(data['hints'])}"] if data["hints"] else []
    said += [data["levels"][str(data["sufficient_tokens"])]] if data["levels"] else []
    names = ", ".join(uid[:8] for uid in data["messages"][:_MOST_NAMES])
    more = (
        f" and {len(data['messages']) - _MOST_NAMES} more" if data["messages"][_MOST_NAMES:] else ""
    )
    said.append(f"[the messages of turn {data['turn']}: {names}{more}; {opens} gives one]")
    return clean("\n".join(said) + "\n")


def view(data: Mapping[str, Any], most: int | None = None) -> str:
    """What a summary says, in the largest of its sizes (up to *most* tokens); each message under a line that names it.

    Texts as they are, never wrapped.
    """
    shown = _of_summary(data, most) if data["kind"] == "node" else []
    for each in data["messages"]:
        row = each["message"]
        turn = f" turn {each['turn']}" if each["turn"] else ""
        # What another program called it says where it came from; other uids say nothing to a person.
        origin = "".join(f", {name}" for name in each["names"] if ":" in name)
        damage = f", {each['damaged']}" if "damaged" in each else ""
        head = f"[{each['uid'][:8]}{turn} {row.get('role')}{origin}{damage}]"
        shown.append(f"{head}\n{words(row)}\n")
    return clean("\n".join(shown))


def _of_summary(data: Mapping[str, Any], most: int | None) -> list[str]:
    """Its topic, its text at one of its sizes, which of them the context shows, and what one could ask of it."""
    turns = "-".join(dict.fromkeys(map(str, data["turns"])))
    head = f"[summary {data['uid'][:8]} of turns {turns}, {many(len(data['messages']), 'message')}"
    if data["shows"]:
        return [
            f"{head}: a summary row that shows {', '.join(each[:8] for each in data['shows'])}]\n"
        ]
    extracted = ", extracted without a model" if data["degraded"] else ""
    sizes = sorted(data["levels"], key=int)
    size = next((each for each in reversed(sizes) if most is None or int(each) <= most), sizes[0])
    at = data["shown_at"]
    same = ", as the context shows it" if str(at) == size else f"; the context shows up to {at}"
    rest = ", ".join(each for each in sizes if each != size)
    others = f"; other sizes: --level {rest}" if rest else ""
    said = [f"{head}, in up to {size} tokens{same if at else ''}{extracted}{others}]"]
    said += [f"topic: {data['topic']}"] if data["topic"] else []
    said.append(data["levels"][size])
    said += [f"ask about: {'; '.join(data['hints'])}"] if data["hints"] else []
    return ["\n".join(said) + "\n"]


def run(call: Call) -> Answer:
    """Open it, where any session began."""
    session = call.found()
    if session is None:
        said = no_session(call.store, call.facts)
        return Answer({"session": None, "note": said}, shown=[said])
    if turn := call.options.get("turn"):
        data = gather_turn(call.open(), session, turn)
        return Answer(data, text=view_turn(data, pointed("`show UID`", call.options)))
    found = [gather(call.open(), session, name) for name in _names(call.options["uid"])]
    level = call.options.get("level")
    if level and any(each["kind"] == "message" for each in found):
        raise WrongCall("--level is for summaries: a message is shown as it is.")
    if nodes := [each for each in found if each["kind"] == "node"]:
        shown = {each.node.uid: each.level for each in present(call.open(), session).blocks}
        for each in nodes:
            each["shown_at"] = shown.get(each["uid"])
    text = "\n".join(view(each, level) for each in found)
    whole = not any("damaged" in message for each in found for message in each["messages"])
    return Answer(found[0] if len(found) == 1 else {"found": found}, whole, text=text)


def _names(words: Sequence[str]) -> list[str]:
    """The names that were given: of ``[lcm 1a2b3c4d]`` a shell makes two words."""
    names: list[str] = []
    for word in words:
        if names and names[-1].startswith("[") and "]" not in names[-1]:
            names[-1] += f" {word}"
        else:
            names.append(word)
    return names


def check(options: Mapping[str, Any]) -> None:
    """One thing has to be asked for."""
    turn, names = options.get("turn"), options.get("uid")
    if bool(turn) == bool(names):
        only = "; not both" if turn else ""
        raise WrongCall(f"Say which one: a uid, or --turn with a number{only}.")
    if turn and options.get("level"):
        raise WrongCall("--level is for a summary: --turn shows what suffices for the turn.")


def add(parser: argparse.ArgumentParser) -> None:
    """Which one."""
    parser.add_argument(
        "lcm_uid",
        metavar="UID",
        nargs="*",
        help="6 or more characters, as search and tree show them, or as a summary does: [lcm 1a2b3c4d]; "
        "several, one after the other",
    )
    parser.add_argument(
        "--turn",
        dest="lcm_turn",
        type=number_to(_MOST_TURNS),
        metavar="N",
        help="what suffices for turn N, and what one could ask of it",
    )
    parser.add_argument(
        "--level",
        dest="lcm_level",
        type=number_to(_MOST_TOKENS),
        metavar="N",
        help="a summary in at most N tokens (default: in the largest of its sizes)",
    )
