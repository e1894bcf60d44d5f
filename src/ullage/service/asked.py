"""What every question starts from: a cluster, read from its source, under the policy that applies to it."""

import msgspec

from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.policy import Policy
from ullage.model.table import Table


class Asked(Record, frozen=True):
    """The cluster that is asked about: where it is, which policy applies, which part of it is meant."""

    cluster: str = ""
    policy: str = ""
    namespace: str = ""
    selector: str = ""


def read_cluster(asked: Asked) -> Snapshot:
    """Return the snapshot of the cluster, its policy filled in and the wanted part of it kept."""
    from ullage.sources.opening import open_source

    if not asked.cluster:
        raise InputError(
            "no cluster is named",
            remedy="use -c FILE, -c demo, or set ULLAGE_CLUSTER (try: ullage status -c demo)",
        )
    source = open_source(asked.cluster)
    snapshot = source.read()
    policy = policy_for(asked, snapshot, source.profile)
    name = snapshot.name or source.name
    return selected(msgspec.structs.replace(snapshot, name=name, policy=policy), asked)


def policy_for(asked: Asked, snapshot: Snapshot, profile: str) -> Policy:
    """Return the policy the user names, else the snapshot's own, else the one of its source."""
    from ullage.sources.policies import load_policy

    if asked.policy:
        return load_policy(asked.policy, snapshot.resource_types)
    if snapshot.policy.layers:
        return snapshot.policy
    return load_policy(profile, snapshot.resource_types)


def selected(snapshot: Snapshot, asked: Asked) -> Snapshot:
    """Return the snapshot with only the nodes whose labels match, and what runs on them or waits."""
    wanted = parse_selector(asked.selector)
    if not wanted:
        return snapshot
    nodes = [
        node
        for node in snapshot.nodes
        if all((node.labels.get(key) == value) == equal for key, value, equal in wanted)
    ]
    names = {node.name for node in nodes}
    kept = [each for each in snapshot.workloads if not each.node or each.node in names]
    return msgspec.structs.replace(snapshot, nodes=Table(nodes), workloads=Table(kept))


def parse_selector(text: str) -> list[tuple[str, str, bool]]:
    """Return the conditions of a selector such as `zone=a,pool!=gpu`."""
    found: list[tuple[str, str, bool]] = []
    for part in text.split(",") if text else ():
        equal = "!=" not in part
        key, sign, value = part.partition("=" if equal else "!=")
        if equal and value.startswith("="):
            value = value[1:]
        if not key.strip() or not sign:
            raise InputError(
                f"selector {part!r} is no condition", where="-l", remedy="write key=value or key!=value"
            )
        found.append((key.strip(), value.strip(), equal))
    return found
