"""What the objects of a ledger add up to: the state now, the steps that are kept, and the states between.

Steps that are old enough are removed, so the state is read from the newest one that is kept whole, and the
steps after it. The hard thing is to believe nothing but what hangs together: every step must follow by its
hash from the one before. A step below all that is kept may have been written by somebody who had slept since;
nobody was told of it, and it does not count.
"""

import base64
import binascii
import zlib
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec

from ullage.engine.ledger.apply import apply
from ullage.engine.ledger.state import LedgerState
from ullage.model.errors import InputError
from ullage.model.ledger import Decision, JournalRow, Outcome
from ullage.stores import codec
from ullage.stores.kubernetes_objects import STATE_CHARACTERS_MAX, Part, Step, damaged
from ullage.stores.protocol import Asked, moved_since, repeated

STEPS_IN_MEMORY_MAX: Final = 20_000
STATE_BYTES_MAX: Final = 1 << 30


class Kept(NamedTuple):
    """A state that is kept, all parts of it in order."""

    parts: tuple[Part, ...]

    @property
    def revision(self) -> int:
        """The step after which it was so."""
        return self.parts[0].revision

    @property
    def hash(self) -> bytes:
        """The hash of that step."""
        return self.parts[0].hash

    def state(self) -> LedgerState:
        """Return the state; one that is not as it was written is refused."""
        text = "".join(part.state for part in self.parts)
        try:
            unpacking = zlib.decompressobj()
            written = unpacking.decompress(base64.b64decode(text, validate=True), STATE_BYTES_MAX)
        except (binascii.Error, zlib.error) as error:
            raise damaged(f"the state of revision {self.revision}: {error}") from None
        if sha256(written).hexdigest() != self.parts[0].digest or not unpacking.eof:
            raise damaged(f"the state of revision {self.revision} is not what was written")
        try:
            return codec.to_state(self.revision, written.decode())
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise damaged(f"the state of revision {self.revision}: {error}") from None


def parts_of(state: LedgerState, last_hash: bytes) -> list[Part]:
    """Return a state as the parts that are kept of it; the same state gives the same parts."""
    text = codec.state_text(state).encode()
    packed = base64.b64encode(zlib.compress(text)).decode()
    digest = sha256(text).hexdigest()
    slices = [packed[at : at + STATE_CHARACTERS_MAX] for at in range(0, len(packed), STATE_CHARACTERS_MAX)]
    return [
        Part(state.revision, state.at_seconds, last_hash, number, len(slices), each, digest)
        for number, each in enumerate(slices)
    ]


def whole_states(parts: Iterable[Part]) -> list[Kept]:
    """Return the states of which all parts are there, the oldest first."""
    by_state: dict[tuple[int, str, bytes, int], dict[int, Part]] = {}
    for part in parts:
        known = by_state.setdefault((part.revision, part.digest, part.hash, part.parts), {})
        known[part.part] = part
    whole = [
        Kept(tuple(found[number] for number in range(parts_count)))
        for (_, _, _, parts_count), found in by_state.items()
        if parts_count and all(number in found for number in range(parts_count))
    ]
    return sorted(whole, key=lambda each: (each.revision, each.parts[0].digest))


class Chain:
    """The ledger as its objects have it; further steps are added to it one by one."""

    def __init__(self, objects: Iterable[Step | Part] = ()) -> None:
        steps: dict[int, Step] = {}
        parts: list[Part] = []
        for each in objects:
            if isinstance(each, Step):
                steps[each.revision] = each
            else:
                parts.append(each)
        self.kept = whole_states(parts)
        self.steps: dict[int, Step] = {}
        newest = self.kept[-1] if self.kept else None
        self.state = newest.state() if newest else LedgerState()
        self.hash = newest.hash if newest else codec.GENESIS
        self._keys: dict[str, int] = {}
        for step in [*_before(steps, self.state.revision, self.hash)][::-1]:
            self._keep(step)
        while self.revision + 1 in steps:
            self.append(steps[self.revision + 1])
        beyond = max(steps, default=0)
        if beyond > self.revision:
            raise damaged(f"step {self.revision + 1} is missing, and {beyond} is there")

    @property
    def revision(self) -> int:
        """The last step."""
        return self.state.revision

    def append(self, step: Step, decision: Decision | None = None) -> None:
        """Take the next step; one that does not follow is refused."""
        if step.revision != self.revision + 1 or not step.follows(self.hash):
            raise damaged(f"step {step.revision} does not follow step {self.revision}")
        try:
            done = codec.to_decision(step.decision) if decision is None else decision
        except msgspec.MsgspecError as error:
            raise damaged(f"step {step.revision}: {error}") from None
        apply(self.state, done, step.at_seconds)
        self.hash = step.hash
        self._keep(step)
        if len(self.steps) > STEPS_IN_MEMORY_MAX:
            self.forget(min(self.steps))

    def forget(self, until: int) -> None:
        """Keep the steps up to this one no longer in memory; the present stays as it is."""
        for revision in [each for each in self.steps if each <= until]:
            step = self.steps.pop(revision)
            if self._keys.get(step.key) == revision:
                del self._keys[step.key]

    def next_step(self, asked: Asked, decision: Decision, writer: str) -> Step:
        """Return the step that would be next."""
        at_seconds = max(asked.at_seconds, self.state.at_seconds)
        row = (self.revision + 1, at_seconds, asked.key, asked.text, codec.decision_text(decision))
        return Step(*row, codec.chained(self.hash, row), writer)

    def known(self, asked: Asked) -> Outcome | None:
        """Return the outcome that a key had before; refuse it if it was the key of something else."""
        revision = self._keys.get(asked.key) if asked.key else None
        if revision is None:
            return None
        step = self.steps[revision]
        return repeated(asked, step.command, Outcome(revision, codec.to_decision(step.decision)))

    def has_moved(self, asked: Asked) -> bool:
        """Whether the ledger has changed since the revision that somebody has planned on."""
        return asked.revision is not None and moved_since(self.state, asked.revision, exact=asked.exact)

    # The past

    @property
    def earliest(self) -> int:
        """The first revision whose state can still be told."""
        first = min(self.steps, default=self.revision + 1)
        if first == 1:
            return 0
        told = [each.revision for each in self.kept if each.revision >= first - 1]
        return min(told, default=self.revision)

    def at(self, revision: int) -> LedgerState:
        """Return the state after a step; 0 is before the first."""
        if not self.earliest <= revision <= self.revision:
            lost = 0 <= revision < self.earliest
            raise InputError(
                f"revision {revision} is no longer kept" if lost else f"there is no revision {revision}",
                remedy=f"use {self.earliest} to {self.revision}",
            )
        if revision == self.revision:
            return self.state.copy()
        started = [each for each in self.kept if self.earliest <= each.revision <= revision]
        state = started[-1].state() if started else LedgerState()
        for number in range(state.revision + 1, revision + 1):
            step = self.steps[number]
            apply(state, codec.to_decision(step.decision), step.at_seconds)
        return state

    def rows(self, after: int = 0) -> Iterator[JournalRow]:
        """Yield the steps that are kept after a revision, in order."""
        for revision in sorted(self.steps):
            if revision > after:
                yield row_of(self.steps[revision])

    def row_of_key(self, key: str) -> JournalRow | None:
        """Return the step that was asked for under a key; None where none is kept."""
        revision = self._keys.get(key) if key else None
        return None if revision is None else row_of(self.steps[revision])

    def _keep(self, step: Step) -> None:
        self.steps[step.revision] = step
        if step.key:
            self._keys.setdefault(step.key, step.revision)


def row_of(step: Step) -> JournalRow:
    """Return a step as a row of the journal."""
    return JournalRow(
        step.revision,
        step.at_seconds,
        codec.to_command(step.command),
        codec.to_decision(step.decision),
        step.key,
    )


def _before(steps: dict[int, Step], revision: int, last_hash: bytes) -> Iterator[Step]:
    """Yield the steps that led to a hash, the last first, as far as they hang together."""
    step = steps.get(revision)
    if step is None or step.hash != last_hash:
        return
    yield step
    while step.revision - 1 in steps:
        before = steps[step.revision - 1]
        if not step.follows(before.hash):
            return
        step = before
        yield step
