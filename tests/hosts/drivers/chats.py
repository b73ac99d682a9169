"""``/lcm`` where people type it: the command line, a gateway with many chats, the server of the terminal UI."""

from __future__ import annotations

import asyncio
import json
import queue
import subprocess
import sys
import threading

from common import give, read_job

#: Seconds that the terminal UI's server may take for one answer.
PATIENCE = 120


def in_gateway(talk: list[list[str]]) -> list[str]:
    """What one gateway answers to each [chat, text], one after the other."""
    from gateway.config import GatewayConfig, Platform
    from gateway.platforms.base import MessageEvent
    from gateway.run import GatewayRunner
    from gateway.session import SessionSource

    runner = GatewayRunner(GatewayConfig())

    async def hear(chat: str, text: str) -> str:
        source = SessionSource(platform=Platform.LOCAL, chat_id=chat, user_id=chat, user_name=chat)
        return str(await runner._handle_message(MessageEvent(text=text, source=source)))

    async def hold() -> list[str]:
        return [await hear(chat, text) for chat, text in talk]

    return asyncio.run(hold())


def on_command_line(talk: list[list[str]]) -> list[str]:
    """The same at the real command line; commands only are answered."""
    import cli
    from person import Person

    shown: list[str] = []
    show = cli._cprint
    person = Person()
    said = []
    for _, text in talk:
        if not text.startswith("/"):
            person.say(text)
            continue
        if text == "/new":  # it would ask whether one is sure
            person.new()
            continue
        cli._cprint = shown.append  # its standard output is prompt_toolkit's from the first turn on
        person.cli.process_command(text)
        cli._cprint = show
        said.append("\n".join(shown))
        shown.clear()
    person.leave()
    return said


class TerminalServer:
    """The server behind the terminal UI, spoken to as the UI does."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tui_gateway.entry"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.heard: queue.Queue = queue.Queue()
        self.calls = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self.process.stdout:
            if line.startswith("{"):
                self.heard.put(json.loads(line))
        self.heard.put(None)

    def _next(self) -> dict:
        found = self.heard.get(timeout=PATIENCE)
        if found is None:
            raise EOFError("the server has ended")
        return found

    def call(self, method: str, **params) -> dict:
        self.calls += 1
        asked = {"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        while (found := self._next()).get("id") != self.calls:
            pass
        return found.get("result") or found["error"]

    def say(self, tab: str, text: str) -> None:
        self.call("prompt.submit", session_id=tab, text=text)
        while (self._next().get("params") or {}).get("type") != "message.complete":
            pass

    def leave(self) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()


def in_terminal_ui(talk: list[list[str]]) -> list[str]:
    """The same in tabs of the terminal UI, one for each chat; commands only are answered."""
    server = TerminalServer()
    tabs: dict[str, str] = {}
    said = []
    try:
        for chat, text in talk:
            if chat not in tabs:
                tabs[chat] = server.call("session.create", cols=80)["session_id"]
            if text.startswith("/"):
                said.append(
                    server.call("slash.exec", session_id=tabs[chat], command=text)["output"]
                )
            else:
                server.say(tabs[chat], text)
    except EOFError:
        return ["the server has ended"]
    finally:
        server.leave()
    return said


WHERE = {"gateway": in_gateway, "command line": on_command_line, "terminal ui": in_terminal_ui}

if __name__ == "__main__":
    job = read_job()
    give({"said": WHERE[job["where"]](job["talk"])})
