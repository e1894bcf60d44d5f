"""What a YAML scalar means: the rules of YAML 1.1 for null, booleans and whole numbers; all else is text.

Scalars follow YAML 1.1 as Kubernetes' loader reads it (`yes`, `no`, `on`, `off` are booleans, 0755 is octal,
keys become text), with three deliberate differences, each of which keeps what the user wrote:

- a number with a fraction or an exponent stays the text it was written as (`2.50`, `1e3`), so that a quantity
  is read from it exactly; `msgspec.convert(..., strict=False)` makes a float or an integer of it where a
  record asks for one. It is a plain `str`: msgspec neither converts nor encodes subclasses of its types;
- dates and times, numbers with underscores and base-60 numbers (`12:30`) stay text;
- `y` and `n` stay text.
"""

import re
from typing import Final, TypeAlias

Scalar: TypeAlias = str | int | bool | None

MAYBE_NOT_TEXT: Final = frozenset("0123456789+-~nNtTfFyYoO") | {""}
"""First characters of plain scalars that may mean something else than their text."""

_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_WHOLE_NUMBER: Final = re.compile(
    r"([-+]?)(?:(0|[1-9][0-9]{0,39})|0([0-7]{1,40})|0o([0-7]{1,40})|0x([0-9a-fA-F]{1,40})|0b([01]{1,128}))\Z"
)
_BASES: Final = (10, 8, 8, 16, 2)

_TAG: Final = "tag:yaml.org,2002:"
_KEPT_AS_TEXT: Final = frozenset({_TAG + "str", _TAG + "float", _TAG + "timestamp"})
_EXPECTED_TYPES: Final[dict[str, type]] = {_TAG + "int": int, _TAG + "bool": bool, _TAG + "null": type(None)}


def plain_value(text: str) -> Scalar:
    """The value of a scalar written without quotes; a number too long for any use stays text."""
    if text in _WORDS:
        return _WORDS[text]
    match = _WHOLE_NUMBER.match(text)
    if match is None:
        return text
    sign, *digits = match.groups()
    for base, digit in zip(_BASES, digits, strict=True):
        if digit is not None:
            return int(sign + digit, base)
    return text


def tagged_value(tag: str, text: str) -> Scalar:
    """The value of a scalar with a tag such as `!!int`; KeyError: unknown tag, ValueError: another kind."""
    if tag in _KEPT_AS_TEXT:
        return text
    expected = _EXPECTED_TYPES[tag]
    value = plain_value(text)
    if type(value) is not expected:
        raise ValueError(text)
    return value


def key_text(value: object) -> str | None:
    """A mapping's key as text, as JSON would have it; None when it is null, a list or a mapping."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int):
        return str(value)
    return None
