"""A cluster of a server of ours as a source: the snapshot that it answers from, in the compact form.

It comes with the policy that the server applies, so a question has the answer here that it has there.
"""

from typing import Final

from ullage.model.cluster import Snapshot
from ullage.model.errors import InputError
from ullage.sources.server_access import reached
from ullage.sources.server_client import RemoteCluster, remote_cluster
from ullage.sources.snapshot_file import is_snapshot_bytes, snapshot_of_bytes

REVISION_HEADER: Final = "ullage-revision"


def remote_snapshot(spec: str) -> Snapshot:
    """Return the cluster at an address as its server has it now, and take note of its revision."""
    cluster = remote_cluster(spec)
    reply = cluster.ask("GET", "snapshot", {"form": "compact"})
    snapshot = _read(cluster, reply.body)
    revision = reply.headers.get(REVISION_HEADER, "")
    if revision.isdecimal():
        reached().revisions[cluster.client.address.name, cluster.name] = int(revision)
    return snapshot


def _read(cluster: RemoteCluster, data: bytes) -> Snapshot:
    if not is_snapshot_bytes(data):
        raise cluster.client.unreadable("this is no snapshot")
    try:
        return snapshot_of_bytes(data, "")
    except InputError as error:
        raise cluster.client.unreadable(f"its snapshot cannot be read: {error.what}") from None
