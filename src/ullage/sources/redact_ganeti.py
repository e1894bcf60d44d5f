"""What Ganeti says of nodes, groups and instances, with its names replaced.

The hard thing is tags: the tools know some by how they begin, and take others for names of a kind. Each part
between colons is replaced on its own, the words of the tools stay, and so the same tags match as before.
"""

from typing import Final

import msgspec

from ullage.model.ganeti import GanetiGroup, GanetiNode, Instance
from ullage.sources.redact_names import Pseudonyms

TOOL_WORDS: Final = frozenset(
    ("htools", "iextags", "migration", "allowmigration", "nlocation", "desiredlocation", "standby", "auto")
)

HYPERVISORS: Final = frozenset(("kvm", "xen-pvm", "xen-hvm", "lxc", "chroot", "fake"))


class GanetiRedactor:
    """Redacts the records of Ganeti; what is absent stays absent."""

    def __init__(self, names: Pseudonyms) -> None:
        self._names = names

    def tags(self, tags: tuple[str, ...]) -> tuple[str, ...]:
        """Return tags with pseudonyms for their parts."""
        return tuple(":".join(map(self._part, tag.split(":"))) for tag in tags)

    def _part(self, part: str) -> str:
        return part if part in TOOL_WORDS else self._names.of("tag", part)

    def node(self, node: GanetiNode | None) -> GanetiNode | None:
        """Return what is said of a node."""
        if node is None:
            return None
        return msgspec.structs.replace(
            node,
            name=self._names.of("node", node.name),
            group=self._names.of("uuid", node.group),
            tags=self.tags(node.tags),
            hypervisor=node.hypervisor
            if node.hypervisor in HYPERVISORS
            else self._names.of("hypervisor", node.hypervisor),
        )

    def group(self, group: GanetiGroup | None) -> GanetiGroup | None:
        """Return what is said of a group."""
        if group is None:
            return None
        return msgspec.structs.replace(
            group,
            name=self._names.of("group", group.name),
            uuid=self._names.of("uuid", group.uuid),
            tags=self.tags(group.tags),
            networks=tuple(self._names.of("network", each) for each in group.networks),
        )

    def instance(self, instance: Instance | None) -> Instance | None:
        """Return what is said of an instance."""
        if instance is None:
            return None
        return msgspec.structs.replace(
            instance,
            name=self._names.of("workload", instance.name),
            primary=self._names.of("node", instance.primary),
            secondary=self._names.of("node", instance.secondary),
            tags=self.tags(instance.tags),
            networks=tuple(self._names.of("network", each) for each in instance.networks),
        )
