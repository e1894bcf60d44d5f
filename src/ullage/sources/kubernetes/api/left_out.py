"""Objects of a live cluster that cannot be read, and what is known of them all the same.

The hard thing is a pod that has a node: whoever cannot read it must not give its room away again. So less and
less of it is looked at, until what is left can be read; at the very least it takes all that a node has.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Raw

from ullage.model.errors import InputError
from ullage.sources.kubernetes.api.mirrored_pods import POD, WatchedMetadata, WatchedPod
from ullage.sources.kubernetes.faults import Fault, decoded
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.pods import OVER
from ullage.sources.kubernetes.wire import NULL, ContainerWire, PodSpec, Wire
from ullage.sources.places import one_line, path_text

PROBLEMS: Final = (Fault, InputError, msgspec.DecodeError, RecursionError)
"""What is raised where an object cannot be read."""
EVERYTHING: Final = ContainerWire(Raw(b'"unreadable"'), Raw(b'{"requests": {"cpu": "9E", "memory": "9E"}}'))
"""A container that takes all that a node has."""
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Unreadable(NamedTuple):
    """An object that is left out; a pod that waits, with its identifier and the scheduler that it names."""

    kind: Kind
    key: str
    why: str
    uid: str = ""
    scheduler: str = ""


class Identity(Wire):
    """What an object is called."""

    name: str = ""
    namespace: str | None = None
    resource_version: str = ""

    @property
    def key(self) -> str:
        """The key of the object."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class _Named(Wire):
    metadata: Identity


class _PodMetadata(Wire):
    name: str
    namespace: str
    uid: str = ""
    labels: Raw = NULL
    deletion_timestamp: Raw = NULL


class _PodSpec(Wire):
    node_name: str | None = None
    scheduler_name: str | None = None
    priority: int | None = None


class _PodStatus(Wire):
    phase: str | None = None


class _Pod(Wire):
    metadata: _PodMetadata
    spec: _PodSpec
    status: _PodStatus | None = None


_NAMED: Final = msgspec.json.Decoder(_Named)
_POD: Final = msgspec.json.Decoder(_Pod)


def identity_of(content: Any) -> Identity:
    """Return what an object is called; nothing where it does not say."""
    try:
        return _NAMED.decode(content).metadata
    except (msgspec.DecodeError, RecursionError):
        return Identity()


def why(error: Exception) -> str:
    """Return what is wrong with an object, and where in it."""
    if isinstance(error, Fault):
        return str(InputError(error.error.what, where=path_text(error.path), remedy=error.error.remedy))
    return one_line(str(error))


def waiting_pod(key: str, error: Exception, kind: Kind, content: Any) -> Unreadable:
    """Return a pod that cannot be read, with what those need who are to be told."""
    pod = _pod(content)
    if pod is None or pod.spec.node_name or _is_over(pod):
        return Unreadable(kind, key, why(error))
    return Unreadable(kind, key, why(error), pod.metadata.uid, pod.spec.scheduler_name or "")


def held_room(content: Any) -> Iterator[WatchedPod]:
    """Yield less and less of a pod that has a node; nothing where it has none, or gave its room back."""
    pod = _pod(content)
    if pod is None or not pod.spec.node_name or _is_over(pod):
        return
    ends = None if pod.metadata.deletion_timestamp == NULL else _LONG_AGO
    name, namespace, uid = pod.metadata.name, pod.metadata.namespace, pod.metadata.uid
    plain = WatchedMetadata(name=name, namespace=namespace, uid=uid, deletion_timestamp=ends)
    labelled = msgspec.structs.replace(plain, labels=pod.metadata.labels)
    node = PodSpec(node_name=pod.spec.node_name, priority=pod.spec.priority)
    try:
        whole = decoded(POD, content)
    except PROBLEMS:
        pass
    else:
        spec = whole.spec or PodSpec()
        asks = msgspec.structs.replace(
            node,
            containers=spec.containers,
            init_containers=spec.init_containers,
            overhead=spec.overhead,
            resources=spec.resources,
        )
        yield WatchedPod(labelled, asks, whole.status)
        yield WatchedPod(labelled, asks)
    everything = msgspec.structs.replace(node, containers=[EVERYTHING])
    yield WatchedPod(labelled, everything)
    yield WatchedPod(plain, msgspec.structs.replace(everything, priority=None))


def _pod(content: Any) -> _Pod | None:
    try:
        return _POD.decode(content)
    except (msgspec.DecodeError, RecursionError):
        return None


def _is_over(pod: _Pod) -> bool:
    return pod.status is not None and pod.status.phase in OVER
