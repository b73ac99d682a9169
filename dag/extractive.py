"""Which sentences of a source stand for it when no model can say so.

TextRank: a sentence that shares its rarer words with many others says what the source is about.
What a later reader cannot guess is preferred on top of that: paths, errors, numbers, ids,
decisions, open tasks. The sentences keep their order, their words and their speakers. The same
source always gives the same extract, and a megabyte costs no more than a page: of a long source
only its ends, an even sample and the surroundings of telling words are looked at.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from .tokens import clip, count_text

#: A source up to this many characters is read whole; so is what makes a larger extract.
_READ: Final = 40_000
_READ_PER_TOKEN: Final = 12
_RANKED: Final = 160  #: sentences in the graph; more change the ranking little and cost a lot
_COMMON: Final = 10  #: a word in more of them says little and would link everything to everything
_LONGEST: Final = 600  #: characters; a longer "sentence" is a dump, and is parted at separators
_TERM: Final = range(3, 81)  #: characters of a term one could ask for
_FEW_WORDS: Final = 3
_LEAST: Final = 5  #: tokens; two characters of any script fit

_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_LABEL: Final = re.compile(
    r"(?:\[[^\]\n]{1,40}\] ?)?(?:user|assistant|tool|system|developer|function)"
    r"(?: ?[(\[][^)\]\n]{1,60}[)\]])?(?: [\w.-]{1,60}){0,2}: ?",
    re.IGNORECASE,
)
_NODE: Final = re.compile(r"\(turns? \d")  #: the text of a node begins: nobody speaks
_SENTENCE_GAP: Final = re.compile(
    r"(?<=[.!?\u2026\u0964\u061f])(?<!\b\w\.)(?<!\b[DMv][rs]\.)\s+|(?<=[\u3002\uff01\uff1f])"
)
_DUMP_GAP: Final = re.compile(r"(?<=[,;}\]])\s*|\s+")
_WORD: Final = re.compile(r"[\u3400-\u9fff\uac00-\ud7a3]|[^\W\u3040-\u9fff\uac00-\ud7a3]{3,}")
STOP_WORDS: Final = frozenset(
    re.findall(
        r"\w+",
        "the and for are was were with that this from have has had not but you your our can will"
        " all its his her they them there here what when which who how why about into out just"
        " also than then would could should been being did does get got let one some any very more"
        " user assistant tool system",
    )
)

#: What a reader cannot guess, by kind, with what a sentence gains by holding one of the kind.
_WORTH: Final = {"error": 2.5, "task": 2.0, "decision": 2.0, "path": 2.0, "id": 2.0, "number": 1.2}
_CUES: Final = {
    "error": "error errors exception traceback fail fails failed failure failing fatal refused"
    " denied crash crashed timeout timed broken missing invalid warning fehler erreur",
    "task": "todo fixme next remaining pending open blocked unresolved waiting need needs later",
    "decision": "decide decided decision agreed chose choose chosen instead conclude conclusion"
    " must never always prefer prefers remember important deadline because rule requires",
}
_KIND_OF: Final = {word: kind for kind, words in _CUES.items() for word in words.split()}
_CJK_KIND: Final = re.compile(
    r"(?P<error>\u9519\u8bef|\u5931\u8d25|\u30a8\u30e9\u30fc)|(?P<task>\u5f85\u529e)"
    r"|(?P<decision>\u51b3\u5b9a|\u5fc5\u987b)"
)
# Every repetition has a bound: a megabyte of "a-a-a-" must not cost a quadratic search.
_PATH: Final = re.compile(
    r"(?:https?://|~/|\./|\b[A-Za-z]:\\|(?<![\w<])/)[\w./\\~%#?=&:@+-]{3,200}"
    r"|\b[\w-]{1,60}(?:/[\w.-]{1,60}){1,20}|\b[\w-]{1,60}\.[a-z]{2,4}\b"
    r"|\b[\w.+-]{1,60}@[\w-]{1,60}\.\w{1,20}|`[^`\n]{1,120}`"
)
_ID: Final = re.compile(
    r"\b(?=[A-Za-z_]{0,40}\d)(?=\d{0,40}[A-Za-z_])\w{5,80}\b"
    r"|\b(?:[A-Za-z]\w{0,20}-){0,4}[A-Za-z]\w{1,20}[-#]\d{1,20}|#\d{1,20}"
)
_NAME: Final = re.compile(r"(?<=[\w,] )[A-Z][\w-]{2,60}\b|\b\w{5,60}\b")
_TICKED: Final = re.compile(r"`[^`\s]{1,60}(?: [^`\s]{1,60}){1,9}`")
_POINTS: Final = ".,;:!?()\"'"
_DIGIT: Final = re.compile(r"\d")
#: Looked for in a source that is too long to read: a plain search costs 1 ms a megabyte.
_TELLING: Final = (
    *(
        "error",
        "exception",
        "traceback",
        "failed",
        "fatal",
        "refused",
        "denied",
        "todo",
        "next step",
    ),
    *("pending", "decid", "agreed", "must ", "never ", "remember", "important", "deadline"),
)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of the source and where it stood."""

    text: str
    label: str  #: who says it, as the source writes it, "" where it does not
    block: int  #: sentences with the same number follow one label
    line: int


def extract(text: str, max_tokens: int, focus: str = "") -> str:
    """Return the sentences of *text* that say most, in their order, within *max_tokens*.

    *focus* names what is wanted most. A text that fits is given back whole. Nothing is cut inside
    a sentence unless not a single one fits. Never empty for a text that is not blank and 5 tokens
    or more; empty for a blank one.
    """
    text = text.strip()
    if len(text) <= 4 * max_tokens and count_text(text) <= max_tokens:
        return text
    sentences = _split(_sample(text, max(_READ, _READ_PER_TOKEN * max_tokens)))
    order = _by_value(sentences, focus)
    chosen = _fill(sentences, order, max_tokens)
    return _render([sentences[at] for at in sorted(chosen)]) or _piece(text, max_tokens)


def key_terms(text: str, limit: int) -> tuple[str, ...]:
    """Return up to *limit* paths, ids, names or else frequent words that *text* answers for."""
    sample = _sample(text, _READ)
    worth: dict[str, float] = defaultdict(float)
    # Plain words are no path and no id: nine of ten, and the patterns are slow.
    odd = " ".join(word for word in sample.split() if not word.strip(_POINTS).isalpha())
    for pattern, where in ((_TICKED, sample), (_PATH, odd), (_ID, odd)):
        for term in pattern.findall(where):
            worth[term.strip("`.,:;")] += 3.0
    for word in _NAME.findall(sample):
        if word.lower() not in STOP_WORDS:
            worth[word] += 1.0 if word[0].isupper() else 0.3
    terms: list[str] = []
    for term in sorted(worth, key=lambda term: -worth[term]):  # stable: earlier terms first
        if len(terms) == limit:
            break
        if len(term) in _TERM and not _holds(terms, term):
            terms.append(term)
    return tuple(terms)


def _holds(terms: Iterable[str], term: str) -> bool:
    low = term.lower()
    return any(low in other.lower() or other.lower() in low for other in terms)


def _sample(text: str, limit: int) -> str:
    """Cut a long text down to *limit* characters: its ends, telling places, an even sample."""
    if len(text) <= limit:
        return _ANSI.sub("", text) if "\x1b" in text else text
    end, window = limit // 5, 400
    spots = {0, len(text)}
    low = text.lower()
    hop = max(len(text) // 24, window)
    for word in _TELLING:
        at = low.find(word)
        while at >= 0 and len(spots) * window < limit // 3:
            spots.add(min(at, len(text)))
            at = low.find(word, at + hop)
    even = max((limit * 3 // 5 - len(spots) * window) // window, 1)
    spots.update(len(text) * step // even for step in range(even))
    pieces, reached = [text[:end]], text.rfind("\n", 0, end) + 1 or end
    pieces[0] = text[:reached]
    for spot in sorted(spots):
        start = max(_line_start(text, spot, window), reached)
        stop = _line_end(text, spot, window)
        if stop > start:
            pieces.append(text[start:stop])
            reached = stop
    last = max(_line_start(text, len(text) - end, window), reached)
    return _ANSI.sub("", "\n".join([*pieces, text[last:]]))


def _line_start(text: str, at: int, reach: int) -> int:
    """Where the line (or, far from its start, the word) around *at* begins."""
    line = text.rfind("\n", max(at - reach // 2, 0), at)
    word = text.rfind(" ", max(at - reach // 2, 0), max(at - reach // 2, 0) + 50)
    return line + 1 if line >= 0 else word + 1 if word >= 0 else max(at - reach // 2, 0)


def _line_end(text: str, at: int, reach: int) -> int:
    line = text.find("\n", at, at + reach // 2)
    word = text.rfind(" ", at, at + reach // 2)
    return line if line >= 0 else word if word > at else min(at + reach // 2, len(text))


def _split(text: str) -> list[_Sentence]:
    """Part a text into sentences, each with the label of the line that it follows."""
    sentences: list[_Sentence] = []
    seen: set[str] = set()
    label, block = "", 0
    for number, raw in enumerate(text.splitlines()):
        line = raw.strip()
        named = _LABEL.match(line)
        if named:
            label, block, line = named.group().strip(), number, line[named.end() :]
        elif _NODE.match(line):
            label, block = "", number
        for part in _SENTENCE_GAP.split(line):
            for sentence in _undump(part.strip()):
                if len(sentence) > 1 and sentence.casefold() not in seen:
                    seen.add(sentence.casefold())
                    sentences.append(_Sentence(sentence, label, block, number))
    return sentences


def _undump(sentence: str) -> list[str]:
    """Part what is too long to be a sentence (a line of JSON, a log) at its separators."""
    if len(sentence) <= _LONGEST:
        return [sentence]
    pieces, start = [], 0
    for gap in _DUMP_GAP.finditer(sentence):
        if gap.end() - start > _LONGEST // 2:
            pieces.append(sentence[start : gap.end()].strip())
            start = gap.end()
    return [*pieces, sentence[start:].strip()]


def _by_value(sentences: Sequence[_Sentence], focus: str) -> list[int]:
    """Return the numbers of *sentences*, the most telling for their length first."""
    wanted = set(_words(focus))
    words = [_words(sentence.text) for sentence in sentences]
    worth = [_worth(sentence, wanted, own) for sentence, own in zip(sentences, words, strict=True)]
    ranked = sorted(range(len(sentences)), key=lambda at: -worth[at])[:_RANKED]
    ranked.sort()
    for at, rank in zip(ranked, _centrality([words[at] for at in ranked]), strict=True):
        worth[at] += rank
    cost = [math.sqrt(count_text(sentence.text) + 4) for sentence in sentences]
    return sorted(range(len(sentences)), key=lambda at: -worth[at] / cost[at])


def _words(text: str) -> list[str]:
    """The distinct telling words of a text, in order: the order of a set changes between runs."""
    return list(dict.fromkeys(w for w in _WORD.findall(text.lower()) if w not in STOP_WORDS))


def _worth(sentence: _Sentence, wanted: set[str], words: list[str]) -> float:
    worth = math.fsum(_WORTH[kind] for kind in _kinds(sentence.text[:_LONGEST], words))
    worth += 3.0 * sum(word in wanted for word in words)
    if sentence.label[:4].lower() == "user":
        worth += 0.5  # what a user wants outlives how it was done
    if len(words) < _FEW_WORDS or len(sentence.text) > _LONGEST:
        worth *= 0.5  # "Sure, done." and dumps
    return worth


def _kinds(text: str, words: list[str]) -> set[str]:
    """Which kinds of things that cannot be guessed a sentence holds."""
    kinds = {_KIND_OF[word] for word in words if word in _KIND_OF}
    if not text.isascii():
        kinds.update(match.lastgroup or "" for match in _CJK_KIND.finditer(text))
    if _DIGIT.search(text):
        kinds.add("number")
        if _ID.search(text):
            kinds.add("id")
    if _PATH.search(text):
        kinds.add("path")
    return kinds


def _centrality(words: Sequence[Sequence[str]]) -> list[float]:
    """PageRank of sentences linked by shared words, 1.0 on average.

    The iteration is our own: networkx's needs numpy or scipy, which we do not ask users to have.
    """
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(len(words)))
    graph.add_weighted_edges_from((a, b, weight) for (a, b), weight in _links(words).items())
    links = [[(b, link["weight"]) for b, link in row.items()] for _, row in graph.adjacency()]
    degree = [math.fsum(weight for _, weight in row) for row in links]
    shares = [[(other, weight / degree[other]) for other, weight in row] for row in links]
    rank = [1.0] * len(words)
    for _ in range(15):  # at a damping of 0.85 the order stands after about ten rounds
        rank = [0.15 + 0.85 * sum(rank[other] * share for other, share in row) for row in shares]
    return rank


def _links(words: Sequence[Sequence[str]]) -> dict[tuple[int, int], float]:
    """How much any two sentences have in common, rarer words counting more."""
    holders: dict[str, list[int]] = defaultdict(list)
    for at, own in enumerate(words):
        for word in own:
            holders[word].append(at)
    links: dict[tuple[int, int], float] = defaultdict(float)
    size = [math.log(len(own) + 2) for own in words]
    for held in holders.values():
        if 1 < len(held) <= _COMMON:
            weight = math.log(len(words) / len(held)) + 0.1
            for position, a in enumerate(held):
                for b in held[position + 1 :]:
                    links[a, b] += weight / (size[a] + size[b])
    return links


def _fill(sentences: Sequence[_Sentence], order: Iterable[int], budget: int) -> list[int]:
    """Take sentences in *order* while they fit; each block pays for its label once."""
    chosen: list[int] = []
    blocks: set[int] = set()
    for at in order:
        sentence = sentences[at]
        label = f"{sentence.label} " if sentence.label and sentence.block not in blocks else ""
        cost = count_text(f"{label}{sentence.text}\n")
        if cost <= budget:
            chosen.append(at)
            blocks.add(sentence.block)
            budget -= cost
        if budget < _LEAST:
            break
    return chosen


def _render(sentences: Iterable[_Sentence]) -> str:
    lines: list[str] = []
    block = line = -1
    for sentence in sentences:
        if sentence.block != block and sentence.label:
            lines.append(f"{sentence.label} {sentence.text}")
        elif sentence.line == line:
            lines[-1] += f" {sentence.text}"
        else:
            lines.append(sentence.text)
        block, line = sentence.block, sentence.line
    return "\n".join(lines)


def _piece(text: str, max_tokens: int) -> str:
    """Cut a text of which no sentence fits; two characters cost four tokens at most."""
    return clip(text, max_tokens) or (text[:2].strip("\u200d") if max_tokens >= _LEAST else "")
