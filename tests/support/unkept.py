"""What the tests of sessions that leave no trace share: a conversation, ids, and what is on disk."""

from __future__ import annotations

__all__ = ["CRON", "ROTATED", "SessionDb", "conversation", "files"]


def conversation(turns=16):
    """Turns of about 130 tokens."""
    rows = []
    for n in range(turns):
        rows.append({"role": "user", "content": f"question {n} about the harbour " + "word " * 60})
        rows.append({"role": "assistant", "content": f"answer {n} " + "text " * 60})
    return rows


def files(folder):
    """All bytes of all files under *folder*."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


class SessionDb:
    """A host's session database, as far as it is asked where a session came from."""

    def __init__(self, **parents):
        self.rows = {name: {"parent_session_id": parent} for name, parent in parents.items()}

    def get_session(self, name):
        return self.rows.get(name) or {"end_reason": "compression"}


CRON, ROTATED = "cron_3f2a91bc_20261130_030000", "20261130_030500_ab12cd"
