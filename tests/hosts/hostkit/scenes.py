"""Has a host walk through scenes of its habits, and keeps what came of each of them.

A scene is a function of one of the drivers ``scenes_*``, in place or with rotation. All that
the collected tests ask of one host are played in one process, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .home import HermesHome
from .host import Host
from .oracle import Account, Clerk, Forgetful, Row
from .wire import faults_of

#: Scenes are many; on two busy cores they take minutes.
_PATIENCE_SECONDS = 1200
#: Stands in a session that was made invalid on purpose; the older host sends it as it is.
_ODD = "a9001:"


@dataclass(frozen=True, order=True)
class Scene:
    """One habit of a host, lived through."""

    name: str
    module: str
    in_place: bool = True
    """Whether a compaction keeps the session's id; else it is rotated."""
    only: str = ""
    """The one generation of hosts that has the habit; empty for both."""
    seed: int = 0
    """Of the dice, in a scene that is another one for each seed; else 0."""

    def __str__(self) -> str:
        number = f"-{self.seed}" if self.seed else ""
        return f"{self.name}{number}-{'in place' if self.in_place else 'rotation'}"

    @property
    def arguments(self) -> dict[str, Any]:
        """Of the scene's function."""
        return {"in_place": self.in_place} | ({"seed": self.seed} if self.seed else {})


@dataclass(frozen=True)
class Lived:
    """What a scene left."""

    told: Mapping[str, Any]
    """What the scene itself reports."""
    kept: Mapping[str, Any]
    """What is stored, by session."""
    seen: Mapping[str, Any]

    @property
    def passes(self) -> list[tuple[int, int]]:
        """Rows before and after each compaction that was asked for."""
        return [(before, after) for before, after in self.seen["passes"]]

    def account(self, session: str) -> Account:
        """The books of the line that *session* stands on."""
        line = self.kept[session]["line"]
        return Account(
            self.seen, self.kept[session], [s for s in self.kept if self.kept[s]["line"] == line]
        )

    def faults(self, **tolerated: Any) -> dict[str, list[str]]:
        """What the oracle finds wrong, by session; one for each line."""
        lines = {kept["line"]: session for session, kept in self.kept.items()}
        found = {each: self.account(each).faults(**tolerated) for each in lines.values()}
        return {session: faults for session, faults in found.items() if faults}

    def last_list(self, session: str) -> list[Row]:
        """The rows of the last list that a door saw of a session."""
        shown = next(s for s in reversed(self.seen["lists"]) if s["session"] == session)
        return [self.seen["rows"][number] for number in shown["list"]]

    def texts(self, session: str, *marks: str) -> list[tuple[str, ...]]:
        """What stands in stored messages that hold one of these marks."""
        found = (self.account(session).stored(m) for m in self.kept[session]["messages"])
        return [each for each in found if {*each} & {*marks}]


@dataclass(frozen=True)
class Walk:
    """All scenes of one host."""

    host: Host
    scenes: Mapping[Scene, Mapping[str, Any]]
    verified: Mapping[str, Any]
    refused: list[list[str]]
    """Requests that a strict provider would have refused."""

    def of(self, scene: Scene) -> Lived:
        """One scene; one that broke off is a failure of the test that asks."""
        result = self.scenes[scene]
        assert "error" not in result, result["error"]
        told = {k: v for k, v in result.items() if k not in ("kept", "seen")}
        return Lived(told, result["kept"], result["seen"])


@contextmanager
def a_home(folder: Path, host: Host) -> Iterator[tuple[HermesHome, Forgetful]]:
    """A home whose model answers with marks, and reuses the ids of its tool calls."""
    with Forgetful(Clerk()) as model:
        home = HermesHome(folder, host, model.url)
        home.config["lcm"] = {"target_token_levels": [15, 50, 120]}
        home.patience = _PATIENCE_SECONDS
        home.install()
        yield home, model


def walk(folder: Path, host: Host, scenes: Iterable[Scene]) -> Walk:
    """Play *scenes* in a home of *host*, in one process."""
    wanted = sorted(scene for scene in {*scenes} if scene.only in ("", host.generation))
    told = [[str(s), s.module, s.name, s.arguments] for s in wanted]
    with a_home(folder, host) as (home, model):
        result = home.drive("identity", {"scenes": told})
        asked = [r.messages for r in model.spoken if _ODD not in str(r.messages)]
        refused = [faults for rows in asked if (faults := faults_of(rows))]
    played = {scene: result["scenes"][str(scene)] for scene in wanted}
    return Walk(host, played, result["verify"], refused)
