"""Values that many objects have in common, made once: the JSON text is the key.

The hard thing is what not to keep: a `Raw` holds on to the whole buffer that it was cut from, so only copies
of its few bytes are kept here.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec
from msgspec import Raw

from ullage.sources.kubernetes.faults import decoded

Value = TypeVar("Value")
Decoded = TypeVar("Decoded")


class Interned(Generic[Value]):
    """Values by the JSON text that they were read from."""

    def __init__(self, read: Callable[[bytes], Value]) -> None:
        self._read = read
        self._values: dict[bytes, Value] = {}

    def __len__(self) -> int:
        return len(self._values)

    def __call__(self, raw: Raw) -> Value:
        """The value of a text; equal texts give the same object. Raises a Fault."""
        text = bytes(raw)
        try:
            return self._values[text]
        except KeyError:
            value = self._values[text] = self._read(text)
            return value


def reader(decoder: msgspec.json.Decoder[Decoded]) -> Callable[[bytes], Decoded]:
    """A function that decodes text and turns wrong types into faults."""

    def read(text: bytes) -> Decoded:
        return decoded(decoder, text)

    return read
