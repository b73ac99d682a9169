"""A summariser that fails, in each way that one can.

Every second source that it has not seen yet is failed in the next way of :data:`WAYS`; the same source,
whole, in parts or again, always meets the same fate. When each way was gone, all summaries are good.
"""

from __future__ import annotations

import io
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

from lcm.demo.model import Script, ScriptedModel, estimate, text_of

_GOOD = "The user had the harbour light measured; the agent measured it and noted what it found."
_PROMPT = re.compile(r" conversation begins\n(.*)\n[^\n]* conversation ends", re.DOTALL)
#: Seconds that a late answer takes; more than the time-out of any test.
_LATE = 30.0


@dataclass(frozen=True)
class Way:
    """One way to fail."""

    reason: str  #: a pattern that what the plugin says of it has
    message: Callable[[str], Mapping[str, Any]] = lambda _: {}
    """Keys of the answer's message, made from the source."""
    finish: str = "stop"
    status: int = 200  #: of the response; 0: the connection is closed without one
    late: bool = False
    whole_only: bool = False
    """Whether parts of the source fare better."""


def _says(text: str) -> Callable[[str], Mapping[str, Any]]:
    return lambda _: {"content": text}


WAYS: Mapping[str, Way] = {
    "refusal in the response": Way(  # the newer host drops the key, and an empty answer is left
        "refused|empty", lambda _: {"content": None, "refusal": "I will not."}
    ),
    "refusal in words": Way("refusal", _says("I'm sorry, but I can't assist with that request.")),
    "empty": Way("empty", _says("")),
    "reasoning alone": Way(
        "empty", lambda _: {"content": None, "reasoning_content": "What did they say? Let me see."}
    ),
    "thoughts alone": Way("empty", _says("<think>What did they say? Let me see.</think>")),
    "malformed": Way("not the JSON", _says('{"topic": "light", "levels": {"15": "The light')),
    "not smaller": Way("not smaller", lambda source: {"content": f"{source}\n{source}"}),
    "cut off": Way("cut off", _says(_GOOD), finish="length"),
    "status 500": Way("InternalServerError", status=500),
    "connection": Way("APIConnectionError", status=0),
    "time-out": Way("APITimeoutError", late=True),
    "too long": Way("", status=400, whole_only=True),
}


#: What a provider says that does not say how large its window is.
_TOO_LONG = "Your input exceeds the context window of this model. Please adjust your input."


class FailingModel(ScriptedModel):
    """The scripted model, whose answers to auxiliary calls go wrong as :data:`WAYS` says."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.given: Counter[str] = Counter()
        """How often each way was gone."""
        self.over = threading.Event()
        self._left = list(WAYS)
        self._fates: list[tuple[str, str]] = []
        self.RequestHandlerClass = type("Failing", (_Failing, self.RequestHandlerClass), {})

    def fate(self, source: str) -> str:
        """The way in which a summary of *source* fails; empty if it is a good one."""
        with self._lock:
            for known, way in self._fates:
                if source in known:
                    good = way and WAYS[way].whole_only and source != known
                    return "" if good else way
            way = self._left.pop(0) if self._left and len(self._fates) % 2 == 0 else ""
            self._fates.append((source, way))
            return way

    def __exit__(self, *error: object) -> None:
        self.over.set()
        super().__exit__(*error)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up before a late answer is no fault here."""


class NarrowModel(ScriptedModel):
    """The scripted model behind a window of :attr:`limit` tokens, of which it says no more than that it is full."""

    def __init__(self, script: Script, limit: int) -> None:
        super().__init__(script)
        self.limit = limit
        self.refused: list[int] = []
        """Tokens of each request that did not fit."""
        self.RequestHandlerClass = type("Narrow", (_Narrow, self.RequestHandlerClass), {})


class _Spoiler(BaseHTTPRequestHandler):
    """What the handler of the scripted model does before it answers."""

    def do_POST(self: Any) -> None:
        stream = self.rfile
        raw = stream.read(int(self.headers.get("Content-Length") or 0))
        if self._spoils(json.loads(raw)):
            return
        self.rfile = io.BytesIO(raw)
        try:
            super().do_POST()
        finally:
            self.rfile = stream


class _Narrow(_Spoiler):
    """Refuses what is too long for it."""

    server: NarrowModel

    def _spoils(self: Any, body: dict[str, Any]) -> bool:
        tokens = estimate(body)
        if not body.get("tools") or tokens <= self.server.limit:
            return False
        self.server.refused.append(tokens)
        self._json(400, {"error": {"message": _TOO_LONG, "code": "context_length_exceeded"}})
        return True


class _Failing(_Spoiler):
    """Answers to auxiliary calls go wrong."""

    server: FailingModel

    def _spoils(self: Any, body: dict[str, Any]) -> bool:
        source = _PROMPT.search(text_of(body["messages"][-1].get("content")))
        name = self.server.fate(source[1]) if source and not body.get("tools") else ""
        if name:
            self.server.given[name] += 1
            self._fail(WAYS[name], body, source[1])
        return bool(name)

    def _fail(self: Any, way: Way, body: dict[str, Any], source: str) -> None:
        if way.late:
            self.server.over.wait(_LATE)
        if way.late or not way.status:
            self.close_connection = True
        elif way.status == 200 and body.get("stream"):
            self._events(_chunk(way, body, source))
        elif way.status == 200:
            self._json(200, _response(way, body, source))
        else:
            said = (
                "This model's maximum context length is 512 tokens." if way.whole_only else "Oops"
            )
            self._json(way.status, {"error": {"message": said, "type": "server", "code": None}})

    def _events(self: Any, chunk: Mapping[str, Any]) -> None:
        """The newer host has its answers streamed."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode())
        self.close_connection = True


def _chunk(way: Way, body: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The whole answer as one event."""
    whole = _response(way, body, source)
    choice = whole["choices"][0]
    delta = {**choice, "delta": choice["message"]}
    return {**whole, "object": "chat.completion.chunk", "choices": [delta]}


def _response(way: Way, body: Mapping[str, Any], source: str) -> dict[str, Any]:
    message = {"role": "assistant", **way.message(source)}
    return {
        "id": "chatcmpl-failing",
        "object": "chat.completion",
        "created": 1,
        "model": body.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": way.finish}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20},
    }
