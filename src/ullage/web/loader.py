"""A process that reads a cluster once, makes it ready to be asked, and forks the workers that answer.

It lives as long as its reading is the one that counts, and reads nothing else: a cluster that is read again
is read by another loader, so that one that fails, or takes long, or more memory than there is, takes nothing
away. The hard thing is the fork: there may be one thread only, so numerical libraries are told to start none
(children.py) and what a source leaves behind is looked for; and nothing may touch what is shared, so garbage
is collected once before, and never again in it.
"""

import contextlib
import gc
import hashlib
import os
import resource
import signal
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ullage.model.errors import InputError
from ullage.web.children import alone_with_parent, end_with_parent
from ullage.web.clusters import Origin
from ullage.web.frames import EndedError, Failed, Fork, Ready, Same, ToRead, receive, send
from ullage.web.work import Work
from ullage.web.worker import TOUCHED, run, warm

if TYPE_CHECKING:
    from ullage.model.cluster import Snapshot
    from ullage.service.held import Held

MODULE: Final = "ullage.web.loader"
UPLOAD_BYTES_MAX: Final = 1 << 30
"""How large an uploaded document may be once it is decompressed."""
LIVE: Final = "kube"
FORKS_MAX: Final = 64
DIGEST_ROWS: Final = 5000
WARMING: Final = (*TOUCHED, Work("page/overview"), Work("page/nodes"))
_ORDER: Final = msgspec.msgpack.Decoder(ToRead)
_FORK: Final = msgspec.msgpack.Decoder(Fork)


def main() -> None:
    """Read what the process at the other end of standard input names, and fork as often as it says."""
    with alone_with_parent() as control, contextlib.suppress(EndedError, BrokenPipeError):
        _load(control)


def _load(control: socket.socket) -> None:
    order = receive(control, _ORDER)
    start = time.perf_counter()
    if order.loader_bytes_max:
        import numpy as np  # noqa: F401 - it ends the process where it finds too little memory at its start

        resource.setrlimit(resource.RLIMIT_DATA, (order.loader_bytes_max, order.loader_bytes_max))
    try:
        held = read(order)
        found = digest(held.snapshot, is_live=Origin(order.spec).kind == LIVE and not order.document)
        if order.only_if_changed and found == order.digest:
            send(control, Same())
            return
        prepare(held)
    except InputError as error:
        send(control, Failed(str(error)))
        return
    except MemoryError:
        send(control, Failed("it takes more memory to read than a cluster may"))
        return
    revision = order.revision if found == order.digest else order.revision + 1
    snapshot = held.snapshot
    seconds = time.perf_counter() - start
    send(control, Ready(revision, found, len(snapshot.nodes), len(snapshot.workloads), seconds))
    Forking(control, order, held, revision).serve()


def read(order: ToRead) -> "Held":
    """Return the cluster that is meant, as its source tells it."""
    from ullage.service.asked import Asked, read_to_hold

    if order.document:
        return _read_document(order)
    asked = Asked(
        order.spec,
        types=order.types,
        context=order.context,
        kubeconfig=order.kubeconfig,
        as_user=order.as_user,
    )
    return read_to_hold(order.cluster, asked)


def _read_document(order: ToRead) -> "Held":
    """Return the cluster that somebody sent: nothing else is opened for it, and it is not named by itself."""
    from ullage.service.asked import read_types, with_types
    from ullage.service.held import Held
    from ullage.sources.given import giving
    from ullage.sources.input_files import STANDARD_INPUT
    from ullage.sources.limits import Limits
    from ullage.sources.opening import Options, open_source

    types = read_types(order.types)
    options = Options(types=types, limits=Limits(file_bytes_max=UPLOAD_BYTES_MAX))
    with Path(order.document).open("rb") as stream, giving({}):
        try:
            source = open_source("-", options=options, stdin=stream)
            snapshot = with_types(source.read(), types)
        except InputError as error:
            where = error.where.replace(STANDARD_INPUT, order.cluster)
            raise InputError(error.what, where=where, remedy=error.remedy) from None
    name = snapshot.name if snapshot.name not in {"", STANDARD_INPUT} else order.cluster
    layers = tuple(
        msgspec.structs.replace(layer, origin=layer.origin.replace(STANDARD_INPUT, name))
        for layer in snapshot.policy.layers
    )
    policy = msgspec.structs.replace(snapshot.policy, layers=layers)
    return Held(order.cluster, msgspec.structs.replace(snapshot, name=name, policy=policy), source.profile)


def prepare(held: "Held") -> None:
    """Make what most questions need, so that every worker has it; then leave this memory alone."""
    import numpy.ma  # noqa: F401 - sorting out duplicates loads it on first use, which takes 0.2 s

    warm(held, WARMING)
    gc.collect()
    gc.freeze()


def digest(snapshot: "Snapshot", *, is_live: bool = False) -> str:
    """Return what is equal for equal snapshots, in any process.

    Of a live cluster, whose own revision counts whatever is written there, both that and the moment at which
    it was read are left out: else it would be another one each time. The moment counts where answers depend
    on it.
    """
    from ullage.model.delta import TABLE_FACTS
    from ullage.sources.snapshot_columns import exact_values

    encoder = msgspec.msgpack.Encoder(enc_hook=exact_values, order="deterministic")
    found = hashlib.sha256()
    passing = ("revision",) if _depends_on_time(snapshot) else ("revision", "taken_seconds")
    rest: list[Any] = [list(snapshot.resource_types.added())]
    for field in snapshot.__struct_fields__:
        if field in TABLE_FACTS:
            rows = list(getattr(snapshot, field))
            found.update(encoder.encode([field, len(rows)]))
            for start in range(0, len(rows), DIGEST_ROWS):
                found.update(encoder.encode(rows[start : start + DIGEST_ROWS]))
        elif field != "resource_types" and not (is_live and field in passing):
            rest.append(getattr(snapshot, field))
    found.update(encoder.encode(rest))
    return found.hexdigest()


def _depends_on_time(snapshot: "Snapshot") -> bool:
    """Whether the same cluster is another a moment later: promises end, or quotas heed how long pods run."""
    from ullage.model.settings import rules_for

    rules = rules_for(snapshot.policy, snapshot.resource_types)
    return bool(snapshot.reservations) or rules.quota_run_min_seconds > 0


class Forking:
    """The workers of a loader: started when it is told to, and ended with it."""

    def __init__(self, control: socket.socket, order: ToRead, held: "Held", revision: int) -> None:
        self._control = control
        self._order = order
        self._held = held
        self._revision = revision
        self._workers: set[int] = set()

    def serve(self) -> None:
        """Fork as often as it is asked for, until there is nobody to ask."""
        end_with_parent(0)
        signal.signal(signal.SIGCHLD, self._reap)
        try:
            while True:
                wanted = receive(self._control, _FORK)
                for _ in range(min(wanted.count, FORKS_MAX)):
                    self._fork(wanted.apart)
        finally:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # who ends now keeps its number until we end too
            for worker in self._workers:
                os.kill(worker, signal.SIGKILL)

    def _fork(self, apart: str) -> None:
        require_one_thread()
        sys.stderr.flush()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})  # no worker is reaped before it is known
        worker = os.fork()
        if worker:
            self._workers.add(worker)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
            return
        try:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
            self._control.close()
        finally:
            run(self._order, self._held, self._revision, apart)

    def _reap(self, *_: object) -> None:
        with contextlib.suppress(ChildProcessError):
            while worker := os.waitpid(-1, os.WNOHANG)[0]:
                self._workers.discard(worker)


def require_one_thread() -> None:
    """Refuse to fork beside other threads: what they hold would be held for ever in the fork."""
    threads = len(os.listdir("/proc/self/task"))  # noqa: PTH208 - names only, of a folder that is no path of ours
    if threads > 1:
        raise RuntimeError(f"{threads} threads where a fork needs one")


if __name__ == "__main__":
    main()
