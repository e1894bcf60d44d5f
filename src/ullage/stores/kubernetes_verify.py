"""Proof that the ledger of a cluster is what it says, as far back as it is kept.

It begins with the oldest state of which all steps since are there. Each step must follow from the hash before
it, its decision must be the one that its command gives, and every kept state must be what they add up to.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from ullage.engine.ledger.apply import apply
from ullage.engine.ledger.audit import audit
from ullage.engine.ledger.decide import decide
from ullage.model.verdict import Finding
from ullage.stores import codec
from ullage.stores.kubernetes_chain import Chain
from ullage.stores.kubernetes_objects import read_object
from ullage.stores.protocol import StoreUnavailableError
from ullage.stores.verify import FINDINGS_MAX, same_decision

_RESTORE: Final = "restore plans.ullage.dev from a backup of etcd, and find out who else may write there"


def verify_objects(objects: Sequence[bytes]) -> list[Finding]:
    """Return what is wrong or worth knowing."""
    try:
        chain = Chain(map(read_object, objects))
        return list(islice(_findings(chain), FINDINGS_MAX))
    except StoreUnavailableError as error:
        return [_wrong("ledger-unreadable", "objects", error.what)]


def _findings(chain: Chain) -> Iterator[Finding]:
    state = chain.at(chain.earliest)
    kept = {each.revision: each for each in chain.kept}
    for number in range(chain.earliest + 1, chain.revision + 1):
        step = chain.steps[number]
        subject = f"revision {number}"
        if step.at_seconds < state.at_seconds:
            yield _wrong(
                "ledger-order-wrong",
                subject,
                f"{subject} of {step.at_seconds} follows one of {state.at_seconds}",
            )
        try:
            command, recorded = codec.to_command(step.command), codec.to_decision(step.decision)
        except msgspec.MsgspecError as error:
            yield _wrong("ledger-unreadable", subject, f"{subject}: {error}")
            return
        if not same_decision(decide(state, command, step.at_seconds), recorded):
            yield _wrong("ledger-decision-wrong", subject, f"{subject} does not follow from the ones before")
        apply(state, recorded, step.at_seconds)
        if number in kept and (kept[number].state() != state or kept[number].hash != step.hash):
            yield _wrong("ledger-checkpoint-wrong", subject, f"the state kept of {subject} was another one")
    if state != chain.state:
        yield _wrong("ledger-checkpoint-wrong", "the present", "the present state is not what its steps make")
    yield from audit(chain.state)


def _wrong(code: str, subject: str, message: str) -> Finding:
    return Finding(code, "error", subject, message, _RESTORE)
