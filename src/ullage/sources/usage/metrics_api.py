"""What a live cluster says of its use right now: metrics.k8s.io/v1beta1, as `kubectl top` shows it.

One point for each container, pod and node, at the moment its measuring ended. Lists come in pages where the
server gives pages, and each is read straight into columns. Who may see only one of both lists gets that one.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Final

import msgspec
import numpy as np

from ullage.engine.usage.book import Samples
from ullage.engine.usage.summaries import AMOUNT_MAX
from ullage.model.errors import InputError
from ullage.model.quantity import parse_amount
from ullage.model.usage import USAGE
from ullage.sources.given import refuse_others
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.kubeconfig import Access, find_access
from ullage.sources.kubernetes.live_discovery import Listed
from ullage.sources.kubernetes.live_lists import (
    AbsentError,
    ExpiredError,
    Lists,
    NotListedError,
    NotPermittedError,
)
from ullage.sources.kubernetes.live_server import ApiServer
from ullage.sources.kubernetes.wire import Time, Wire
from ullage.sources.places import one_line
from ullage.sources.usage.csv_samples import subject_problem

GROUP: Final = "metrics.k8s.io"
VERSION: Final = f"{GROUP}/v1beta1"
NODES: Final = Listed(Kind(GROUP, "NodeMetrics"), VERSION, "nodes", namespaced=False)
PODS: Final = Listed(Kind(GROUP, "PodMetrics"), VERSION, "pods", namespaced=True)
_NANO_EXPONENT: Final = 9
_NANO_PER_MILLI: Final = 1_000_000
_DIGITS_MAX: Final = 18
_INSTEAD: Final = "install metrics-server, or name another source: --usage prometheus:URL"


class _Usage(Wire):
    cpu: str = ""
    memory: str = ""


class _Metadata(Wire):
    name: str = ""
    namespace: str = ""


class _Container(Wire):
    name: str = ""
    usage: _Usage = msgspec.field(default_factory=_Usage)


class _Item(Wire):
    metadata: _Metadata
    timestamp: Time | None = None
    usage: _Usage = msgspec.field(default_factory=_Usage)
    containers: list[_Container] | None = None


class _List(Wire):
    items: list[_Item] | None = None


_LIST: Final = msgspec.json.Decoder(_List)


def read_metrics_api(
    context: str = "", kubeconfig: str = "", *, as_user: str = "", namespace: str = ""
) -> Iterator[Samples]:
    """Yield what the metrics API of a cluster says now, of one namespace or of all and the nodes.

    The cluster is that of a kube context, or the one that this is a pod of. An InputError says in one line
    what is wrong: that there is no metrics API, or no right to read it.
    """
    refuse_others("metrics")
    return read_metrics_of(find_access(context, kubeconfig), as_user=as_user, namespace=namespace)


def read_metrics_of(access: Access, *, as_user: str = "", namespace: str = "") -> Iterator[Samples]:
    """Yield what the metrics API says to whoever has this access."""
    server = ApiServer(access, as_user=as_user)
    refusals: list[NotListedError] = []
    try:
        with Lists(server) as lists:
            for listed in (PODS,) if namespace else (NODES, PODS):
                try:
                    for page in lists.pages(listed, namespace if listed is PODS else ""):
                        yield from _samples(page.data, partial(server.error))
                except NotListedError as refusal:
                    refusals.append(refusal)
                    if len(refusals) == (1 if namespace else 2):
                        raise _refused(server, refusals, namespace) from None
                except ExpiredError:
                    raise server.error(
                        f"the list of {listed.title} expired while it was read", "ask again"
                    ) from None
    finally:
        server.close()


def _refused(server: ApiServer, refusals: list[NotListedError], namespace: str) -> InputError:
    """Return why there is nothing, by the first refusal that says most."""
    for each in refusals:
        if isinstance(each, NotPermittedError):
            where = "use -n NAMESPACE, or ask" if not namespace else "ask"
            return server.error(f"not permitted: list {PODS.title}", f"{where} for a role with get and list")
    for each in refusals:
        if not isinstance(each, AbsentError):
            return server.error(f"the metrics API does not answer: {one_line(str(each))}", _INSTEAD)
    return server.error(f"there is no metrics API ({GROUP})", _INSTEAD)


class _Columns:
    """Points of one resource; what one is rounded by is carried to the next, so that sums stay right."""

    def __init__(self, resource: str, amount: Callable[[_Usage], int], step: int) -> None:
        self._resource = resource
        self._amount = amount
        self._step = step
        self._carried = step // 2
        self._subjects: list[str] = []
        self._seconds: list[int] = []
        self._amounts: list[int] = []

    def add(self, parts: Mapping[str, _Usage], seconds: int, whole: str = "") -> None:
        """Take what parts use, and their sum as what a whole uses; dropped where one does not say."""
        amounts = [self._rounded(self._amount(each)) for each in parts.values()]
        found = dict(zip(parts, amounts, strict=True))
        if whole:
            found[whole] = -1 if not amounts or min(amounts) < 0 else sum(amounts)
        for subject, amount in found.items():
            if not subject_problem(subject):
                self._subjects.append(subject)
                self._seconds.append(seconds)
                self._amounts.append(amount)

    def _rounded(self, amount: int) -> int:
        if amount < 0:
            return amount
        rounded, self._carried = divmod(amount + self._carried, self._step)
        return rounded

    def samples(self) -> Samples:
        """Return the points."""
        numbers = np.arange(len(self._subjects))
        seconds, amounts = np.array(self._seconds, np.int64), np.array(self._amounts, np.int64)
        return Samples(self._resource, USAGE, self._subjects, numbers, seconds, amounts)


def _samples(data: bytearray, error: Callable[[str, str], InputError]) -> Iterator[Samples]:
    try:
        items = _LIST.decode(data).items or ()
    except (msgspec.DecodeError, RecursionError) as problem:
        raise error(
            f"{GROUP}: the answer is no list of metrics: {one_line(str(problem))[:200]}", _INSTEAD
        ) from None
    columns = (_Columns("cpu", _nano, _NANO_PER_MILLI), _Columns("memory", _bytes, 1))
    for item in items:
        seconds = _seconds(item.timestamp)
        if seconds is None:
            continue
        of = item.metadata
        for column in columns:
            if item.containers is None:
                column.add({f"node/{of.name}": item.usage}, seconds)
                continue
            pod = f"{of.namespace}/{of.name}"
            parts = {f"container/{pod}/{each.name}": each.usage for each in item.containers}
            column.add(parts, seconds, f"pod/{pod}")
    if items:
        yield from (each.samples() for each in columns)


def _seconds(at: datetime | None) -> int | None:
    seconds = -1 if at is None else int(at.timestamp())
    return seconds if seconds >= 0 else None


def _nano(usage: _Usage) -> int:
    text = usage.cpu
    digits = text[:-1]
    if text[-1:] == "n" and digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS_MAX:
        return int(digits)  # as metrics-server writes it
    return _amount(text, _NANO_EXPONENT)


def _bytes(usage: _Usage) -> int:
    return _amount(usage.memory, 0)


def _amount(text: str, exponent: int) -> int:
    """Return a quantity; -1 where it is none, which is a point that was dropped."""
    try:
        amount = parse_amount(text, exponent)
    except InputError:
        return -1
    return amount if 0 <= amount <= AMOUNT_MAX else -1
