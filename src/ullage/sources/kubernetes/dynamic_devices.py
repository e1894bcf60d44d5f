"""Devices that pods ask for by ResourceClaim (dynamic resource allocation): counted, not placed.

The hard thing is to say what an answer leaves out and no more: many drivers offer the same device as a
counted resource too, and a pool that was published again replaces what it said before.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
from msgspec import Raw

from ullage.model.cluster import Node
from ullage.sources.kubernetes.wire import NULL, Named, Wire
from ullage.sources.places import one_line

GROUP: Final = "resource.k8s.io"
_NAMED_MAX: Final = 3


class _Pool(Wire):
    name: str = ""
    generation: int = 0


class _SliceSpec(Wire):
    driver: str = ""
    pool: _Pool | None = None
    node_name: str | None = None
    devices: list[Raw] | None = None


class SliceObject(Wire):
    """A ResourceSlice: devices of one driver, most often on one node."""

    metadata: Named
    spec: _SliceSpec | None = None


class _ClaimState(Wire):
    allocation: Raw = NULL


class DeviceClaimObject(Wire):
    """A ResourceClaim."""

    metadata: Named
    status: _ClaimState | None = None


SLICE: Final = msgspec.json.Decoder(SliceObject)
DEVICE_CLAIM: Final = msgspec.json.Decoder(DeviceClaimObject)


class _Offer:
    """What a driver last published of one of its pools: devices by node and slice."""

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.slices: dict[str, tuple[str, int]] = {}


class DynamicDevices:
    """The devices and claims that have been read."""

    def __init__(self) -> None:
        self._pools: dict[tuple[str, str], _Offer] = {}
        self._claims: dict[str, bool] = {}

    def take_slice(self, wire: SliceObject) -> None:
        """Count the devices of a slice, unless its pool has been published again since."""
        spec = wire.spec or _SliceSpec()
        pool = spec.pool or _Pool()
        offer = self._pools.setdefault((spec.driver, pool.name), _Offer(pool.generation))
        if offer.generation < pool.generation:
            offer = self._pools[spec.driver, pool.name] = _Offer(pool.generation)
        if offer.generation == pool.generation:
            offer.slices[wire.metadata.name] = (spec.node_name or "", len(spec.devices or ()))

    def take_claim(self, wire: DeviceClaimObject) -> None:
        """Count a claim."""
        allocated = wire.status is not None and wire.status.allocation != NULL
        self._claims[f"{wire.metadata.namespace}/{wire.metadata.name}"] = allocated

    def lines(self, nodes: Mapping[str, Node]) -> Iterator[str]:
        """Say what of this an answer leaves out."""
        unseen: Counter[str] = Counter()
        for (driver, _), offer in self._pools.items():
            for name, count in offer.slices.values():
                if not _is_counted(driver, nodes.get(name)):
                    unseen[name] += count
        if unseen.total():
            places = _places(sorted(name for name, count in unseen.items() if name and count))
            yield f"{unseen.total()} devices {places} that only DRA offers"
        if self._claims:
            allocated = sum(self._claims.values())
            yield f"{len(self._claims)} ResourceClaims, {allocated} of them allocated"


def _is_counted(driver: str, node: Node | None) -> bool:
    """Whether a node also has a counted resource of a driver's vendor: nvidia.com/gpu of gpu.nvidia.com."""
    if node is None:
        return False
    domains = (name.partition("/")[0] for name, amount in node.capacity.items() if amount and "/" in name)
    return any(driver == domain or driver.endswith(f".{domain}") for domain in domains)


def _places(names: list[str]) -> str:
    if not names:
        return "of several nodes"
    shown = ", ".join(one_line(name) for name in names[:_NAMED_MAX])
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return f"on {'node' if len(names) == 1 else 'nodes'} {shown}{more}"
