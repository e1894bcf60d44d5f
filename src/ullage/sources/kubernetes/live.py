"""A live cluster: the lists of its API server, read by the same reader as dumps, so the numbers are the same.

The hard things are that a cluster moves while it is read, and that whoever asks may not see all of it. A
running pod on a node that is not there (any more, or yet) is left out and named. What may not be listed is
one line each, and the answer goes on without it as far as it stays true.
"""

import gc
import time
from collections.abc import Iterator
from typing import Final

import msgspec

from ullage.model.cluster import Snapshot
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.sources.documents import JsonDocument
from ullage.sources.input_files import InputFile
from ullage.sources.kubernetes.cluster_reading import MISFILED_POD, ClusterReading
from ullage.sources.kubernetes.items import NODE, POD, Item, Kind, Page, items_of
from ullage.sources.kubernetes.kubeconfig import find_access
from ullage.sources.kubernetes.kueue_jobs import WORKLOAD
from ullage.sources.kubernetes.live_discovery import Listed, discover
from ullage.sources.kubernetes.live_lists import (
    PAGE_ITEMS,
    AbsentError,
    ExpiredError,
    ListPage,
    Lists,
    NotListedError,
    NotPermittedError,
)
from ullage.sources.kubernetes.live_server import ApiServer
from ullage.sources.kubernetes.nodes import GROUP_LABEL
from ullage.sources.kubernetes.pod_sets import POD_SETS
from ullage.sources.kubernetes.pods import OVER
from ullage.sources.kubernetes.wire import PodWire, Wire
from ullage.sources.limits import DEFAULT_LIMITS, Limits
from ullage.sources.places import one_line
from ullage.sources.type_documents import GROUP as TYPES_GROUP
from ullage.sources.type_documents import ONE_TYPE

PROFILE: Final = "kubernetes"
READINGS_MAX: Final = 2
RESOURCE_TYPE: Final = Kind(TYPES_GROUP, ONE_TYPE)
FIRST: Final = (RESOURCE_TYPE, NODE, POD)
NOT_ASKED: Final = frozenset((MISFILED_POD, Kind("batch", "CronJob")))
"""Kinds of dumps alone: a CronJob of a running cluster asks for nothing until it is due."""
SELECTORS: Final = {Kind("apps", "ReplicaSet"): "!pod-template-hash,!rollouts-pod-template-hash"}
"""What need not be listed: ReplicaSets of Deployments and Rollouts, of which each keeps ten."""


class _PodPage(Wire):
    items: list[PodWire] | None = None


_POD_PAGE: Final = msgspec.json.Decoder(_PodPage)


class LiveSource:
    """The cluster behind a kube context."""

    def __init__(
        self,
        *,
        context: str = "",
        kubeconfig: str = "",
        as_user: str = "",
        namespace: str = "",
        needs_nodes: bool = True,
        types: ResourceTypes | None = None,
        limits: Limits = DEFAULT_LIMITS,
        group_label: str = GROUP_LABEL,
        page_items: int = PAGE_ITEMS,
    ) -> None:
        self._access = find_access(context, kubeconfig)
        self._as_user = as_user
        self._namespace = namespace
        self._needs_nodes = needs_nodes
        self._types = types or ResourceTypes()
        self._limits = limits
        self._group_label = group_label
        self._page_items = page_items

    @property
    def name(self) -> str:
        """What the kubeconfig calls the cluster."""
        return self._access.name

    @property
    def profile(self) -> str:
        """The built-in policy for Kubernetes."""
        return PROFILE

    def read(self) -> Snapshot:
        """Return the cluster as it is now; its policy is left to the caller."""
        server = ApiServer(self._access, as_user=self._as_user, limits=self._limits)
        try:
            for _ in range(READINGS_MAX):
                try:
                    snapshot = self._read(server)
                except ExpiredError:
                    continue
                return msgspec.structs.replace(snapshot, name=self.name, taken_seconds=int(time.time()))
        finally:
            server.close()
        raise server.error(
            "its lists expire before they are read",
            "ask nearer to the cluster, or write a dump and read that",
        )

    def _read(self, server: ApiServer) -> Snapshot:
        reading = _LiveReading(
            ClusterReading(self._types, self._group_label, self._limits),
            server,
            self._namespace,
            self._access.namespace,
            needs_nodes=self._needs_nodes,
        )
        with Lists(server, page_items=self._page_items, limits=self._limits) as lists:
            return reading.read(lists)


class _LiveReading:
    """One reading of a cluster: which lists were given, and what follows from those that were not."""

    def __init__(
        self,
        reading: ClusterReading,
        server: ApiServer,
        namespace: str,
        own_namespace: str,
        *,
        needs_nodes: bool,
    ) -> None:
        self._reading = reading
        self._server = server
        self._namespace = namespace
        self._needs_nodes = needs_nodes
        smaller = f"ullage status -n {own_namespace or 'NAMESPACE'} says what is known of a namespace"
        self._remedy = "" if namespace and not needs_nodes else smaller
        self._revision = 0
        self._sees_nodes = False
        self._sees_all_pods = True
        self._hidden: list[str] = []

    def read(self, lists: Lists) -> Snapshot:
        """Read all lists; raises an InputError or an ExpiredError."""
        known = dict.fromkeys((*FIRST, *self._reading.kinds, *POD_SETS))
        wanted = [kind for kind in known if kind not in NOT_ASKED]
        found = discover(self._server, wanted)
        listed = [found[kind] for kind in wanted if kind in found]
        lists.begin((each.path(), SELECTORS.get(each.kind, "")) for each in listed)
        was_enabled = gc.isenabled()
        gc.disable()  # records have no cycles to look for
        try:
            for each in listed:
                self._list(lists, each)
            return self._snapshot()
        finally:
            if was_enabled:
                gc.enable()

    def _list(self, lists: Lists, listed: Listed) -> None:
        """Read a list of all namespaces, else of the one that is meant, else say that it is missing."""
        kind, title = listed.kind, listed.title
        # Where pods of one namespace are seen, a Deployment elsewhere would look as if it had none.
        asks_for_pods = kind in POD_SETS or kind == WORKLOAD
        namespace = self._namespace if not self._sees_all_pods and asks_for_pods else ""
        try:
            try:
                self._take(lists.pages(listed, namespace, SELECTORS.get(kind, "")), listed)
            except NotPermittedError:
                if namespace or not self._namespace or not listed.namespaced:
                    raise
                self._take(lists.pages(listed, self._namespace, SELECTORS.get(kind, "")), listed)
                self._say_one_namespace(listed)
        except NotPermittedError:
            self._say_forbidden(listed)
        except AbsentError:
            return
        except NotListedError as error:
            if kind in (NODE, POD):
                raise self._server.error(f"{title}: {error}", "ask again when the server is well") from None
            self._reading.unknowns.say(f"not read: {title}: {error}")

    def _say_one_namespace(self, listed: Listed) -> None:
        consequence = ""
        if listed.kind == POD:
            self._sees_all_pods = False
            consequence = ", so nodes look emptier than they are"
        self._reading.unknowns.say(
            f"not permitted: list {listed.title} (all namespaces): only those of {one_line(self._namespace)} "
            f"are seen{consequence}; ask for a role with list on {listed.title}"
        )

    def _say_forbidden(self, listed: Listed) -> None:
        """Say what may not be listed; raises an InputError where nothing is left to answer."""
        scope = "cluster scope"
        if listed.namespaced:
            scope = f"namespace {one_line(self._namespace)}" if self._namespace else "all namespaces"
        what = f"not permitted: list {listed.title} ({scope})"
        role = f"ask for a role with list on {listed.title}"
        needed = listed.kind == POD or (listed.kind == NODE and self._needs_nodes)
        if needed or (listed.kind == NODE and not self._namespace):
            raise self._server.error(what, f"{role}, or {self._remedy}" if self._remedy else role)
        if listed.kind == NODE:
            what += ": how much room there is and where pods run is not known, use of quotas not counted"
        self._reading.unknowns.say(f"{what}; {role}")

    def _take(self, pages: Iterator[ListPage], listed: Listed) -> None:
        for page in pages:
            file = InputFile(f"{self._server.name}: {listed.title}, page {page.number}", page.data)
            document = JsonDocument(file, 0, 0, len(page.data), DEFAULT_LIMITS)
            if page.is_later:
                self._reading.unknowns.say(
                    f"{listed.title}: the list outlived its revision; its last pages show a later one"
                )
            if listed.kind == POD:
                self._revision = page.revision
                self._take_pods(document)
            elif listed.kind == NODE:
                self._sees_nodes = True
                self._take_each(document)
            else:
                self._take_others(document, file, listed)

    def _take_each(self, document: JsonDocument) -> None:
        for item in items_of(document):
            if not isinstance(item, Page):
                self._reading.take(item)

    def _take_pods(self, document: JsonDocument) -> None:
        """Read pods that were decoded all at once; where that fails, one by one, to say what is wrong."""
        try:
            pods = _POD_PAGE.decode(document.data).items or ()
        except (msgspec.DecodeError, RecursionError):
            self._take_each(document)
            return
        for index, pod in enumerate(pods):
            if not self._sees_nodes:
                self._hide_node(pod)
            self._reading.take(Item(POD, "v1", pod, document, ("items", index)))

    def _hide_node(self, pod: PodWire) -> None:
        """Take the node from a pod that runs, and remember that it does; one that is over left its node."""
        over = pod.status is not None and pod.status.phase in OVER
        if pod.spec is None or not pod.spec.node_name or over:
            return
        pod.spec.node_name = None
        metadata = pod.metadata
        self._hidden.append(f"{metadata.namespace}/{metadata.name}" if metadata is not None else "")

    def _take_others(self, document: JsonDocument, file: InputFile, listed: Listed) -> None:
        """Read objects of other kinds; one that cannot be read is named, because it cannot be taken out."""
        if listed.kind == RESOURCE_TYPE:
            self._reading.prepare(file, self._reading.unknowns.say)
            return
        for item in items_of(document):
            if isinstance(item, Page):
                continue
            try:
                self._reading.take(item)
            except InputError as error:
                self._reading.unknowns.say(f"not read: {error}")

    def _snapshot(self) -> Snapshot:
        snapshot = self._reading.snapshot(sees_nodes=self._sees_nodes)
        running = [msgspec.structs.replace(snapshot.workloads[key], state="ok") for key in self._hidden]
        return msgspec.structs.replace(
            snapshot, revision=self._revision, workloads=snapshot.workloads.changed(running)
        )
