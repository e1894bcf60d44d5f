"""What a live cluster says of its use right now: metrics.k8s.io/v1beta1, as `kubectl top` shows it.

One point for each container, pod and node, at the moment its measuring ended. Lists come in pages where the
server gives pages, and many of them are read into columns at a time. Who may see only one of both lists gets
that one.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Annotated, Final

import msgspec
import numpy as np

from ullage.engine.usage.aggregate import DROPPED
from ullage.engine.usage.book import Samples
from ullage.engine.usage.buckets import Integers
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
from ullage.sources.usage.csv_samples import SUBJECT_CHARACTERS_MAX, subject_problem

GROUP: Final = "metrics.k8s.io"
VERSION: Final = f"{GROUP}/v1beta1"
NODES: Final = Listed(Kind(GROUP, "NodeMetrics"), VERSION, "nodes", namespaced=False)
PODS: Final = Listed(Kind(GROUP, "PodMetrics"), VERSION, "pods", namespaced=True)
_NANO_EXPONENT: Final = 9
_NANO_PER_MILLI: Final = 1_000_000
_KIBI: Final = 1024
_FIRST_SECONDS: Final = 365 * 86_400
"""What was measured before 1971 was not."""
_LARGE: Final = 10**15
_AT_ONCE: Final = 10_000
"""So many nodes or pods are put into columns together, about: a step over columns costs as much for few."""
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
    timestamp: str | None = None
    usage: _Usage | None = None
    containers: list[_Container] | None = None


class _List(Wire):
    items: list[_Item] | None = None


_NO_USAGE: Final = _Usage()
_LIST: Final = msgspec.json.Decoder(_List)
_INTEGERS: Final = msgspec.json.Decoder(list[Annotated[int, msgspec.Meta(lt=_LARGE)]])


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
                    pages = lists.pages(listed, namespace if listed is PODS else "")
                    yield from samples_of((page.data for page in pages), partial(server.error))
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


def samples_of(pages: Iterable[bytearray], error: Callable[[str, str], InputError]) -> Iterator[Samples]:
    """Yield the points of pages of a list, those of all resources about the same subjects."""
    waiting: list[_Item] = []
    for data in pages:
        try:
            waiting += _LIST.decode(data).items or ()
        except (msgspec.DecodeError, RecursionError) as problem:
            raise _no_list(problem, error) from None
        if len(waiting) >= _AT_ONCE:
            yield from _samples(waiting, error)
            waiting = []
    yield from _samples(waiting, error)


def _no_list(problem: Exception, error: Callable[[str, str], InputError]) -> InputError:
    return error(f"{GROUP}: the answer is no list of metrics: {one_line(str(problem))[:200]}", _INSTEAD)


def _samples(items: Sequence[_Item], error: Callable[[str, str], InputError]) -> Iterator[Samples]:
    """Yield the points of nodes, or of containers and their pods."""
    try:
        seconds = {text: _seconds(text) for text in {item.timestamp for item in items}}
    except msgspec.DecodeError as problem:
        raise _no_list(problem, error) from None
    if min(seconds.values(), default=-1) < _FIRST_SECONDS:
        items = [item for item in items if seconds[item.timestamp] >= _FIRST_SECONDS]
    if not items:
        return
    nodes = [item for item in items if item.containers is None]
    pods = [item for item in items if item.containers is not None] if nodes else items
    names = [f"{(of := pod.metadata).namespace}/{of.name}" for pod in pods]
    inside = [pod.containers or () for pod in pods]
    sizes = [*map(len, inside)]
    subjects = [f"node/{node.metadata.name}" for node in nodes]
    subjects += [
        f"container/{name}/{each.name}" for name, of in zip(names, inside, strict=True) for each in of
    ]
    subjects += [f"pod/{name}" for name in names]
    usages = [node.usage or _NO_USAGE for node in nodes]
    usages += [each.usage for of in inside for each in of]
    of_nodes, of_pods = (
        np.array([seconds[item.timestamp] for item in some], np.int64) for some in (nodes, pods)
    )
    moments = np.concatenate((of_nodes, np.repeat(of_pods, sizes), of_pods))
    slashes = len(nodes) + 3 * sum(sizes) + 2 * len(pods)
    places = _sound(subjects, slashes)
    cpu = _amounts([usage.cpu for usage in usages], "n", 1, _nano)
    memory = _amounts([usage.memory for usage in usages], "Ki", _KIBI, _bytes)
    for resource, amounts in (("cpu", _rounded(cpu, _NANO_PER_MILLI)), ("memory", memory)):
        every = np.concatenate((amounts, _sums(amounts[len(nodes) :], sizes)))
        yield _of(resource, subjects, moments, every, places)


def _of(
    resource: str, subjects: Sequence[str], seconds: Integers, amounts: Integers, places: Integers
) -> Samples:
    """Return the points of those subjects that have usable names."""
    if len(places) == len(subjects):
        return Samples(resource, USAGE, subjects, places, seconds, amounts)
    sound = [subjects[each] for each in places.tolist()]
    return Samples(resource, USAGE, sound, np.arange(len(sound)), seconds[places], amounts[places])


def _sound(subjects: Sequence[str], slashes: int) -> Integers:
    """Return the places of the subjects that have usable names.

    As a rule these are all, which one look tells: there are as many slashes as there should be.
    """
    joined = "/".join(subjects)
    is_plain = joined.isascii() and "//" not in f"{joined}/"
    codes = np.frombuffer(joined.encode() if is_plain else b"", np.uint8)
    is_plain = is_plain and bool(((codes >= ord(" ")) & (codes <= ord("~"))).all())
    is_plain = is_plain and int(np.count_nonzero(codes == ord("/"))) == slashes + len(subjects) - 1
    if is_plain and max(map(len, subjects)) <= SUBJECT_CHARACTERS_MAX:
        return np.arange(len(subjects))
    return np.array([place for place, each in enumerate(subjects) if not subject_problem(each)], np.int64)


def _sums(amounts: Integers, sizes: Sequence[int]) -> Integers:
    """Return what so many amounts in a row come to, again and again; dropped where one is missing, or all."""
    ends = np.cumsum(np.array(sizes, np.int64))
    begins = ends - np.array(sizes, np.int64)

    def within(values: Integers) -> Integers:
        before = np.concatenate(([0], np.cumsum(values)))
        return before[ends] - before[begins]

    is_whole = (within((amounts < 0).astype(np.int64)) == 0) & (ends > begins)
    return np.where(is_whole, within(amounts), DROPPED)


def _rounded(amounts: Integers, step: int) -> Integers:
    """Return amounts in steps; what one is rounded by is carried to the next, so that sums stay right."""
    good = amounts >= 0
    rests = np.where(good, amounts % step, 0)
    carried = (np.cumsum(rests) + step // 2) // step
    return np.where(good, amounts // step + np.diff(carried, prepend=0), amounts)


def _amounts(texts: Sequence[str], suffix: str, factor: int, read: Callable[[str], int]) -> Integers:
    """Return what texts say: all of them at once where they are as a metrics server writes them."""
    joined = "\n".join((*texts, "")).replace(f"{suffix}\n", ",")
    digits = joined.replace(",", "")
    if joined.count(",") == len(texts) and digits.isascii() and digits.isdecimal():
        with contextlib.suppress(msgspec.DecodeError):  # one has no digits or too many, or begins with 0
            return np.array(_INTEGERS.decode(f"[{joined[:-1]}]"), np.int64) * factor
    return np.array([read(each) for each in texts], np.int64)


def _seconds(text: str | None) -> int:
    """Return when the measuring ended, -1 where nobody says it; there are few such moments in a page."""
    return -1 if text is None else int(msgspec.convert(text, Time).timestamp())


def _nano(text: str) -> int:
    return _amount(text, _NANO_EXPONENT)


def _bytes(text: str) -> int:
    return _amount(text, 0)


def _amount(text: str, exponent: int) -> int:
    """Return a quantity; -1 where it is none, which is a point that was dropped."""
    try:
        amount = parse_amount(text, exponent)
    except InputError:
        return -1
    return amount if 0 <= amount <= AMOUNT_MAX else -1
