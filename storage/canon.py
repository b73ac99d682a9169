"""One form for every message: canonical JSON, and digests over it.

Keys sorted, no white space, UTF-8 with lone surrogates passed through as the
three bytes they would be. ``decode(encode(x)) == x`` for whatever JSON can
hold, down to 200 levels of nesting. What stands deeper is kept as its JSON
text, under a key that says so: whole, but in a form that no reader's stack is
too small for. What JSON cannot hold (a set, a datetime) is kept as its
``repr`` in the same way, an integer that Python prints no more in hexadecimal,
a thing in itself as a mark: a message must never be lost to its shape.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

from .errors import StoreGarbled

__all__ = [
    "DEEPEST",
    "DIGEST_BYTES",
    "FLAT",
    "begun",
    "decode",
    "deep_text",
    "digest",
    "digests",
    "dumper",
    "each_of",
    "encode",
    "is_flat",
    "pack_text",
    "parsed",
    "plain_text",
    "spelt",
    "unpack_text",
]

DIGEST_BYTES = 16

#: Levels of nesting that are kept as such: more than any message has, and a fifth of what a stack holds.
DEEPEST = 200
_REPR, _JSON = "__repr__", "__json__"


def spelt(value: object) -> str:
    """``repr(value)``; of what has none, its type and what can be told of it. Never raises."""
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - the code of others
        return hex(value) if isinstance(value, int) else f"<{type(value).__name__} without a repr>"


def plain_text(value: object) -> str:
    """``str(value)``; of what has none, its JSON. Never raises."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - the code of others, an integer of 5,000 digits
        return encode(value).decode("utf-8", "surrogatepass")


def _unknown(value: object) -> dict[str, str]:
    return {_REPR: spelt(value)}


_ENCODER = json.JSONEncoder(
    ensure_ascii=False,
    sort_keys=True,
    separators=(",", ":"),
    check_circular=False,
    default=_unknown,
)


def dumper(encoder: json.JSONEncoder) -> Callable[[Any], str]:
    """``encoder.encode`` for what holds not itself, by a C function made once: it makes one for every call."""
    make = getattr(json.encoder, "c_make_encoder", None)
    name = "c_encode_basestring_ascii" if encoder.ensure_ascii else "c_encode_basestring"
    escape = getattr(json.encoder, name, None)
    if make is None or escape is None:
        return encoder.encode
    between = (encoder.key_separator, encoder.item_separator)
    flags = (encoder.sort_keys, encoder.skipkeys, encoder.allow_nan)
    dump = make(None, encoder.default, escape, None, *between, *flags)
    return lambda value: "".join(dump(value, 0))


_dump = dumper(_ENCODER)
_DECODER = json.JSONDecoder()
_scan: Callable[[str, int], tuple[Any, int]] = vars(_DECODER)["scan_once"]


def encode(value: Any) -> bytes:
    """Return *value* as canonical JSON; never raises."""
    try:
        text = _dump(value)
        if len(text) > 2 * DEEPEST and not is_flat(value) and _opened(text) and _is_deep(value):
            text = _written(value, DEEPEST)
    except Exception:  # noqa: BLE001 - a key, a loop, a number, a depth that the encoder does not take
        text = _written(value, DEEPEST)
    return text.encode("utf-8", "surrogatepass")


FLAT = frozenset({str, int, float, bool, type(None)})
"""Types of what a message mostly consists of, and nothing is in."""


def is_flat(value: Any) -> bool:
    """Whether it is an object without another one inside, as most messages are."""
    return type(value) is dict and FLAT.issuperset(map(type, value.values()))


def _opened(text: str) -> bool:
    """Whether it has as many brackets as something too deep has at the least."""
    return text.count("[") + text.count("{") > DEEPEST


def deep_text(value: Any) -> str:
    """The JSON text of what stands deeper than :data:`DEEPEST`, as it is kept."""
    if isinstance(value, dict) and value.keys() == {_JSON} and isinstance(value[_JSON], str):
        return str(value[_JSON])  # it was read from a store
    return _written(value, None)


def _is_deep(value: Any) -> bool:
    """Whether there is more than a text below the deepest level."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            item
            for each in level
            for item in (each.values() if isinstance(each, dict) else each)
            if isinstance(item, dict | list | tuple)
        ]
        if not level:
            return False
    return True


def _written(value: Any, deepest: int | None) -> str:
    """*value* as JSON without recursion; what is deeper as one text, what holds itself as a mark."""
    out: list[str] = []
    inside: set[int] = set()
    open_: list[tuple[Iterator[tuple[str, Any]], str, int]] = [(iter([("", value)]), "", 0)]
    while open_:
        items, closing, name = open_[-1]
        step = next(items, None)
        if step is None:
            out.append(closing)
            inside.discard(name)
            open_.pop()
            continue
        out.append(step[0])
        item = step[1]
        if not isinstance(item, dict | list | tuple):
            out.append(_leaf(item))
        elif id(item) in inside:
            out.append(_leaf({_REPR: "..."}))
        elif deepest is not None and len(open_) > deepest + 1:
            out.append(_leaf({_JSON: deep_text(item)}))
        else:
            inside.add(id(item))
            out.append("{" if isinstance(item, dict) else "[")
            open_.append((_items(item), "}" if isinstance(item, dict) else "]", id(item)))
    return "".join(out)


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    """Each item of a container, with what is written in front of it."""
    if not isinstance(value, dict):
        yield from (("," if place else "", item) for place, item in enumerate(value))
        return
    named = {key: item for key, item in value.items() if isinstance(key, str)}
    for key, item in value.items():
        if not isinstance(key, str):
            name = spelt(key)
            while name in named:
                name = f"{type(key).__name__} {name}"
            named[name] = item
    for place, key in enumerate(sorted(named)):
        yield f"{',' if place else ''}{_leaf(key)}:", named[key]


def _leaf(value: Any) -> str:
    try:
        return _ENCODER.encode(value)
    except Exception:  # noqa: BLE001 - as above
        return _ENCODER.encode(_unknown(value))


def decode(body: bytes) -> Any:
    """Return the value that :func:`encode` was given.

    Raises:
        StoreGarbled, a ValueError: *body* is no JSON.
    """
    try:
        return parsed(body.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise StoreGarbled(
            "A message is damaged: its bytes are no JSON. `hermes lcm verify` names it."
        ) from error


def parsed(text: str) -> Any:
    """``json.loads(text)``, which looks for blanks around it for longer than it takes to read a short one.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        end = -1
    return value if end == len(text) else _DECODER.decode(text)


def each_of(bodies: Sequence[bytes]) -> list[Any]:
    """:func:`decode` of each, all at once.

    Raises:
        ValueError: one is no JSON.
    """
    values = decode(b"[%b]" % b",".join(bodies))
    return values if len(values) == len(bodies) else [decode(body) for body in bodies]


_NOTHING = blake2b(digest_size=DIGEST_BYTES)


def digest(*parts: bytes, after: blake2b = _NOTHING) -> bytes:
    """Return 16 bytes of BLAKE2b over *parts*, each preceded by its length.

    *after*: what :func:`begun` made of the parts in front of them.
    """
    made = after.copy()  # a third less than making one
    made.update(_framed(parts))
    return made.digest()


def digests(parts: Iterable[bytes]) -> list[bytes]:
    """:func:`digest` of each by itself, in two thirds of the time."""
    begin, found = _NOTHING.copy, []
    for part in parts:
        made = begin()
        made.update(len(part).to_bytes(8, "big") + part)
        found.append(made.digest())
    return found


def begun(parts: Sequence[bytes]) -> blake2b:
    """The state of a :func:`digest` that begins with *parts*, for several that go on from there."""
    made = _NOTHING.copy()
    made.update(_framed(parts))
    return made


def _framed(parts: Sequence[bytes]) -> bytes:
    if len(parts) == 1:  # nearly always
        return len(parts[0]).to_bytes(8, "big") + parts[0]
    return b"".join([piece for part in parts for piece in (len(part).to_bytes(8, "big"), part)])


def pack_text(text: str) -> bytes:
    """UTF-8 that also takes lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


def unpack_text(data: bytes) -> str:
    """The inverse of :func:`pack_text`."""
    return data.decode("utf-8", "surrogatepass")
