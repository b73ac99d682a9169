"""Agents as a gateway or another program makes them: by the class itself, on the host's own database."""

from __future__ import annotations

from common import make_agent


class Bench:
    """A database of the host's, and the agents that were made on it."""

    def __init__(self, *, in_place: bool = True) -> None:
        from hermes_state import SessionDB

        self.db = SessionDB()
        self.in_place = in_place
        self.agents: list = []

    def agent(self, session: str | None = None, **more):
        """A new agent; on *session* if one is named."""
        agent = make_agent(self.db, **({"session_id": session} if session else {}), **more)
        agent.compression_in_place = self.in_place
        self.agents.append(agent)
        return agent

    def restored(self, session: str, **how) -> list[dict]:
        """The conversation as the host's database gives it back."""
        return self.db.get_messages_as_conversation(session, **how)

    def say(self, agent, rows: list[dict], *texts) -> list[dict]:
        """One turn for each text; the list after the last."""
        for text in texts:
            result = agent.run_conversation(text, conversation_history=rows)
            assert not result.get("failed"), result
            rows = result["messages"]
        return rows

    def compact(self, agent, rows: list[dict]) -> list[dict]:
        """What the host does for /compress."""
        return agent._compress_context(rows, "", approx_tokens=5_000, force=True)[0]

    def leave(self, agent, rows: list[dict]) -> None:
        """The end of one agent."""
        agent.shutdown_memory_provider(rows)
        agent.close()
        self.agents.remove(agent)

    def close(self) -> None:
        for agent in list(self.agents):
            self.leave(agent, [])
        self.db.close()
