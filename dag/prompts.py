"""What a model is asked: the words of prompts.yaml around one request.

The words live in a file of their own, so that they can be read and compared without the code. Text
of users is put in by one pass over the template: it is never a format string, and never read again.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .answering import Question
    from .drift_model import DriftRequest
    from .summarizer import SummaryRequest

_SLOT: Final = re.compile(r"<<(\w+)>>")


def summary_messages(request: SummaryRequest) -> list[dict[str, str]]:
    """Return the two messages, system and user, that ask a model for *request*.

    The answer asked for is the JSON object that :func:`.summarizer.summarize` reads. The source
    stands between lines that begin with a marker made from its own digest, which no source can
    hold.
    """
    words = _prompts()["summary"]
    user = _fill(
        words["user"],
        {
            "levels": "\n".join(_size(level, request.max_tokens) for level in request.levels),
            "focus": _fill(words["focus"], {"focus": request.focus}) if request.focus else "",
            "memory": _fill(words["memory"], {"memory": request.memory}) if request.memory else "",
            "marker": _marker(request.text),
            "source": request.text,
        },
    )
    return [{"role": "system", "content": words["system"]}, {"role": "user", "content": user}]


def drift_messages(request: DriftRequest) -> list[dict[str, str]]:
    """Return the two messages that ask a model where the subject changes, between such lines too."""
    words = _prompts()["drift"]
    user = _fill(
        words["user"],
        {
            "first": str(request.judged[0]),
            "last": str(request.judged[-1]),
            "marker": _marker(request.text),
            "lines": request.text,
        },
    )
    return [{"role": "system", "content": words["system"]}, {"role": "user", "content": user}]


def answer_messages(asked: Question) -> list[dict[str, str]]:
    """Return the two messages that ask a model a question about passages, between such lines too."""
    words = _prompts()["answer"]
    values = {
        "marker": _marker(asked.text),
        "passages": asked.text,
        "question": asked.question,
    }
    user = _fill(words["user"], values)
    return [{"role": "system", "content": words["system"]}, {"role": "user", "content": user}]


def _marker(source: str) -> str:
    digest = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
    return f"=== {digest[:12]}"


def instructions() -> str:
    """What every summariser is told, whatever the source."""
    words = _prompts()["summary"]
    return f"{words['system']}\n{_SLOT.sub('', words['user'])}"


def _size(level: int, max_tokens: int) -> str:
    tokens = min(level, max_tokens)
    return f'- "{level}": at most {tokens} tokens, about {max(tokens * 7 // 10, 1)} words'


def _fill(template: str, values: Mapping[str, str]) -> str:
    return _SLOT.sub(lambda slot: values[slot[1]], template)


@functools.cache
def _prompts() -> dict[str, dict[str, str]]:
    import yaml  # 18 ms, and only who asks a model needs it

    text = Path(__file__).with_name("prompts.yaml").read_text(encoding="utf-8")
    loaded: dict[str, dict[str, str]] = yaml.safe_load(text)
    return loaded
