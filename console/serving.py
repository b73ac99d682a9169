"""Serves the explorer on loopback, to who knows the address: a random token is part of it.

Other pages in the same browser, and other names for this machine, are refused: Host, Origin and what a
browser says of where a request comes from are looked at. It reads, through a connection that cannot write.
"""

from __future__ import annotations

import hmac
import json
import secrets
import sys
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from ..storage import open_store
from ..storage.protocol import Store
from . import explorer
from .course import Courses
from .explaining import explain

__all__ = ["Reader", "Server"]

_LOOPBACK: Final = "127.0.0.1"
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_FORBIDDEN: Final = (
    "Forbidden: open the address that `view` printed by hand, not from another page.\n"
)
#: Where a request may come from, as browsers say: the page itself, or a person.
_FROM: Final = ("same-origin", "none")


class Reader:
    """Answers the page from a database that others may write, move or put back meanwhile."""

    def __init__(self, path: str) -> None:
        self._path, self._lock = path, Lock()
        self._store: Store | None = None
        self._courses = Courses()

    def answer(self, name: str, asked: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
        """A status of HTTP, and what the page gets."""
        try:
            with self._lock:
                return HTTPStatus.OK, explorer.answer(self._open(), name, asked, self._courses)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the file, a person gets words
            what, hint = explain(error, self._path)
            return HTTPStatus.BAD_REQUEST, {"error": f"{what} {hint}".strip()}

    def _open(self) -> Store:
        if self._store is not None and self._store.stale():
            self.close()
        if self._store is None:
            self._store = open_store(f"sqlite:{self._path}", read_only=True)
        return self._store

    def close(self) -> None:
        """Let go of the file."""
        if self._store is not None:
            self._store.close()
            self._store, self._courses = None, Courses()


class Server(ThreadingHTTPServer):
    """Listens from the moment it is made; ``serve_forever()`` answers."""

    daemon_threads = True

    def __init__(self, path: str, port: int = 0) -> None:
        self.reader = Reader(path)
        self.token = secrets.token_urlsafe(24)
        super().__init__((_LOOPBACK, port), _Handler)

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{_LOOPBACK}:{self.server_port}/{self.token}/"

    def server_bind(self) -> None:
        """Without asking anybody for this machine's name."""
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = _LOOPBACK, self.server_address[1]

    def server_close(self) -> None:
        super().server_close()
        self.reader.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away is no error."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version = "lcm"
    sys_version = ""

    def do_GET(self) -> None:
        if not self._is_ours():
            self._send(HTTPStatus.FORBIDDEN, "text/plain", _FORBIDDEN)
            return
        try:
            asked = urlsplit(self.path)
        except ValueError:  # [ without ]
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        token, slash, name = asked.path.lstrip("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self._refuse(HTTPStatus.NOT_FOUND)
        elif not slash:  # what the page asks for stands below its address
            self._send(HTTPStatus.FOUND, "text/plain", "", to=f"/{token}/")
        elif not name:
            self._send(HTTPStatus.OK, "text/html", explorer.page())
        elif name in explorer.ASKED:
            status, found = self.server.reader.answer(
                name, dict(parse_qsl(asked.query, keep_blank_values=True))
            )
            self._send(status, "application/json", json.dumps(found))
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    def _is_ours(self) -> bool:
        """Whether the request is meant for this address, and comes from this page or a person."""
        hosts = {f"{name}:{self.server.server_port}" for name in (_LOOPBACK, "localhost")}
        host, origin = self.headers.get("Host"), self.headers.get("Origin")
        if host not in hosts or (origin is not None and origin != f"http://{host}"):
            return False
        return self.headers.get("Sec-Fetch-Site", "none") in _FROM

    def _refuse(self, status: HTTPStatus) -> None:
        self._send(status, "text/plain", status.phrase)

    def _send(self, status: int, kind: str, text: str, *, to: str = "") -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        policy = f"{explorer.policy(chr(39) + 'self' + chr(39))}; frame-ancestors 'none'"
        self.send_header("Content-Security-Policy", policy)
        for name, value in {**_HEADERS, **({"Location": to} if to else {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
        """Nothing: an address holds the token."""
