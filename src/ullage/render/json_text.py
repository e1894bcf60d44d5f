"""Builtin data (dict, list, str, int, float, bool, None) as JSON or YAML text, keys in the given order.

The hard thing is what others read: a string that any YAML reader could take for a number, a boolean or
nothing is quoted (`"1e3"` is a quantity, `"no"` a name), and no character that a terminal would obey is
written raw. Integers are those of 64 bits.
"""

import re
from typing import Any

import msgspec

from ullage.render.visible import visible

_OUTSIDE_ASCII = re.compile(r"[^\n\x20-\x7e]")
# What YAML 1.2 readers take for numbers, and the one-letter booleans of YAML 1.1, beyond PyYAML's own rules.
_NUMBER_LIKE = re.compile(
    r"[-+]?(\.\d[\d_]*|\d[\d_]*(\.[\d_]*)?)([eE][-+]?\d+)?|0[oO][0-7]+|[-+]?0[xX][0-9a-fA-F]+|[yYnN]"
)
_UNFOLDED = 1 << 30


def to_json(data: Any) -> str:
    """Return the data as JSON, indented by two, with a newline at the end."""
    try:
        encoded = msgspec.json.encode(data)
    except UnicodeEncodeError:
        encoded = msgspec.json.encode(_encodable(data))
    text = msgspec.json.format(encoded, indent=2).decode()
    is_plain = text.isascii() and "\x7f" not in text  # other control characters are escaped already
    return (text if is_plain else _OUTSIDE_ASCII.sub(_escape, text)) + "\n"


def _escape(match: re.Match[str]) -> str:
    """Write an unprintable character as JSON escapes, in UTF-16 code units as JSON has it."""
    character = match.group()
    if character.isprintable():
        return character
    units = character.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def to_yaml(data: Any) -> str:
    """Return the data as YAML in block style, without anchors and folded lines."""
    import yaml

    class Dumper(yaml.CSafeDumper):
        """Writes a tree as a tree: what occurs twice is written twice."""

        def ignore_aliases(self, data: Any) -> bool:
            del data
            return True

    def represent_text(dumper: Dumper, text: str) -> yaml.ScalarNode:
        style = '"' if _NUMBER_LIKE.fullmatch(text) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, represent_text)

    def dumped(value: Any, *, readable: bool) -> str:
        text: str = yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=readable, width=_UNFOLDED)
        return text

    try:
        text = dumped(data, readable=True)
    except UnicodeEncodeError:
        data = _encodable(data)
        text = dumped(data, readable=True)
    if any(not found.isprintable() for found in _OUTSIDE_ASCII.findall(text)):
        return dumped(data, readable=False)
    return text


def _encodable(value: Any) -> Any:
    """Spell out half surrogates, which no UTF-8 text can hold (they come from undecodable file names)."""
    if isinstance(value, str):
        return visible(value) if any("\ud800" <= character <= "\udfff" for character in value) else value
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    return value
