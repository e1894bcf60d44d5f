"""What a report of consumption does not know, in sentences."""

from collections.abc import Mapping, Sequence

from ullage.engine.usage.metering_counters import Account, Meters
from ullage.engine.usage.metering_prices import BILLING, Tariff, What
from ullage.engine.usage.metering_report import Asked as Reported
from ullage.engine.usage.metering_report import Row
from ullage.model.cluster import Snapshot
from ullage.service.words import plural, several


def notes_of_levels(snapshot: Snapshot | None, *, promised_now: bool) -> list[str]:
    """Return what is not known of amounts over time."""
    if snapshot is None:
        return ["no cluster is named: what it could give, and so what was idle, is unknown (use -c)"]
    notes = ["nodes that came or went: the capacity is that of the cluster now"]
    if promised_now:
        notes.append(
            "promises of the past, which were not recorded: what workloads ask for now counts in their "
            "place, and all of it is estimated (`ullage usage observe` records them)"
        )
    return notes


def notes_of_meters(meters: Meters, reported: Reported) -> list[str]:
    """Return what is not known of what was counted."""
    notes = []
    if meters.forgotten:
        what = f"{_counters(meters.forgotten)} that went unread, or epochs of one, and had to be forgotten"
        notes.append(
            f"{what}: what passed until one of them came back is unknown: nothing is counted for a counter, "
            "and all that it shows for an epoch"
        )
    unread = meters.unread(reported.begin, reported.end)
    if unread:
        what = f"what {_counters(unread)} showed already at the first reading"
        notes.append(f"{what}: when that passed is unknown, and nothing is counted for it")
    return notes


def _counters(counts: Mapping[Account, int]) -> str:
    whose = several(sorted({account.tenant for account in counts}))
    return f"{plural(sum(counts.values()), 'counter')} of {whose}"


def notes_of_rows(rows: Sequence[Row], reported: Reported) -> list[str]:
    """Return what is not known of rows, and what has no price."""
    used = [(row, row.used) for row in rows if row.used is not None and row.what.name not in BILLING]
    restarts = sum(amount.restarts for row, amount in used if row.kind == "total")
    notes = []
    if restarts:
        notes.append(
            f"what passed unread before {plural(restarts, 'restart')} of counters: nobody knows it, and "
            "nothing is counted for it"
        )
    dark = sorted({row.tenant for row, amount in used if row.kind == "tenant" and amount.unknown_seconds})
    if dark:
        notes.append(
            f"times at which nothing was observed of {several(dark)}: nothing is counted for them "
            "(unknownSeconds of -o json says how long they are)"
        )
    return notes if reported.tariff is None else [*notes, *_notes_of_prices(rows, reported.tariff)]


def _notes_of_prices(rows: Sequence[Row], tariff: Tariff) -> list[str]:
    notes = []
    known = {row.what for row in rows} | {What(row.what.name) for row in rows}
    idle = sorted(f"{what.name} {what.model}".strip() for what in tariff.things() if what not in known)
    if idle:
        notes.append(f"things that have a price, and of which nothing is known: {several(idle)}")
    without = {row.what.name for row in rows if row.kind == "tenant" and row.priced and row.cost is None}
    if without:
        notes.append(
            f"costs of {several(sorted(without))}: no price list holds at the time, or what is to be paid "
            "for is not known"
        )
    return notes
