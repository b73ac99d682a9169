"""Makes the nodes that a pass needs, or finds them.

Looked up by source key first. What has to be summarised is written as it
comes, a second's worth at a time and outside any model call: so a pass that
is killed has lost a second, a fast one makes few commits, and of two agents
that make the same node the first committed one stands for both.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..storage.errors import StoreForgotten
from ..storage.forget import Stone
from ..storage.protocol import Store
from ..storage.records import Node
from .nodes import Item, node_of, source_key
from .patience import Patience
from .redact import Redact
from .summarizer import Route, Summary, SummaryRequest, summarize
from .tokens import count_text

__all__ = ["Maker", "Voice"]

#: A summary takes at most this share of its source.
_SHRINK = 3
#: Tokens of the smallest text that says anything.
_SMALLEST = 15
#: Seconds after which a pass makes no further model calls: the newer host gives up at 600.
PASS_SECONDS = 240.0
#: Seconds of summarising that may be lost to a crash.
_UNWRITTEN_SECONDS = 1.0
#: Nodes written in one transaction at the most.
_BATCH = 64


@dataclass(frozen=True, slots=True)
class Voice:
    """Who summarises, and with what in mind."""

    routes: Sequence[Route] = ()
    """Whom to ask, in this order; without any, sentences are extracted."""
    focus: str = ""
    memory: str = ""
    seconds: float = PASS_SECONDS
    """What a pass may spend on it."""
    clean: Redact = str
    """Takes secrets out of what comes back; what it reads is without them."""
    stones: Sequence[Stone] = ()
    """Those of the strings that *clean* takes out because they were forgotten."""


class Maker:
    """Makes nodes on one line, for one pass."""

    def __init__(self, store: Store, line: int, levels: Sequence[int], voice: Voice) -> None:
        self.made: list[Node] = []
        """Nodes that were not there before."""
        self._store, self._line, self._levels = store, line, tuple(levels)
        self._voice = voice
        self._patience = Patience(voice.seconds)  # a turn must not wait for ever

    def check(self) -> None:
        """Inside a transaction, before anything is written: see that no string was forgotten meanwhile.

        Raises:
            StoreForgotten: one was, and what is in hand may hold it. The pass must begin anew.
        """
        if self._store.eraser().stones("text") != list(self._voice.stones):
            raise StoreForgotten("Something was forgotten on request during the pass.")

    def nodes(
        self,
        groups: Sequence[Sequence[Item]],
        text: Callable[[Sequence[Item]], str],
        most: int | None = None,
    ) -> list[Node]:
        """A node for each group, in order; *text* gives what a summariser reads of one.

        *most*: tokens that a text may have, where that is less than usual.
        """
        keys = [source_key(group, self._levels) for group in groups]
        found = self._store.nodes_for(keys)
        fresh: list[Node] = []
        written = clock.monotonic()
        for key, group in zip(keys, groups, strict=True):
            if key in found:
                continue
            node = node_of(self._line, group, self._levels, key, self._summary(text(group), most))
            found[key] = node
            fresh.append(node)
            if len(fresh) >= _BATCH or clock.monotonic() - written > _UNWRITTEN_SECONDS:
                found |= self._write(fresh)
                fresh, written = [], clock.monotonic()
        found |= self._write(fresh)
        return [found[key] for key in keys]

    def _write(self, nodes: Sequence[Node]) -> dict[str, Node]:
        """Store *nodes*; returns for each source key the node that stands for it."""
        if not nodes:
            return {}
        with self._store.writing():
            self.check()
            standing = self._store.nodes_for([node.source_key for node in nodes])
            for node in nodes:
                if node.source_key not in standing:
                    self._store.put_node(node)
                    self.made.append(node)
        return {node.source_key: node for node in nodes} | standing

    def _summary(self, text: str, limit: int | None) -> Summary:
        most = min(max(self._levels), count_text(text) // _SHRINK, limit or max(self._levels))
        most = max(most, min(*self._levels, _SMALLEST))
        wanted = [level for level in self._levels if level <= most]
        if not wanted or wanted[-1] < most:
            wanted += [level for level in self._levels if level > most][:1]
        asked = SummaryRequest(text, most, tuple(wanted), self._voice.focus, self._voice.memory)
        voice = self._voice
        summary = summarize(asked, voice.routes, self._patience)
        return _cleaned(summary, voice.clean)


def _cleaned(summary: Summary, clean: Redact) -> Summary:
    """*summary* without secrets: a model may know one from elsewhere. All at once, for mostly there is none."""
    said = "\n\n".join([*(text for _, text in summary.texts), summary.topic, *summary.hints])
    if clean(said) == said:
        return summary
    return replace(
        summary,
        texts=tuple((level, clean(text)) for level, text in summary.texts),
        topic=clean(summary.topic),
        hints=tuple(map(clean, summary.hints)),
    )
