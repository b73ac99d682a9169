"""All verbs, in the order in which they are listed."""

from __future__ import annotations

from typing import Final

from .verb import Verb

__all__ = ["VERBS"]

_ALL: Final = (
    Verb(
        "status",
        "whether it is on, what is kept, what it saved",
        ("", "--json"),
        opens="maybe",
        salvages=True,
    ),
    Verb(
        "why",
        "what stands in the context now, for what, and what was replaced when",
        ("", "--all", "--json"),
        salvages=True,
    ),
    Verb(
        "search",
        "find what was said",
        (
            "which port did we choose",
            "--scope all --mode regex 'E[0-9]{4}'",
            "disk full --role tool --since yesterday",
        ),
    ),
    Verb("tree", "the graph of summaries", ("", "--depth 1", "--messages"), salvages=True),
    Verb(
        "view",
        "see the conversation and its summaries in a browser, or in a file",
        ("", "--open", "--out talk.html --session 20261130"),
        module="viewing",
        salvages=True,
        in_chat=False,
    ),
    Verb(
        "show",
        "a message word for word; or what a summary says, and all under it",
        ("1a2b3c4d", "--turn 12"),
        salvages=True,
    ),
    Verb(
        "sessions",
        "the conversations: how long, since when, where from",
        ("", "--all", "--json"),
        salvages=True,
        in_chat=False,
    ),
    Verb(
        "doctor", "what is wrong, and what to do about it", ("", "--fix", "--json"), opens="itself"
    ),
    Verb(
        "verify",
        "re-derive every digest, account for every message, and look for all that Hermes has",
        ("", "--json", "--host-db ~/.hermes/state.db"),
        module="verifying",
    ),
    Verb(
        "backup",
        "a checked copy of everything, also while agents write",
        ("", "~/lcm-copy.db", "/media/stick --json"),
        opens="itself",
        in_chat=False,
    ),
    Verb(
        "export",
        "everything, or a session with --session, in a file for another program or a person",
        (
            "--out everything.jsonl",
            "--session 20261130 --format markdown > talk.md",
            "--format state --session 20261130",
            "--format markdown --shareable --out for-a-friend.md",
        ),
        salvages=True,
        in_chat=False,
    ),
    Verb(
        "import",
        "an export, or the messages of hermes-lcm, lcm-x or lossless-claw",
        (
            "everything.jsonl --dry-run",
            "everything.jsonl",
            "~/.openclaw/lcm.db --dry-run",
            "old.db --session 20261130",
        ),
        module="importing",
        undone="Conversations that were imported before are here, whole; of the others nothing is.",
        opens="itself",
        in_chat=False,
    ),
    Verb(
        "forget",
        "take a session, or a string wherever it stands, out for good",
        ("--session 20261130_0116", "--text", "--text --yes < secret.txt", "--finish"),
        opens="to write",
        undone="Nothing was forgotten.",
        in_chat=False,
    ),
)

VERBS: Final[dict[str, Verb]] = {verb.name: verb for verb in _ALL}
