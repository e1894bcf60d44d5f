"""The system cache of a node, looked at again: it grows or shrinks by what it holds, as the ledger's entry.

The rule is the policy's (engine/capacity/cache.py). What the cache grows by is promised to nobody else, and
it grows only by what its pool has free.
"""

from typing import Final

from ullage.engine.capacity.cache import resize_cache
from ullage.engine.columns import Columns
from ullage.engine.ledger.of_cache import cache_commands
from ullage.engine.ledger.promises import with_promises
from ullage.engine.ledger.state import LedgerState
from ullage.engine.ledger.supply import ZOS, cache_capacity, cache_reserve_bytes
from ullage.model.errors import InputError
from ullage.model.ledger import Decision, Outcome
from ullage.model.quantity import readable_bytes
from ullage.model.resources import SSD_SPACE, ResourceTypes
from ullage.service.answer import Answer
from ullage.service.asked import Asked, read_whole, standing, unknown
from ullage.service.clock import now_seconds
from ullage.service.ledger_change import answer_of
from ullage.service.ledger_file import alive, is_there, ledger_path, read_ledger, submitted

MEMORY: Final = "memory"
"""A resource that is counted in bytes, as sizes are written."""


def ledger_cache(asked: Asked, node: str, used: str) -> Answer:
    """Give the cache of a node the size that it should have now, and answer what that changed."""
    path = ledger_path(asked.ledger, asked)
    state = read_ledger(path) if is_there(path) else LedgerState()
    at_seconds = max(now_seconds(), state.at_seconds)
    entries = [entry for entry in alive(state.entries, at_seconds) if entry.holds]
    columns = Columns(with_promises(standing(read_whole(asked)), entries))
    _check(columns, node)
    record = columns.nodes[columns.node_index[node]]
    name = cache_capacity(node)
    quota_bytes = sum(each.resources.of(SSD_SPACE) for each in entries if each.capacity == name)
    free_bytes = int(columns.free[columns.node_index[node], columns.resource_index[SSD_SPACE]])
    beside_bytes = free_bytes + max(0, cache_reserve_bytes(columns, record) - quota_bytes)
    used_bytes = _bytes(used, columns.snapshot.resource_types)
    decided = resize_cache(quota_bytes, used_bytes, beside_bytes, columns.rules_of(record))
    words = f"cache of {node}, {readable_bytes(used_bytes)} of {readable_bytes(quota_bytes)} used"
    if decided.new_bytes is None:
        accepted = not decided.reason
        reason = decided.reason or "it has the size that it should have"
        return answer_of(asked.ledger, words, Outcome(state.revision, Decision(accepted, reason=reason)))
    command = cache_commands(columns, entries, node, decided.new_bytes)
    done = submitted(path, command, at_seconds=at_seconds, revision=state.revision, create=True)
    return answer_of(asked.ledger, f"{words}, now {readable_bytes(decided.new_bytes)}", done)


def _check(columns: Columns, node: str) -> None:
    if node not in columns.node_index:
        raise unknown("node", node, columns.node_index)
    record = columns.nodes[columns.node_index[node]]
    if columns.rules_of(record).storage_mode != ZOS or not record.capacity.of(SSD_SPACE):
        raise InputError(
            f"node {node} has no cache on an SSD",
            remedy=f"name a node of mode zos that has {SSD_SPACE}; without an SSD the cache is in memory",
        )


def _bytes(text: str, types: ResourceTypes) -> int:
    try:
        amount = types.parse([(MEMORY, text)]).of(MEMORY)
    except InputError as error:
        raise error.at("--used") from None
    if amount < 0:
        raise InputError(f"{text} is in use", where="--used", remedy="use 0 or more")
    return amount
