"""Makes the nodes that a pass needs, or finds them.

Looked up by source key first. What has to be summarised is written as it
comes, a second's worth at a time and outside any model call: so a pass that
is killed has lost a second, a fast one makes few commits, and of two agents
that make the same node the first committed one stands for both.
"""

from __future__ import annotations

import contextlib
import time as clock
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..storage.errors import StoreForgotten
from ..storage.forget import Stone
from ..storage.protocol import Store
from ..storage.records import Node
from .nodes import STATE, Item, node_of, source_key, wanted
from .patience import Patience
from .redact import Redact
from .summarizer import Route, Summary, SummaryRequest, is_barred, is_final, summarize
from .tokens import count_text
from .underway import Halted, Leash, NotMade, Underway

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
#: A state is written by a model from a source of so many times its smallest size on.
_FEW = 4
#: Seconds that a pass waits for a node that is made in the background; then it makes one itself.
_WAIT_SECONDS = 120.0


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
    underway: Underway = field(default_factory=Underway)
    """What other makers of this process are at."""
    leash: Leash | None = None
    """Of whoever makes nodes ahead: a summariser writes them, or they are not made."""


class Maker:
    """Makes nodes on one line, for one pass."""

    def __init__(self, store: Store, line: int, levels: Sequence[int], voice: Voice) -> None:
        self.made: list[Node] = []
        """Nodes that were not there before."""
        self._store, self._line, self._levels = store, line, tuple(levels)
        self._voice = voice
        self._claims: list[tuple[str, str]] = []
        self._fresh: list[Node] = []
        """Made, and not yet written."""
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

        Raises:
            NotMade, Halted: on a leash only; what was made before is stored.
        """
        asked = [wanted(group, self._levels) for group in groups]
        keys = [each.key for each in asked]
        found = self._store.nodes_for(keys)
        written = clock.monotonic()
        try:
            for key, group, each in zip(keys, groups, asked, strict=True):
                if key in found:
                    continue
                if self._voice.leash and group[0].entry:
                    self._claim(self._leaf_of_line)
                if self._is_made(key, found):
                    continue
                summary = self._summary(text(group), most)
                self._insist(key, summary)
                found[key] = node_of(self._line, each, summary)
                self._fresh.append(found[key])
                late = clock.monotonic() - written > _UNWRITTEN_SECONDS
                if late or self._voice.leash or len(self._fresh) >= _BATCH:
                    found |= self._written()
                    written = clock.monotonic()
            return [(found | self._written())[key] for key in keys]
        except BaseException:  # a host that takes back its call, too: what was paid for is kept
            with contextlib.suppress(Exception):
                self._written()
            raise
        finally:
            self._fresh = []
            self._release()

    def _insist(self, key: str, summary: Summary) -> None:
        """On a leash, take no extract where a model may give a summary later.

        Raises:
            NotMade: it may.
        """
        leash, reason = self._voice.leash, summary.reason
        if leash is None or is_final(reason):
            return
        if is_barred(reason) or leash.tries_again(key):
            raise NotMade(reason)

    def await_leaf(self) -> None:
        """Wait until nobody makes a leaf of this line in the background: a plan begins with those that are there."""
        if self._voice.leash is None:
            seconds = min(self._patience.for_a_call(), _WAIT_SECONDS)
            self._voice.underway.wait(self._leaf_of_line, seconds)

    @property
    def _leaf_of_line(self) -> tuple[str, str]:
        return (self._store.path, f"leaf {self._line}")

    def remade(
        self, node: Node, items: Sequence[Item], text: Callable[[Sequence[Item]], str]
    ) -> list[Node]:
        """Make *node*, which no model wrote, again of its sources; nothing if that would not be the same node.

        Raises:
            NotMade, Halted: it was not made.
        """
        asked = wanted(items, self._levels)
        if asked.key != node.source_key:
            return []
        if self._voice.leash is not None:
            self._voice.leash.check()
        summary = self._summary(text(items), None)
        if not is_final(summary.reason):
            raise NotMade(summary.reason)
        again = node_of(self._line, asked, summary)
        with self._writing():
            self._store.put_node(again)
        return [again]

    def state(self, items: Sequence[Item], text: str, remember: Callable[[str], None]) -> Node:
        """The state that *items* make, of *text*; *remember* is told its uid when it is stored.

        Raises:
            NotMade, Halted: it was not made.
        """
        asked = wanted(items, self._levels, STATE)
        node = self._store.nodes_for([asked.key]).get(asked.key)
        if node is None:
            if self._voice.leash is not None:
                self._voice.leash.check()
            tokens = count_text(text)
            small = tokens < _FEW * min(self._levels)  # not worth a call
            most = min(max(self._levels), max(tokens - 1, 1))
            summary = self._asked(text, most, () if small else self._voice.routes)
            if not small and not is_final(summary.reason):
                raise NotMade(summary.reason)
            node = node_of(self._line, asked, summary)
        with self._writing():
            self._store.put_node(node)
            remember(node.uid)
        return node

    def there(self, groups: Sequence[Sequence[Item]]) -> list[bool]:
        """For each group whether its node is there."""
        keys = [source_key(group, self._levels) for group in groups]
        found = self._store.nodes_for(keys)
        return [key in found for key in keys]

    def repaired(self, nodes: Sequence[Node]) -> list[Node]:
        """*nodes*, where one is degraded and was made again since: the new one."""
        keys = [node.source_key for node in nodes if node.degraded]
        better = self._store.nodes_for(keys) if keys else {}
        return [better.get(node.source_key, node) if node.degraded else node for node in nodes]

    def _is_made(self, key: str, found: dict[str, Node]) -> bool:
        """Claim a node, or wait for who makes it; True if it is there then, and among *found*."""
        claim, leash, underway = (self._store.path, key), self._voice.leash, self._voice.underway
        if leash is not None:
            leash.check()
        while not underway.claim(claim):
            if leash is not None:
                raise Halted  # a pass makes it, and everything else that it needs
            found |= self._written()  # who makes it may be waiting for one of these
            if not underway.wait(claim, min(self._patience.for_a_call(), _WAIT_SECONDS)):
                return False  # too long: rather made twice than waited for
        self._claims.append(claim)
        found |= self._store.nodes_for([key])  # it may have come between the look and the claim
        return key in found

    def _claim(self, what: tuple[str, str]) -> None:
        """Say that it is being made.

        Raises:
            Halted: somebody else is at it.
        """
        if what not in self._claims:
            if not self._voice.underway.claim(what):
                raise Halted
            self._claims.append(what)

    def _release(self) -> None:
        self._voice.underway.release(self._claims)
        self._claims.clear()

    def _written(self) -> dict[str, Node]:
        """Store the fresh nodes; returns for each of their source keys the node that stands for it."""
        nodes = self._fresh
        if not nodes:
            return {}
        with self._writing():
            standing = self._store.nodes_for([node.source_key for node in nodes])
            for node in nodes:
                if node.source_key not in standing:
                    self._store.put_node(node)
                    self.made.append(node)
        found = {node.source_key: node for node in nodes} | standing
        self._fresh = []
        self._release()
        return found

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction, if there may be one."""
        leash = self._voice.leash
        with leash.writing() if leash else contextlib.nullcontext(), self._store.writing():
            self.check()
            yield

    def _summary(self, text: str, limit: int | None) -> Summary:
        """A summary that is much smaller than its source, in at most *limit* tokens if that is not None."""
        most = min(max(self._levels), count_text(text) // _SHRINK, limit or max(self._levels))
        return self._asked(text, max(most, min(*self._levels, _SMALLEST)), self._voice.routes)

    def _asked(self, text: str, most: int, routes: Sequence[Route]) -> Summary:
        """A summary of at most *most* tokens."""
        wanted = [level for level in self._levels if level <= most]
        if not wanted or wanted[-1] < most:
            wanted += [level for level in self._levels if level > most][:1]
        asked = SummaryRequest(text, most, tuple(wanted), self._voice.focus, self._voice.memory)
        voice = self._voice
        summary = summarize(asked, routes, self._patience)
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
