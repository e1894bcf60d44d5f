"""The stores of a ledger side by side: what is true of one has to be true of the other."""

from collections.abc import Callable
from pathlib import Path

from stores.plan_objects import PlansInMemory
from ullage.stores.kubernetes import KubernetesLedger
from ullage.stores.sqlite import SqliteLedger

Opened = SqliteLedger | KubernetesLedger
Opener = Callable[[], Opened]
KINDS = ("sqlite", "kubernetes")


def opener_of(kind: str, folder: Path) -> Opener:
    """Return what opens one ledger, as often as it is called."""
    if kind == "sqlite":
        return lambda: SqliteLedger(folder / "ledger")
    stored: dict[str, bytes] = {}
    return lambda: KubernetesLedger(lambda: PlansInMemory(stored))
