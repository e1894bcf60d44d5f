"""Names in requests: by which instances, nodes and groups are meant."""

from collections.abc import Iterable, Sequence

from ullage.model.errors import InputError
from ullage.model.ganeti import GanetiCluster
from ullage.service.htools.tables import common_suffix


class Names:
    """What things are called: by name, nodes and instances without their common domain, groups by uuid."""

    def __init__(self, cluster: GanetiCluster) -> None:
        suffix = common_suffix(cluster)
        self._nodes = [(node.name, node.name.removesuffix(suffix)) for node in cluster.nodes]
        self._instances = [(each.name, each.name.removesuffix(suffix)) for each in cluster.instances]
        self._groups = [(group.name, group.uuid) for group in cluster.groups]

    def nodes(self, names: Iterable[str]) -> list[int]:
        """Return nodes by number."""
        return [_number(self._nodes, name) for name in names]

    def instances(self, names: Iterable[str]) -> list[int]:
        """Return instances by number."""
        return [_number(self._instances, name) for name in names]

    def instance(self, name: str) -> int:
        """Return the instance of exactly this name by number."""
        for number, (full, _) in enumerate(self._instances):
            if full == name:
                return number
        raise InputError(f"Unknown instance '{name}'")

    def groups(self, names: Iterable[str]) -> list[int]:
        """Return groups by number."""
        return [_number(self._groups, name) for name in names]


def _number(known: Sequence[tuple[str, str]], name: str) -> int:
    found = [number for number, names in enumerate(known) if name in names]
    if len(found) != 1:
        raise InputError(f"Wrong number of elems found with name {name}")
    return found[0]
