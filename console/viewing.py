"""``view``: the explorer, live in a browser; ``view --out FILE.html``: the same in one file, to open from disk."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ..storage.records import Session
from . import screen
from .pointing import pointed
from .screen import many
from .status import no_session
from .verb import Answer, Call, WrongCall, number_to

__all__ = ["add", "check", "run"]

_MOST_PORT: Final = 65_535


def run(call: Call) -> Answer:
    """Write the page, or serve it until somebody stops it."""
    if out := call.options.get("out"):
        session = call.found()
        if session is None:
            said = no_session(call.store)
            return Answer({"session": None, "note": said}, good=False, shown=[said])
        return _written(call, session, out)
    return _served(call)


def _written(call: Call, session: Session, out: str) -> Answer:
    from ..storage.whole import new_file
    from .explorer import Written, standalone

    written = Written()
    store, progress = call.open(), call.progress or (lambda _what, _done, _total: None)
    path = Path(out).expanduser().absolute()
    with (
        store.archive().snapshot(),
        new_file(path) as part,
        part.open("w", encoding="utf-8", errors="replace", newline="\n") as file,
    ):
        file.writelines(standalone(store, session, progress, written))
    if call.options.get("open"):
        _open(path.as_uri())
    count = written.messages
    damaged = written.damaged
    data = {"view": str(path), "session": session.name, "messages": count, "damaged": damaged}
    text = (
        f"view: {path}\nIt holds {many(count - damaged, 'message')} word for word, opens in any browser and asks "
        "nobody for anything. It is readable by you alone; whoever gets it reads all of it.\n"
    )
    if damaged:
        more = pointed("`hermes lcm verify` says more", call.options)
        marked = "is marked" if damaged == 1 else "are marked"
        text += f"WRONG: {many(damaged, 'message')} cannot be read, and {marked} there: {more}.\n"
    return Answer(data, not damaged, text=text, prose=True)


def _served(call: Call) -> Answer:
    from .serving import Server

    call.open().close()  # brought up to date by now; from here on nothing is written
    port = call.options.get("port") or 0
    try:
        listening = Server(call.path, port)
    except OSError as error:
        said = f"Nothing can listen on port {port} of this machine ({error.strerror}). Leave --port out."
        raise LookupError(said) from error
    with listening as server:
        url = server.url
        if call.options.get("json"):
            screen.put(f"{screen.to_data({'url': url})}\n")
        else:
            screen.put(
                f"view: {url}\nOnly this machine, and only with that address. Ctrl-C ends it.\n"
            )
        if call.options.get("open"):
            _open(url)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever(poll_interval=0.2)
    return Answer({"view": "stopped"}, text="view: stopped\n", to_stderr=True, prose=True)


def _open(url: str) -> None:
    import webbrowser

    webbrowser.open(url)


def add(parser: argparse.ArgumentParser) -> None:
    """To a file, or where it listens."""
    group: Any = parser.add_mutually_exclusive_group()
    how: Any = {"dest": "lcm_out", "metavar": "FILE.html", "default": argparse.SUPPRESS}
    group.add_argument(nargs="?", help="a new file with the session in it", **how)
    group.add_argument("--out", help="the same", **how)
    group.add_argument(
        "--port",
        dest="lcm_port",
        type=number_to(_MOST_PORT),
        metavar="N",
        help="where it listens on this machine (default: any free port)",
    )
    parser.add_argument(
        "--open", dest="lcm_open", action="store_true", help="open it in the browser"
    )


def check(options: Mapping[str, Any]) -> None:
    """A file has a name."""
    if options.get("out") == "":
        raise WrongCall("--out takes the name of a new file.")
