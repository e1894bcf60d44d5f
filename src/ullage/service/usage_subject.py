"""One subject of usage, by what a ledger has recorded: what it was promised, and that it is none."""

import sqlite3
from typing import Final

from ullage.engine.usage.promised import Promised, promised_to
from ullage.model.cluster import Snapshot
from ullage.model.errors import InputError
from ullage.service.asked import unknown
from ullage.service.held import columns_of
from ullage.service.observed import SERVER_REMEDY
from ullage.stores.usage_parts import recorded_streams, recorded_subjects

ALIKE_MAX: Final = 1000
"""So many are looked at for one that may have been meant."""


def promised_of(connection: sqlite3.Connection, snapshot: Snapshot, subject: str) -> Promised:
    """Return what a subject was promised; of crowds, those of their pods of which anything is recorded."""
    columns = columns_of(snapshot)
    found = promised_to(columns, lambda pods: recorded_streams(connection, pods), subject)
    return found.get(subject, Promised())


def nobody(connection: sqlite3.Connection, subject: str) -> InputError:
    """Return the refusal to tell of somebody of whose use nothing is recorded."""
    if not recorded_subjects(connection, subjects_max=1):
        return InputError("nothing was observed", remedy=SERVER_REMEDY)
    beside = recorded_subjects(connection, subject.rpartition("/")[0], ALIKE_MAX)
    return unknown("observed subject", subject, beside)
