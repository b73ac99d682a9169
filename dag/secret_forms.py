"""Secrets that are known by their form, or by the place where they stand, as patterns.

Every repetition has a bound, or one class of characters and nothing behind it that could fail: the
time is linear on any input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partial
from itertools import starmap
from typing import Final

__all__ = ["TOKENS", "may_hold_token", "places", "tokens"]

#: Tokens that are known by their form: rule, what each begins with, the whole of it.
TOKENS: Final = (
    ("github token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    ("github token", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{40,255}"),
    ("gitlab token", ("glpat-",), r"glpat-[A-Za-z0-9_-]{20,255}"),
    ("api key", ("sk-",), r"sk-(?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]{20,255}"),
    ("api key", ("sk_", "rk_"), r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}"),
    ("api key", ("whsec_",), r"whsec_[A-Za-z0-9+/=]{24,255}"),
    ("api key", ("gsk_",), r"gsk_[A-Za-z0-9]{32,255}"),
    ("api key", ("xai-",), r"xai-[A-Za-z0-9]{40,255}"),
    ("api key", ("pplx-",), r"pplx-[A-Za-z0-9]{40,255}"),
    ("api key", ("tvly-",), r"tvly-[A-Za-z0-9-]{20,255}"),
    ("api key", ("r8_",), r"r8_[A-Za-z0-9]{37,255}"),
    ("api key", ("lin_api_",), r"lin_api_[A-Za-z0-9]{32,255}"),
    ("api key", ("ntn_",), r"ntn_[A-Za-z0-9]{40,255}"),
    ("api key", ("SG.",), r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,255}"),
    ("google key", ("AIza",), r"AIza[A-Za-z0-9_-]{35}"),
    ("google token", ("ya29.",), r"ya29\.[A-Za-z0-9_-]{20,2000}"),
    ("google token", ("1//0",), r"1//0[A-Za-z0-9_-]{30,255}"),
    ("google key", ("GOCSPX-",), r"GOCSPX-[A-Za-z0-9_-]{20,64}"),
    ("aws key", ("AKIA", "ASIA"), r"A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("slack token", ("xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-"),
     r"xox[abeprs]-(?:[0-9]-)?[A-Za-z0-9-]{10,255}"),
    ("slack token", ("xapp-",), r"xapp-[A-Za-z0-9-]{20,255}"),
    ("npm token", ("npm_",), r"npm_[A-Za-z0-9]{36}"),
    ("pypi token", ("pypi-AgEI",), r"pypi-AgEI[A-Za-z0-9_-]{50,2000}"),
    ("hugging face token", ("hf_",), r"hf_[A-Za-z0-9]{30,255}"),
    ("digitalocean token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"do[opr]_v1_[a-f0-9]{64}"),
    ("docker token", ("dckr_pat_",), r"dckr_pat_[A-Za-z0-9_-]{20,255}"),
    ("shopify token", ("shpat_", "shpca_", "shppa_", "shpss_"), r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    ("age key", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[A-Z0-9]{50,64}"),
    ("json web token", ("eyJ",), r"eyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{4,8000}\.[A-Za-z0-9_-]{8,2000}"),
)  # fmt: skip

_OPEN: Final = r"\\{0,3}[\"']?"
_WORD: Final = r"[^\s\"'\\|;&<>()-][^\s\"'\\|;&<>()]{2,}+"

#: One thing at a place of its own, with the secret as the group ``v``.
_PLACED: Final = (
    ("telegram token", ":AA", r"(?<![\d:.])\d{8,10}:(?P<v>AA[A-Za-z0-9_-]{33})(?![A-Za-z0-9_-])"),
    ("webhook", "hooks", r"hooks\.slack\.com/services/(?P<v>[A-Za-z0-9/]{20,100})"),
    ("webhook", "hooks", r"/api/webhooks/\d{10,25}/(?P<v>[A-Za-z0-9_-]{40,100})"),
    ("url credential", "://",
     (r"://[^\s/:@\"'<>\[\]{}()$]{0,80}:(?P<v>[^\s/@\"'<>\[\]{}()`\\]++"
      r"(?:@[^\s/@\"'<>\[\]{}()`\\?&,;#=]{1,255}){0,3})@(?=[\w\[])")),
    ("url credential", "://", r"://(?P<v>(?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_-]{16,}+)@(?=[\w\[])"),
    ("account key", "AccountKey=", r"AccountKey=(?P<v>[A-Za-z0-9+/]{40,100}={0,2})"),
    ("password", "</", r"(?i:<[\w:.-]{0,30}(?:password|passwd|passphrase)>)(?P<v>[^<>\s]{4,}+)</"),
    ("key", "</", r"(?i:<[\w:.-]{0,30}(?:secret|token|api[_-]?key)>)(?P<v>(?=[^<>\s]{0,60}\d)[^<>\s]{8,}+)</"),
    ("password", "psk=", r"(?<![A-Za-z])psk=\\{0,3}[\"'](?P<v>[^\"'\n\\]{8,63})"),
    ("password", "psk=", r"(?m:^[ \t]{0,8}psk=)(?P<v>[^\s\"'$({<\[]{8,64})"),
    ("password", "sshpass", rf"\bsshpass\s{{1,3}}-p\s{{0,3}}{_OPEN}(?P<v>{_WORD})"),
    ("cookie", "ookie",
     (r"(?i:\bcookie\\{0,3}[\"']?\s{0,3}:\s{0,3}\\{0,3}[\"']?)(?P<v>(?=[^\s\"']{0,200}\d)[^\s=;,\"'\\]{1,100}="
      r"[^;\s\"'\\]{8,4000}(?:;[ ]?[^\s=;\"'\\]{1,100}=[^;\s\"'\\]{1,4000}){0,50})")),
)  # fmt: skip

#: Not in the middle of a word. Behind ``+``, ``-`` and ``/`` a token stands in a diff, a path, a name.
_APART: Final = r"(?<![A-Za-z0-9_])"
#: Those that a word put together of several, or any base64, may contain by chance.
_WEAK: Final = {"sk-": r"(?<![A-Za-z0-9_]-)", "1//0": r"(?<![/+-])"}


#: Characters in the beginnings of tokens, those that texts hold least often first.
_RARE: Final = "J_-GKSI92"
#: Characters in front of one of them that are looked at: the longest beginning, and one more.
_IN_FRONT: Final = 8
#: How many of them are found one by one in any case, and how many characters then stand between two on average.
_SOME, _DENSE = 200, 30


@cache
def _signs() -> tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]:
    """By rare character: what stands in front of it where a token begins, as strings and as a pattern."""
    fronts: dict[str, set[str]] = {}
    for begin in (begin for _, begins, _ in TOKENS for begin in begins if "//" not in begin):
        rare = next(character for character in _RARE if character in begin)
        fronts.setdefault(rare, set()).add(begin.partition(rare)[0])
    return tuple(
        (rare, tuple(sorted(front)), re.compile(rf"{_APART}(?:{'|'.join(sorted(front))})\Z"))
        for rare, front in fronts.items()
    )


def may_hold_token(text: str) -> bool:
    """Whether a token may begin somewhere, told by single characters: a tenth of the time that all beginnings take."""
    return any(starmap(partial(_may_begin, text), _signs())) or "1//0" in text


def _may_begin(text: str, rare: str, fronts: tuple[str, ...], apart: re.Pattern[str]) -> bool:
    """Whether one of *fronts* stands in front of *rare*.

    To take the text apart looks at each character, and to find them one by one costs as much as thirty each.
    """
    at, met = text.find(rare), 0
    while at >= 0:
        if text.endswith(fronts, 0, at) and apart.search(text[max(at - _IN_FRONT, 0) : at]):
            return True
        met += 1
        if met > _SOME and met * _DENSE > at:
            return any(
                piece.endswith(fronts) and apart.search(piece[-_IN_FRONT:])
                for piece in text[max(at - _IN_FRONT, 0) :].split(rare)[:-1]
            )
        at = text.find(rare, at + 1)
    return False


@cache
def tokens() -> tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]:
    """What stands in its place, how it begins, and the pattern, of each token."""
    return tuple(
        (f"[redacted {rule}]", begins, re.compile(f"{_APART}{_WEAK.get(begins[0], '')}{form}"))
        for rule, begins, form in TOKENS
    )


@cache
def _places() -> tuple[tuple[str, str, tuple[tuple[str, re.Pattern[str]], ...]], ...]:
    """A character and a sign without which they stand nowhere; rules, each with its pattern."""
    signs = dict.fromkeys(sign for _, sign, _ in _PLACED)
    return tuple(
        (
            next((character for character in sign if not character.isalnum()), sign[0]),
            sign,
            tuple((rule, re.compile(form)) for rule, own, form in _PLACED if own == sign),
        )
        for sign in signs
    )


def places(text: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    """What may stand in *text*, which may be changed meanwhile: rules, patterns with the secret as the group ``v``.

    A character is found fifty times as fast as a word is not, and most texts lack most of them.
    """
    for character, sign, forms in _places():
        if character in text and sign in text:
            yield from forms
