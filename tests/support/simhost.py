"""A host in miniature: a list of rows, and everything that the two generations of Hermes do to it.

``uids`` says which generation it is. Without, it passes its live list, whose dicts it changes in
place, and restores a session stripped and flattened. With, it passes copies, and messages carry
``message_uid`` from their first flush on.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from random import Random
from typing import Any

from truth import Row

__all__ = ["FLAG", "Host", "flat", "joined"]

#: Texts that people and models say again and again.
COMMON = ("ok", "Done.", "yes, please", "Thanks!")
TEMPLATE = (
    "Here is the next job of the nightly series, with the same long words as every one of them."
)


#: What hosts put on a user's row that they wrote themselves.
FLAG = "_todo_snapshot_synthetic"


class Host:
    """One conversation as its host has it. ``rows`` is the list; its dicts are the live ones."""

    def __init__(self, dice: Random, *, uids: bool) -> None:
        self.dice = dice
        self.uids = uids
        self.rows: list[Row] = []
        self.count = 0
        self.gone: set[str] = set()
        """What was said in rows that are gone from the list, since it was shown last."""

    # messages

    def _number(self) -> int:
        self.count += 1
        return self.count

    def text(self, style: str, words: int = 0) -> str:
        """A new text; a common one only where its row cannot be an earlier one, for nothing but a uid would tell.

        One word alone may be any of those that were said, and one that was taken back with others, unseen,
        may be what is left of a filtered list (decision 22).
        """
        number = self._number()
        again = [words for words in COMMON if words not in self.gone]
        if style == "common" and again and (self.uids or self.rows):
            return self.dice.choice(again)
        body = " ".join(f"z{number}x{n}" for n in range(words or self.dice.choice((2, 6, 14, 30))))
        if style == "template":
            return f"{TEMPLATE} {body}"
        if style == "spaced":
            return f"  {body.replace(' ', '  ', 3)}\n"
        if style == "secret":
            return f"{body} the key is sk-ABCDEF{number:08d} for now"
        if style == "lines":
            return f"{body}\n\n{body.split()[0]}y and another paragraph\n- and a list"
        return body

    def add(self, role: str, content: Any, **more: Any) -> Row:
        """Append a message."""
        row = Row({"role": role, "content": content, **more}, (self._number(),))
        self.rows.append(row)
        return row

    def content(self, style: str) -> Any:
        """The content of a user's message in some style."""
        text = self.text(style)
        if style != "picture":
            return text
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{'A' * 40}"}}
        return [{"type": "text", "text": text}, picture]

    def answer(self, style: str) -> None:
        """The model's answer; what it thought is not restored by every host."""
        more = {"reasoning": self.text("plain", 2)} if self.dice.random() < 0.3 else {}
        if style == "common":  # the same words are the same row
            more = {}
        self.add("assistant", self.text(style), **more)

    def steps(self, ids: Sequence[str], *, answered: int) -> None:
        """Parallel calls of one assistant row, and the results of the first *answered* of them."""
        calls = [
            {
                "id": each,
                "type": "function",
                "function": {
                    "name": "read_file",
                    "arguments": f'{{"path": "{self.text("plain", 1)}"}}',
                },
            }
            for each in ids
        ]
        named = {each: uuid_of(self.dice) for each in ids}
        more = {"_tool_call_uids": named} if self.uids else {}
        words = self.text("plain", 3) if self.dice.random() < 0.3 else ""
        self.add("assistant", words, tool_calls=calls, **more)
        for each in ids[:answered]:
            more = {"_tool_call_uid": named[each]} if self.uids and self.dice.random() < 0.7 else {}
            self.add("tool", self.text("plain"), tool_call_id=each, **more)

    def flush(self) -> None:
        """Every row gets the uid that it will have for ever, on the same dict."""
        for row in self.rows:
            if self.uids and "message_uid" not in row.data:
                row.data["message_uid"] = uuid_of(self.dice)

    # places

    def messages(self, role: str = "") -> list[int]:
        """Places of the rows that are messages and nothing else."""
        return [
            n
            for n, row in enumerate(self.rows)
            if row.ids and not row.ours and role in ("", row.data["role"])
        ]

    def users(self) -> list[int]:
        return [n for n, row in enumerate(self.rows) if row.data["role"] == "user" and not row.ours]

    def cut(self, at: int) -> None:
        """Take back the rows from *at* on."""
        if not self.uids:
            self.gone |= {flat(row.data["content"]).strip() for row in self.rows[at:]}
        del self.rows[at:]

    # what hosts do to rows

    def write(self, at: int, content: Any) -> None:
        """Rewrite a row in place."""
        self.rows[at].data["content"] = content

    def merge(self, at: int) -> None:
        """Fold the row behind *at* into it, as ``repair_message_sequence`` does."""
        first, second = self.rows[at], self.rows[at + 1]
        between = "\n" if first.data["role"] == "assistant" else "\n\n"
        first.data["content"] = joined(first.data["content"], second.data["content"], between)
        calls = [*first.data.get("tool_calls", ()), *second.data.get("tool_calls", ())]
        if calls:
            first.data["tool_calls"] = calls
        if first.ours:
            first.rest = joined(first.rest, second.data["content"], between).strip()
        first.ids += second.ids
        first.spoken = first.spoken or second.spoken or FLAG not in second.data
        if self.uids:
            self._witness(first.data, second.data)
        del self.rows[at + 1]

    def _witness(self, first: dict[str, Any], second: dict[str, Any]) -> None:
        uids = [*first.get("_absorbed_message_uids", ())]
        uids += [second["message_uid"]] if "message_uid" in second else []
        uids += second.get("_absorbed_message_uids", ())
        if uids:
            first["_absorbed_message_uids"] = list(dict.fromkeys(uids))
        both = dict(first.get("_tool_call_uids", {}))
        for name, uid in second.get("_tool_call_uids", {}).items():
            both[name] = [*_listed(both[name]), *_listed(uid)] if name in both else uid
        if both:
            first["_tool_call_uids"] = both

    def restored(self, *, flags: bool) -> list[Row]:
        """The list as it comes back from the host's database."""
        return [self._restored(row, n, flags=flags) for n, row in enumerate(self.rows)]

    def _restored(self, row: Row, place: int, *, flags: bool) -> Row:
        kept = ("role", "content", "tool_calls", "tool_call_id")
        if self.uids:
            kept += ("message_uid", "_absorbed_message_uids", "_tool_call_uids", "_tool_call_uid")
            kept += ("_compressed_summary",) if flags else ()
        back = row.copied()
        back.data = {key: value for key, value in back.data.items() if key in kept}
        content = back.data.get("content")
        back.data["content"] = (content if isinstance(content, str) else flat(content)).strip()
        back.data["timestamp"] = 1_700_000_000.0 + place
        return back


def joined(first: Any, second: Any, between: str) -> str:
    parts = [first.strip(), second.strip()] if between == "\n" else [first, second]
    return between.join(part for part in parts if part)


def flat(content: Any) -> str:
    """The words of a list of parts."""
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if "text" in part)
    return str(content or "")


def uuid_of(dice: Random) -> str:
    """A uid as hosts mint them."""
    return uuid.UUID(int=dice.getrandbits(128), version=4).hex


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]
