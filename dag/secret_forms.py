"""Secrets that are known by their form, or by the place where they stand, as patterns.

Every repetition has a bound, or one class of characters and nothing behind it that could fail: the
time is linear on any input.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

__all__ = ["PLACED", "TOKENS", "places", "tokens"]

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
    ("slack token", ("xox",), r"xox[abeprs]-(?:[0-9]-)?[A-Za-z0-9-]{10,255}"),
    ("slack token", ("xapp-",), r"xapp-[A-Za-z0-9-]{20,255}"),
    ("npm token", ("npm_",), r"npm_[A-Za-z0-9]{36}"),
    ("pypi token", ("pypi-AgEI",), r"pypi-AgEI[A-Za-z0-9_-]{50,2000}"),
    ("hugging face token", ("hf_",), r"hf_[A-Za-z0-9]{30,255}"),
    ("digitalocean token", ("do",), r"do[opr]_v1_[a-f0-9]{64}"),
    ("docker token", ("dckr_pat_",), r"dckr_pat_[A-Za-z0-9_-]{20,255}"),
    ("shopify token", ("shp",), r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    ("age key", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[A-Z0-9]{50,64}"),
    ("json web token", ("eyJ",), r"eyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{4,8000}\.[A-Za-z0-9_-]{8,2000}"),
)  # fmt: skip

#: The rest of a command, up to an option: also over the end of a line that goes on.
_ON: Final = r"(?:[^\n\\|;]|\\[\s\S]){0,200}?"
_OPEN: Final = r"\\{0,3}[\"']?"
_WORD: Final = r"[^\s\"'\\|;&<>()-][^\s\"'\\|;&<>()]{2,255}"

#: One thing at a place of its own, with the secret as the group ``v``.
PLACED: Final = (
    ("telegram token", ":AA", r"(?<![\d:.])\d{8,10}:(?P<v>AA[A-Za-z0-9_-]{33})(?![A-Za-z0-9_-])"),
    ("webhook", "hooks.slack.com/", r"hooks\.slack\.com/services/(?P<v>[A-Za-z0-9/]{20,100})"),
    ("webhook", "/api/webhooks/", r"/api/webhooks/\d{10,25}/(?P<v>[A-Za-z0-9_-]{40,100})"),
    ("url credential", "://", r"://[^\s/:@\"'<>\[\]{}()$]{0,80}:(?P<v>[^\s/@\"'<>\[\]{}()`\\]{1,255})@(?=[\w\[])"),
    ("url credential", "://", r"://(?P<v>(?=[A-Za-z_-]{0,60}\d)[A-Za-z0-9_-]{16,255})@(?=[\w\[])"),
    ("account key", "AccountKey=", r"AccountKey=(?P<v>[A-Za-z0-9+/]{40,100}={0,2})"),
    ("password", "</", r"(?i:<[\w:.-]{0,30}(?:password|passwd|passphrase)>)(?P<v>[^<>\s]{4,255})</"),
    ("key", "</", r"(?i:<[\w:.-]{0,30}(?:secret|token|api[_-]?key)>)(?P<v>(?=[^<>\s]{0,60}\d)[^<>\s]{8,255})</"),
    ("password", "mysql", rf"\bmysql\w{{0,8}}\b{_ON}\s-p{_OPEN}(?P<v>{_WORD})"),
    ("password", "mariadb", rf"\bmariadb[\w-]{{0,8}}\b{_ON}\s-p{_OPEN}(?P<v>{_WORD})"),
    ("password", "sshpass", rf"\bsshpass\s{{1,3}}-p\s{{0,3}}{_OPEN}(?P<v>{_WORD})"),
    ("password", "curl",
     rf"\bcurl\b{_ON}\s(?:-[a-zA-Z]{{0,8}}u|--(?:proxy-)?user)[ =]{{0,3}}{_OPEN}[^\s:\"'\\]{{0,80}}:(?P<v>{_WORD})"),
    ("cookie", "ookie",
     (r"(?i:\bcookie\\{0,3}[\"']?\s{0,3}:\s{0,3}\\{0,3}[\"']?)(?P<v>(?=[^\s\"']{0,200}\d)[^\s=;,\"'\\]{1,100}="
      r"[^;\s\"'\\]{8,4000}(?:;[ ]?[^\s=;\"'\\]{1,100}=[^;\s\"'\\]{1,4000}){0,50})")),
)  # fmt: skip

#: Not in the middle of a word. Behind ``+``, ``-`` and ``/`` a token stands in a diff, a path, a name.
_APART: Final = r"(?<![A-Za-z0-9_])"
#: Those that a word put together of several, or any base64, may contain by chance.
_WEAK: Final = {"sk-": r"(?<![A-Za-z0-9_]-)", "1//0": r"(?<![/+-])"}


@cache
def tokens() -> tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]:
    """What stands in its place, how it begins, and the pattern, of each token."""
    return tuple(
        (f"[redacted {rule}]", begins, re.compile(f"{_APART}{_WEAK.get(begins[0], '')}{form}"))
        for rule, begins, form in TOKENS
    )


@cache
def places() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    """Rule, a sign without which it stands nowhere, and the pattern with the secret as the group ``v``."""
    return tuple((rule, sign, re.compile(form)) for rule, sign, form in PLACED)
