"""Asking a model a question about passages of the conversation: what it is given, and what comes back."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from .patience import Patience
from .replies import Rejected, Reply, read, words_of

__all__ = ["Answerer", "Question", "answered"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Question:
    """What a model is asked, and what it is to answer from."""

    question: str
    text: str
    """The passages, each under its name."""
    max_tokens: int
    """Of the answer."""
    seconds: float
    """What the call may take."""


@dataclass(frozen=True, slots=True)
class Answerer:
    """Who is asked."""

    call: Callable[[Question], str | Reply]
    trusted: bool = False
    """Whether it is the caller's own function, whose every text that is not blank is the answer."""


def answered(asked: Question, answerer: Answerer) -> str:
    """The model's answer.

    Raises:
        Rejected: it failed, came too late, or is none; the text says which, in no words of the conversation.
    """
    try:
        said = Patience(asked.seconds).within(asked.seconds, lambda: answerer.call(asked))
        if answerer.trusted:  # a summariser may give several sizes
            texts = read(said, trusted=True).texts
            return texts[max(texts)]
        return words_of(said)
    except Rejected:
        raise
    except Exception as error:
        where = "".join(traceback.format_tb(error.__traceback__))
        _log.warning("no answer from the model (%s)\n%s", type(error).__name__, where)
        late = "timeout" in type(error).__name__.lower()
        what = f"it took more than {asked.seconds:.0f} s" if late else type(error).__name__
        raise Rejected(f"the model failed: {what}") from error
