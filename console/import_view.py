"""What a person sees of an import: what is in the file, what is wrong with it, what came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .pointing import pointed
from .screen import many

__all__ = ["view"]

_LISTED: Final = 20


def view(data: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """All of it, in lines: what is in the file, what is wrong with it, what came or would come.

    *options*: those of the call, of which the next one names the same database.
    """
    lines = [*_listed(data), *_wrong(data), ""]
    done = data["done"]
    if done is None:
        lines += _not_done(data)
        return "\n".join(lines) + "\n"
    if data["backup"]:
        lines.append(f"backup made first: {data['backup']}")
    lines.append(
        f"imported: {many(done['messages'], 'message')} into {many(done['sessions'], 'new session')}; "
        f"{done['known']:,} {'was' if done['known'] == 1 else 'were'} here already."
    )
    lines += _more(done)
    lines.append(
        pointed(
            "`hermes lcm verify` (from a clone `scripts/lcm verify`) proves the whole.", options
        )
    )
    return "\n".join(lines) + "\n"


def _not_done(data: Mapping[str, Any]) -> list[str]:
    """What would come; or that nothing does, for all of it is refused."""
    new = sum(each["new"] for each in data["sessions"])
    known = sum(each["known"] for each in data["sessions"])
    if not data["sessions"] and (data["refused"] or data["bad"]):
        return ["Nothing of it can be imported. Nothing was changed."]
    more = sum(each.get("summaries", 0) for each in data["sessions"])
    summaries = f" and {many(more, 'summary')}" if more else ""
    here = f"{known:,} {'is' if known == 1 else 'are'} here already"
    return [
        f"It would bring {many(new, 'message')}{summaries}; {here}.",
        "Nothing was changed. Run it without --dry-run to import it.",
    ]


def _more(done: Mapping[str, int]) -> list[str]:
    said = []
    if done.get("versions"):
        said.append(f"{many(done['versions'], 'earlier or later version')} of messages")
    if done.get("nodes"):
        said.append(f"{many(done['nodes'], 'summary')}")
    if done.get("renamed"):
        said.append(
            f"{done['renamed']:,} of them under new names, for something else has theirs here"
        )
    if done.get("payloads"):
        said.append(f"{many(done['payloads'], 'payload')} read from files beside the database")
    if done.get("left_out"):
        said.append(
            f"{many(done['left_out'], 'record')} left out, for what they rest on is not here"
        )
    return [f"  {each}" for each in said]


def _listed(data: Mapping[str, Any]) -> list[str]:
    shareable = " (shareable: known secrets taken out, no summaries)" if data["shareable"] else ""
    lines = [f"{data['kind']}: {data['file']}{shareable}"]
    for each in data["sessions"][:_LISTED]:
        name = (
            each["session"]
            if each["session"] == each["as"]
            else f"{each['session']} as {each['as']}"
        )
        when = f", {each['first'][:10]} to {each['last'][:10]}" if each.get("first") else ""
        lines.append(f"  {name}: {each['new']:,} new, {each['known']:,} known{when}")
    if (more := len(data["sessions"]) - _LISTED) > 0:
        lines.append(f"  and {many(more, 'session')} more (--json lists all)")
    skipped: dict[str, int] = {}
    for each in data["sessions"]:
        for why, count in each["skipped"].items():
            skipped[why] = skipped.get(why, 0) + count
    lines += [f"  left out: {count:,} {why}" for why, count in skipped.items()]
    if data.get("summaries_left"):
        lines.append(
            f"  left out: {many(data['summaries_left'], 'summary')}; new ones are made from the messages"
        )
    return lines


def _wrong(data: Mapping[str, Any]) -> list[str]:
    lines = [f"WRONG: {each['session']} does not come: {each['why']}" for each in data["refused"]]
    bad = [each for each in data["bad"] if not each["depends"]]
    lines += [f"WRONG: line {each['line']}: {each['why']}" for each in bad[:_LISTED]]
    if (more := len(bad) - _LISTED) > 0:
        lines.append(f"WRONG: and {many(more, 'line')} more (--json lists all)")
    return lines
