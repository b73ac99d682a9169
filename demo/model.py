"""Plays an OpenAI-compatible model on loopback, word by word from a script.

The script is a list of turns; a turn is found by its user's text, and each request
that belongs to it is answered by the turn's next step. Requests without tools are
the host's auxiliary calls: they get a summary made from the text that they bring (summaries.py).
Every request is kept, so that a reader can see what really reached the wire.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from .notes import Note
from .summaries import CHARS_PER_TOKEN, Noted, answer_summary

MODEL = "scripted-model"
SUMMARY_MODEL = "scripted-summary"
Message = Mapping[str, Any]


@dataclass(frozen=True)
class Call:
    """One tool call: the tool's name and its arguments, as a mapping or as raw text."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)

    @property
    def wire(self) -> str:
        """The arguments as the text that a model would have written."""
        given = self.arguments
        return given if isinstance(given, str) else json.dumps(dict(given), ensure_ascii=False)


@dataclass(frozen=True)
class Reply:
    """What the model answers: text, tool calls (parallel ones in one reply), or both."""

    text: str | None = None
    calls: tuple[Call, ...] = ()


#: A step is an answer, or a function of the request's messages that gives one.
Step = Reply | Callable[[list[Message]], Reply]


@dataclass(frozen=True)
class Turn:
    """A user's text and the model's answers to it, in order; the last one has no calls."""

    user: str
    steps: tuple[Step, ...]
    note: Note | None = None  #: what a summary says of it

    @property
    def noted(self) -> Noted | None:
        """Its note, known by what was asked and answered last, if that does not depend on the request."""
        last = self.steps[-1]
        answer = [f"assistant: {last.text}"] if isinstance(last, Reply) else []
        return Noted(self.note, (f"user: {self.user}\n", *answer)) if self.note else None


def text_of(content: object) -> str:
    """The text of a message's content, whichever of the two shapes it has."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""


def estimate(request: Mapping[str, Any]) -> int:
    """About how many tokens the request has, tools and calls included."""
    parts = (request.get("messages") or [], request.get("tools") or [])
    return max(1, sum(len(json.dumps(part)) for part in parts) // CHARS_PER_TOKEN)


class Script:
    """Which reply comes next. Thread-safe; the same request sent twice gets the same reply."""

    def __init__(self, turns: list[Turn]) -> None:
        self._turns = turns
        self._next = [0] * len(turns)
        self._given: dict[str, Reply] = {}
        self.noted = [turn.noted for turn in turns if turn.noted]
        self._lock = threading.Lock()

    def answer(self, messages: list[Message]) -> Reply:
        """The reply to a request; a text that no turn has is answered by an echo."""
        key = hashlib.sha256(json.dumps(messages).encode()).hexdigest()
        with self._lock:
            if key not in self._given:
                self._given[key] = self._advance(messages)
            return self._given[key]

    def _advance(self, messages: list[Message]) -> Reply:
        users = [text_of(m.get("content")) for m in messages if m.get("role") == "user"]
        last = users[-1] if users else ""
        index = self._find(last)
        if index is None:
            return Reply(f"I have no line for: {last[-200:]}")
        step = self._turns[index].steps[self._next[index]]
        self._next[index] += 1
        return step if isinstance(step, Reply) else step(messages)

    def _find(self, text: str) -> int | None:
        """The first unfinished turn whose user said *text*, or said it as a paragraph of it.

        Hosts join neighbouring texts with a blank line; a word inside a sentence is no turn.
        """
        whole = f"\n\n{text.strip()}\n\n"
        for index, turn in enumerate(self._turns):
            if self._next[index] < len(turn.steps) and f"\n\n{turn.user.strip()}\n\n" in whole:
                return index
        return None

    def unsaid(self) -> list[str]:
        """The users' texts of turns that have not been played to their end."""
        return [t.user for i, t in enumerate(self._turns) if self._next[i] < len(t.steps)]


@dataclass
class Request:
    """One request as it arrived, and what was answered."""

    body: dict[str, Any]
    reply: Reply
    call_ids: tuple[str, ...]
    prompt_tokens: int

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages on the wire, the system row included."""
        return list(self.body.get("messages") or [])

    @property
    def tools(self) -> list[str]:
        """The names of the tools that were offered; none in an auxiliary call."""
        return [tool["function"]["name"] for tool in self.body.get("tools") or []]


class ScriptedModel(ThreadingHTTPServer):
    """The server. Use it as a context manager; ``url`` is its base URL."""

    daemon_threads = True

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.requests: list[Request] = []
        self._calls = 0
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """What a client takes for ``base_url``."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self.server_close()

    def answer(self, body: dict[str, Any]) -> Request:
        """Answer and keep one request."""
        messages = body.get("messages") or []
        if body.get("tools"):
            reply = self.script.answer(messages)
        else:
            asked = text_of(messages[-1].get("content")) if messages else ""
            reply = Reply(answer_summary(asked, self.script.noted))
        with self._lock:
            ids = tuple(f"call_{self._calls + n:06d}" for n in range(len(reply.calls)))
            self._calls += len(ids)
            request = Request(body, reply, ids, estimate(body))
            self.requests.append(request)
        return request

    @property
    def spoken(self) -> list[Request]:
        """The requests of agents, in order: those that offered tools."""
        return [request for request in self.requests if request.tools]

    @property
    def summaries(self) -> list[Request]:
        """The auxiliary requests, in order."""
        return [request for request in self.requests if not request.tools]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ScriptedModel

    def log_message(self, *_args: object) -> None:
        """Keep quiet: the terminal belongs to the demonstration."""

    def do_GET(self) -> None:
        found = self.path.rstrip("/").endswith("/models")
        models = [{"id": name, "object": "model"} for name in (MODEL, SUMMARY_MODEL)]
        self._json(200 if found else 404, {"object": "list", "data": models if found else []})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self.path.rstrip("/").endswith("/chat/completions"):
            self._json(404, {"error": {"message": f"no such path: {self.path}"}})
            return
        request = self.server.answer(json.loads(raw))
        if request.body.get("stream"):
            self._stream(request)
        else:
            self._json(200, _whole(request))

    def _json(self, code: int, value: object) -> None:
        raw = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _stream(self, request: Request) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for chunk in _chunks(request):
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True


def _calls(request: Request) -> list[dict[str, Any]]:
    return [
        {"id": id_, "type": "function", "function": {"name": call.name, "arguments": call.wire}}
        for id_, call in zip(request.call_ids, request.reply.calls, strict=True)
    ]


def _usage(request: Request) -> dict[str, int]:
    spoken = len(request.reply.text or "") + sum(len(call.wire) for call in request.reply.calls)
    completion = max(1, spoken // CHARS_PER_TOKEN)
    prompt = request.prompt_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


def _head(request: Request, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{id(request):x}",
        "object": kind,
        "created": int(time.time()),
        "model": request.body.get("model") or MODEL,
    }


def _finish(request: Request) -> str:
    return "tool_calls" if request.reply.calls else "stop"


def _whole(request: Request) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": request.reply.text}
    if request.reply.calls:
        message["tool_calls"] = _calls(request)
    choice = {"index": 0, "message": message, "finish_reason": _finish(request)}
    return {**_head(request, "chat.completion"), "choices": [choice], "usage": _usage(request)}


def _chunks(request: Request) -> Iterator[dict[str, Any]]:
    head = _head(request, "chat.completion.chunk")

    def delta(value: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": value, "finish_reason": finish}]}

    yield delta({"role": "assistant"})
    text = request.reply.text or ""
    for start in range(0, len(text), 400):
        yield delta({"content": text[start : start + 400]})
    for index, call in enumerate(_calls(request)):
        yield delta({"tool_calls": [{"index": index, **call}]})
    yield delta({}, _finish(request))
    yield {**head, "choices": [], "usage": _usage(request)}
