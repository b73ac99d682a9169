"""Open the plugin's database as another process would; read it back by the public tools."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path

from common import give, read_job

MANY = 10**6


def load_plugin(folder: Path):
    """Import the plugin that was installed, under the name that the tests use."""
    spec = importlib.util.spec_from_file_location(
        "lcm", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["lcm"] = module
    spec.loader.exec_module(module)
    return module


class Reader:
    """Calls the tools page by page."""

    def __init__(self, engine) -> None:
        self.engine = engine

    def call(self, tool: str, **arguments) -> dict:
        answer = json.loads(self.engine.handle_tool_call(tool, arguments, messages=[]))
        if "error" in answer:
            raise RuntimeError(f"{tool} {arguments}: {answer}")
        return answer

    def pages(self, tool: str, **arguments):
        cursor = {}
        while True:
            answer = self.call(tool, **arguments, **cursor)
            yield answer
            if not answer.get("cursor"):
                return
            cursor = {"cursor": answer["cursor"]}

    def messages(self, tool: str, **arguments) -> list[dict]:
        """All messages of all pages; one that was cut between two pages is whole again."""
        found: list[dict] = []
        for page in self.pages(tool, **arguments):
            for place, entry in enumerate(page["messages"]):
                if not place and found and found[-1]["uid"] == entry["uid"]:
                    for key in ("content", "json"):
                        if isinstance(entry.get(key), str):
                            found[-1][key] = (found[-1].get(key) or "") + entry[key]
                else:
                    found.append(entry)
        return found

    def grep(self, query: str, **more) -> list[dict]:
        return [
            hit for page in self.pages("lcm_grep", query=query, **more) for hit in page["results"]
        ]


def all_sessions() -> list[str]:
    """Every session that the host itself knows of."""
    from hermes_state import SessionDB

    db = SessionDB()
    found = [row[0] for row in db._conn.execute("select id from sessions order by started_at")]
    db.close()
    return found


def main() -> None:
    job = read_job()
    home = Path(os.environ["HERMES_HOME"])
    plugin = load_plugin(Path(job.get("plugin") or home / "plugins" / "lcm"))
    result = {}
    for session in job.get("sessions") or all_sessions():
        engine = plugin.LCMEngine(context_length=65536)
        engine.on_session_start(session, hermes_home=str(home), platform="cli")
        reader = Reader(engine)
        messages = reader.messages(
            "retrieve_conversation_history", start_turn=1, end_turn=MANY, detail_level="raw"
        )
        found = {query: reader.grep(query, **how) for query, how in job.get("queries", [])}
        under = {
            uid: reader.messages("lcm_expand", uid=uid, detail="raw") for uid in job.get("uids", [])
        }
        status = reader.call("lcm_status")
        result[session] = {"messages": messages, "found": found, "under": under, "status": status}
        engine.close()
    give({"sessions": result})


if __name__ == "__main__":
    main()
