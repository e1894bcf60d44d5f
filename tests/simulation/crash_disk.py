"""What a disk holds after the power has failed, told from a trace of what was asked of it.

Only what was synchronised is sure. Of everything else some arrived and some did not, and of what arrived
perhaps a part. After a synchronisation that failed, what it was for stays unsure even if a later one
succeeds: the system may take those pages for written. A file that is new is there for sure once its folder
was synchronised, and one that was removed may be back.
"""

import random
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

HEAD = struct.Struct("<cHqQ")
SECTOR_BYTES = 512


class Event(NamedTuple):
    """One call: W a write, T a truncation to `offset`, U a removal, S a synchronisation, F one that failed.

    L gives a file a second name, which is its data. The folder itself has no name.
    """

    kind: str
    name: str
    offset: int = 0
    data: bytes = b""


class _Change:
    """A write or truncation, and how sure it is: None until it is synchronised, False if that failed."""

    __slots__ = ("event", "sure")

    def __init__(self, event: Event) -> None:
        self.event = event
        self.sure: bool | None = None


class _File:
    """What a file held in the beginning, and what was done to it since."""

    def __init__(self, content: bytes = b"") -> None:
        self.content = content
        self.changes: list[_Change] = []

    def synchronised(self, *, sure: bool) -> None:
        for change in self.changes:
            if change.sure is None:
                change.sure = sure

    def after_power_failed(self, draw: random.Random) -> bytes:
        content = bytearray(self.content)
        luck = draw.random()
        for change in self.changes:
            offset, data = change.event.offset, change.event.data
            if not change.sure:
                if draw.random() > luck:
                    continue
                data = data[: draw.randrange(len(data) // SECTOR_BYTES + 2) * SECTOR_BYTES]
            if change.event.kind == "T":
                del content[offset:]
                content.extend(bytes(offset - len(content)))
            else:
                content.extend(bytes(max(0, offset + len(data) - len(content))))
                content[offset : offset + len(data)] = data
        return bytes(content)


def events(trace: bytes) -> Iterator[Event]:
    """Yield the calls of a trace; the last record may be cut off."""
    place = 0
    while place + HEAD.size <= len(trace):
        kind, name_length, offset, length = HEAD.unpack_from(trace, place)
        place += HEAD.size
        name = trace[place : place + name_length].decode()
        place += name_length
        yield Event(kind.decode(), name, offset, trace[place : place + length])
        place += length


class _Name:
    """A name of a file, and whether it is sure to be in the folder."""

    def __init__(self, file: _File, *, entered: bool) -> None:
        self.file = file
        self.entered = entered


def after_power_failed(
    files: dict[str, bytes], happened: Iterable[Event], draw: random.Random
) -> dict[str, bytes]:
    """Return one of the contents that a disk may have, which had `files` on it before all this happened."""
    present = {name: _Name(_File(content), entered=True) for name, content in files.items()}
    removed: dict[str, _Name] = {}
    for event in happened:
        if event.name == "":
            for name in present.values():
                name.entered |= event.kind == "S"
            if event.kind == "S":
                removed.clear()
        elif event.kind == "U":
            removed[event.name] = present.pop(event.name, _Name(_File(), entered=False))
        elif event.kind == "L":
            present[event.data.decode()] = _Name(present[event.name].file, entered=False)
        elif event.kind in {"S", "F"}:
            if event.name in present:  # a file nobody has written to has nothing to lose
                present[event.name].file.synchronised(sure=event.kind == "S")
        else:
            if event.name not in present:
                present[event.name] = _Name(_File(), entered=False)
                removed.pop(event.name, None)
            present[event.name].file.changes.append(_Change(event))
    kept = {name: each.file for name, each in present.items() if each.entered or draw.random() < 0.5}
    kept |= {name: each.file for name, each in removed.items() if each.entered and draw.random() < 0.5}
    return {name: file.after_power_failed(draw) for name, file in kept.items()}
