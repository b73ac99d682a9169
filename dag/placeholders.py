"""What stands where a secret would, and is none: a variable, a template, a word such as ``changeme``.

A placeholder is a whole form. A value that only begins like one (``$tr0ngPa55``, ``{Xy7!kkPq2``) is a secret.
Where nothing says where a name ends, as behind ``$``, it is made of words: letters, and at most two digits behind
those of a word in capitals. In doubt it is a secret.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_placeholder"]

#: Characters of the longest placeholder.
_MOST: Final = 150

#: ``DB_PASSWORD_2``, ``S3_KEY``.
_CAPITALS: Final = r"[A-Z]+\d{0,2}(?:_(?:[A-Z]+\d{0,2}|\d{1,2}))*"
#: ``password``, ``dbPassword``, ``db_password``.
_LETTERS: Final = r"_{0,2}[A-Za-z]+(?:_[A-Za-z]+)*"
_NAME: Final = rf"(?:{_CAPITALS}|{_LETTERS})"
#: Names with dots, and with what is called or looked up behind them: ``db.get("x")``. A quote in it may have cut it.
_CALL: Final = r"[(\[](?:.*[)\]])?"
_PATH: Final = rf"{_NAME}(?:\??[.:]{_NAME})*(?:{_CALL})?"
#: Of which values are read.
_HOLDERS: Final = (
    r"process\.env|os\.environ|os\.getenv|env|secrets|config|settings|self|this|args|req"
)

_FORMS: Final = (
    # words
    r"\*{3,}.{0,4}|\.{3}|(?i:x{3,})|(?i:\[redacted)(?: [a-z ]{0,40}\]?)?\]?|(?i:\[?secret\]?)",
    r"(?i:none|null|nil|true|false|undefined|str|string|int|integer|number|bool|boolean|bytes|text|any|object|self)",
    r"(?i:example|changeme|change[-_]me|placeholder|required|optional|redacted|hidden|masked|empty|missing|invalid)",
    r"(?i:your(?:[-_ '](?:[a-z]+|x+|\d{1,6})){1,12}[.!]{0,3})",
    r"<[A-Za-z][\w .,:/|'-]{0,78}>|\([A-Za-z][A-Za-z ,.'_-]*\)",
    rf"(?i:{_HOLDERS})(?:[.:]{_NAME}|{_CALL})(?:\??[.:]{_NAME})*(?:{_CALL})?",
    # of a shell, of Perl and PHP, of make: the end may lack what follows an arrow
    rf"\${{1,2}}(?:\d|(?:env:)?{_NAME}(?:\.{_NAME})*(?:-|->{_NAME}|\[(?:.*\])?)?)",
    r"(?:\${1,2}\{[\w.!]+(?:\(.*|\[.*|:?[-?][A-Za-z_ ]*)?\}[-_.:@/ ]{0,3}){1,4}",
    rf"\$\{{\{{.*|\${{1,2}}\{{{_PATH}\}}?",
    r"\${1,2}\((?:[A-Za-z_][\w./-]*(?:\s.*|\))|<.*)",
    # of Windows, of printf, of Python, of Symfony
    rf"%{_NAME}%|%(?:\[\d\])?[a-z]|%\([\w.]+\)[a-z]|%\{{[\w.:]+\}}|%env\([\w:]+\)%",
    r"%(?i:7B)[\w.]+%(?i:7D)|%(?i:3C)[\w-]+%(?i:3E)",
    # of templates
    r"\{\{-?\s*[A-Za-z_$.\"'][^{}]*\}\}|\{\{-?\s+[A-Za-z_$.].*",
    rf"(?:\{{[\w.]*(?:![rsa])?(?::[^{{}}]*)?\}}[-_.:@/ ]{{0,3}}){{1,4}}|\{{{_LETTERS}(?:\.{_LETTERS})*[(\[](?:.*\}})?",
    # a regular expression
    r"\(\?(?:P<|:).*|\(\.[*+]\??\)",
    # a file, and a parameter of a query
    r"@[./~][\w./~-]+|@[\w-]+\.(?:txt|json|ya?ml|pem|key|env|crt|pass|secret)|@[\w.]+@",
    r"@(?i:[a-z_]*(?:pass|pwd|secret|token|key|cred)[a-z_]*)",
)  # fmt: skip
_PLACEHOLDER: Final = re.compile("|".join(_FORMS), re.DOTALL)


def is_placeholder(value: str) -> bool:
    """Whether *value* is no secret: a placeholder, a variable, a template, or what was masked already."""
    return len(value) <= _MOST and bool(_PLACEHOLDER.fullmatch(value))
