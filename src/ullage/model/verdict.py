"""Answers: yes with its terms, or no with what is missing. Refusals are values, never exceptions."""

from typing import Literal

from ullage.model.constraints import Record
from ullage.model.resources import Amount

Severity = Literal["error", "warning", "info"]


class Terms(Record, frozen=True):
    """Every number behind one resource of one node, in the order in which they follow from each other.

    `limit` and `free` are None where the policy sets no bound; `actual` is None where nothing is known.
    `standby` is what the node holds free for failover, None where that is nothing.
    """

    node: str
    resource: str
    capacity: Amount
    reserve: Amount
    reserve_origin: str
    allocatable: Amount
    ratio: str
    promised: Amount
    actual: Amount | None
    committed: Amount
    limit: Amount | None
    free: Amount | None
    standby: Amount | None = None


class Shortfall(Record, frozen=True):
    """What one resource of one node lacks for a request; `standby` is what it holds free for failover."""

    node: str
    resource: str
    requested: Amount
    committed: Amount
    limit: Amount
    free: Amount
    missing: Amount
    eviction_could_help: bool
    standby: Amount | None = None


class Verdict(Record, frozen=True):
    """Whether a workload is admitted to a node, with the terms of every resource that it names."""

    workload: str
    node: str
    admitted: bool
    terms: tuple[Terms, ...] = ()
    shortfalls: tuple[Shortfall, ...] = ()
    reason: str = ""


class Finding(Record, frozen=True):
    """Something worth knowing about the cluster: a fact with its number, and what to do about it."""

    code: str
    severity: Severity
    subject: str
    message: str
    remedy: str = ""
