"""From what stands behind `-c` to a source: a word, a file, a folder, stdin, a server, a live cluster.

Files are told apart by their content, never by their name. The hard part is size: a dump of hundreds of
megabytes must not be in memory twice. So only the first bytes of an input are looked at; what does not begin
like one of our own documents is left to the Kubernetes source, unread.
"""

import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

import msgspec

from ullage.model.cluster import Snapshot
from ullage.model.errors import InputError
from ullage.model.policy import PROFILE_NAMES
from ullage.model.resources import ResourceTypes
from ullage.sources.first_bytes import HEAD_BYTES, head_of_file, head_of_stream
from ullage.sources.given import given
from ullage.sources.input_files import STANDARD_INPUT, InputFile, folder_files, read_files
from ullage.sources.json_text import looks_like_json
from ullage.sources.limits import DEFAULT_LIMITS, Limits
from ullage.sources.places import one_line, shown
from ullage.sources.protocol import Source
from ullage.sources.server_access import is_server

if TYPE_CHECKING:
    from ullage.sources.documents import Document

DEFAULT_PROFILE: Final = "kubernetes"
FILES_MAX: Final = 1000
_OURS: Final = re.compile(
    rb"""["']?(?:apiVersion["']?\s*:\s*["']?ullage\.dev/|resource(?:CapacitySpec|RequirementSpec|Types)["']?\s*:)"""
)
_GANETI: Final = re.compile(rb"\s*[^|\r\n]+\|[^|\r\n]+\|(?:preferred|last_resort|unallocable)[|\s]")
"""The first group of a cluster in the text format of Ganeti's tools."""
_LIST: Final = re.compile(rb'\s*\{\s*"apiVersion"\s*:\s*"v1"\s*,\s*"(?:items"|kind"\s*:\s*"List")')
KUBE: Final = "kube"
KUBERNETES: Final = "kubernetes"
TYPES_ONLY: Final = "ResourceTypes"
QUOTA: Final = "Quota"


class Live(msgspec.Struct, frozen=True, kw_only=True):
    """Which live cluster is meant, who asks, and what is enough where not all of it may be seen."""

    context: str = ""
    kubeconfig: str = ""
    as_user: str = ""
    namespace: str = ""
    needs_nodes: bool = True


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How a source is opened; types are those that users register beside it."""

    types: ResourceTypes = ResourceTypes()
    limits: Limits = DEFAULT_LIMITS
    live: Live = Live()


class SnapshotSource:
    """A snapshot of our own: read when it is asked for, or at hand already."""

    def __init__(self, name: str, read: Callable[[], Snapshot]) -> None:
        self._name = name
        self._read = read
        self._snapshot: Snapshot | None = None

    @property
    def name(self) -> str:
        """What the snapshot calls itself, else its file."""
        return self.read().name or self._name

    @property
    def profile(self) -> str:
        """The profile that the snapshot names; its own settings lie in its policy."""
        named = self.read().policy.name
        return named if named in PROFILE_NAMES else DEFAULT_PROFILE

    def read(self) -> Snapshot:
        """Return the snapshot; it is the same one each time."""
        if self._snapshot is None:
            self._snapshot = self._read()
        return self._snapshot


def open_source(spec: str, *, options: Options | None = None, stdin: BinaryIO | None = None) -> Source:
    """Return what `kube`, `demo`, `synthetic:…`, `csv:…`, `ganeti:…`, a URL, a file or a folder mean."""
    options = options or Options()
    data = given(spec) if stdin is None else None
    if data is not None:
        return _standard_input(io.BytesIO(data), options)
    word, colon, rest = spec.partition(":")
    if spec == "demo":
        from ullage.sources.demo import DemoSource

        return DemoSource()
    if spec == KUBE:
        return _live(options)
    if word == "synthetic":
        return _synthetic(rest)
    if word == "csv" and colon:
        return _csv(rest, rest.split(","), options)
    if word == "ganeti" and rest:
        return _ganeti(rest, options, stdin)
    if is_server(spec):
        return _remote(spec)
    if spec == "-":
        return _standard_input(stdin or sys.stdin.buffer, options)
    if not spec:
        raise InputError("no cluster is named", where="-c", remedy="name a file or a folder, or use demo")
    if Path(spec).is_dir():
        return _folder(spec, options)
    if Path(spec).exists() and not Path(spec).is_file():
        return _pipe(spec, options)
    return _file(spec, options)


def _ganeti(place: str, options: Options, stdin: BinaryIO | None = None) -> Source:
    from ullage.sources.ganeti.snapshot import GanetiSource

    return GanetiSource(place, limits=options.limits, stdin=stdin)


def default_cluster() -> str:
    """Return what is meant where no cluster is named: the current kube context, where there may be one."""
    from ullage.sources.kubernetes.kubeconfig import has_access

    return KUBE if has_access() else ""


def _live(options: Options) -> Source:
    from ullage.sources.kubernetes.live import LiveSource

    live = options.live
    return LiveSource(
        context=live.context,
        kubeconfig=live.kubeconfig,
        as_user=live.as_user,
        namespace=live.namespace,
        needs_nodes=live.needs_nodes,
        types=options.types,
        limits=options.limits,
    )


def _remote(spec: str) -> Source:
    from ullage.sources.remote import remote_snapshot

    return SnapshotSource(spec, lambda: remote_snapshot(spec))


def _synthetic(rest: str) -> Source:
    from ullage.sources.synthetic import parse_options, synthetic_snapshot

    asked = parse_options(rest)
    return SnapshotSource("synthetic", lambda: synthetic_snapshot(asked))


def _csv(name: str, paths: list[str], options: Options) -> Source:
    from ullage.sources.csv_source import CsvSource

    if len(paths) > FILES_MAX:
        raise InputError(f"more than {FILES_MAX} files", where=one_line(name), remedy="join some of them")
    files: list[InputFile] = []
    for path in paths:
        if not path or Path(path).is_dir():
            raise InputError(
                f"{shown(path)!r} is no file", where="-c", remedy="write csv:nodes.csv,workloads.csv"
            )
        files += read_files(path, options.limits)
    return CsvSource(one_line(name), files)


def _folder(path: str, options: Options) -> Source:
    """Return a folder as tables if there are only such, else as what its first document is.

    Resource types and quotas are no cluster: they count for whatever stands beside them.
    """
    tables = sorted(str(each) for each in Path(path).glob("*.csv"))
    try:
        files = folder_files(path, options.limits)
    except InputError:
        if not tables:
            raise
        return _csv(path, tables, options)
    if tables:
        raise InputError(
            f"tables and documents in one folder ({one_line(Path(tables[0]).name)}, {one_line(files[0])})",
            where=one_line(path),
            remedy="keep them apart, or name the tables with csv:",
        )
    kinds = [kind for kind in (_kind_of_file(file, options) for file in files) if kind]
    kind = next((kind for kind in kinds if kind != QUOTA), KUBERNETES if kinds else TYPES_ONLY)
    if kind == "HostFacts":
        return _hosts(path, options)
    if kind != KUBERNETES:
        documents = [each for file in read_files(path, options.limits) for each in _documents(file, options)]
        return SnapshotSource(one_line(Path(path).name), lambda: _own_snapshot(documents, options))
    return _kubernetes(path, options)


def _kind_of_file(path: str, options: Options) -> str:
    """Return the kind of the first document of a file; nothing where it holds resource types alone."""
    if not _names_us(head_of_file(path)):
        return KUBERNETES
    (file,) = read_files(path, options.limits)
    kind = _kind(_documents(file, options))
    return "" if kind == TYPES_ONLY else kind


def _file(path: str, options: Options) -> Source:
    name = one_line(Path(path).name)
    head = head_of_file(path)
    if _GANETI.match(head):
        return _ganeti(path, options)
    if path.lower().endswith((".csv", ".csv.gz")) and head and not _is_ours(head):
        (file,) = read_files(path, options.limits)
        return _table(name, file)
    if _is_ours(head):
        (file,) = read_files(path, options.limits)
        found = _of_content(name, file, path, options)
        if found is not None:
            return found
    return _kubernetes(path, options)


def _standard_input(stream: BinaryIO, options: Options) -> Source:
    head, replayed = head_of_stream(stream)
    if _GANETI.match(head):
        return _ganeti("-", options, replayed)
    if not _is_ours(head):
        return _kubernetes("-", options, replayed)
    (file,) = read_files("-", options.limits, stdin=replayed)
    found = _of_content(STANDARD_INPUT, file, "-", options)
    return found or _kubernetes("-", options, io.BytesIO(file.data))


def _pipe(path: str, options: Options) -> Source:
    """Return what a named pipe or device gives, which can be read only once."""
    (file,) = read_files(path, options.limits)
    head = bytes(file.data[:HEAD_BYTES])
    if _GANETI.match(head):
        return _ganeti("-", options, io.BytesIO(file.data))
    ours = _is_ours(head)
    found = _of_content(one_line(Path(path).name), file, "-", options) if ours else None
    return found or _kubernetes("-", options, io.BytesIO(file.data))


def _of_content(name: str, file: InputFile, path: str, options: Options) -> Source | None:
    """Return the source of a file that begins like one of ours; None where it is none after all."""
    from ullage.sources.snapshot_file import is_snapshot_bytes, snapshot_of_bytes

    if is_snapshot_bytes(file.data):
        return SnapshotSource(name, lambda: snapshot_of_bytes(file.data, file.name))
    if _is_table(file.data):
        return _table(name, file)
    documents = _documents(file, options)
    kind = _kind(documents)
    if kind == "HostFacts":
        return _hosts(path, options, io.BytesIO(file.data) if path == "-" else None)
    if kind in {KUBERNETES, QUOTA}:
        return None
    return SnapshotSource(name, lambda: _own_snapshot(documents, options))


def _table(name: str, file: InputFile) -> Source:
    from ullage.sources.csv_source import CsvSource

    return CsvSource(name, [file])


def _documents(file: InputFile, options: Options) -> "list[Document]":
    from ullage.sources.documents import documents_of

    return list(documents_of(file.data, file.name, limits=options.limits))


def _kind(documents: "list[Document]") -> str:
    """Return the kind of the first document that is more than types; a quota if there is no other."""
    from ullage.sources.own_format import is_own, read_bare_spec, read_header
    from ullage.sources.quota_documents import is_quota_document
    from ullage.sources.type_documents import is_types_document

    if not documents:
        return KUBERNETES
    others = [each for each in documents if not is_types_document(each)]
    first = next((each for each in others if not is_quota_document(each)), None)
    if first is None:
        return QUOTA if others else TYPES_ONLY
    header = read_header(first)
    if is_own(header):
        # An object of Kubernetes that is called so; a cluster needs more than these.
        return KUBERNETES if header.kind in {"CapacityPolicy", "ResourceType"} else header.kind or "unknown"
    if header.api_version is None and header.kind is None and read_bare_spec(first) is not None:
        return "bare"
    return KUBERNETES


def _own_snapshot(documents: "list[Document]", options: Options) -> Snapshot:
    """Return the one snapshot among documents of ours; resource types and quotas beside it count for it."""
    from ullage.sources.quota_documents import is_quota_document, with_quotas
    from ullage.sources.type_documents import is_types_document, types_of_documents

    types = types_of_documents(documents, options.types)
    quotas = [document for document in documents if is_quota_document(document)]
    found = [each for each in documents if not is_types_document(each) and not is_quota_document(each)]
    if len(found) != 1:
        _refuse_all_but_clusters(found)
        raise InputError(
            f"{len(found)} clusters where one is expected",
            where=(found or documents)[-1].where(),
            remedy="name one file, with a Snapshot or a resourceCapacitySpec",
        )
    return with_quotas(_cluster_of(found[0], types), quotas)


def _refuse_all_but_clusters(documents: "list[Document]") -> None:
    """Name the first document that is no cluster, which says more than how many documents there are."""
    from ullage.sources.own_format import is_own, read_header

    for document in documents:
        header = read_header(document)
        if not is_own(header) or header.kind != "Snapshot":
            _cluster_of(document, ResourceTypes())


def _cluster_of(document: "Document", types: ResourceTypes) -> Snapshot:
    """Return the cluster that a document is, else say that it is none."""
    from ullage.sources.own_format import is_own, read_bare_spec, read_header, read_own

    header = read_header(document)
    if not is_own(header):
        bare = read_bare_spec(document, types)
        if not isinstance(bare, Snapshot):
            raise document.error("no cluster", remedy="give a document of kind Snapshot")
        return bare
    read = read_own(document, types)
    if not isinstance(read, Snapshot):
        raise document.error(
            f"kind {header.kind} is no cluster", path=("kind",), remedy="give a document of kind Snapshot"
        )
    return read


def _kubernetes(path: str, options: Options, stdin: BinaryIO | None = None) -> Source:
    from ullage.sources.kubernetes.dump import KubernetesSource

    return KubernetesSource(path, types=options.types, limits=options.limits, stdin=stdin)


def _hosts(path: str, options: Options, stdin: BinaryIO | None = None) -> Source:
    from ullage.sources.host_cluster import HostsSource

    return HostsSource(path, limits=options.limits, stdin=stdin)


def _is_ours(head: bytes) -> bool:
    from ullage.sources.snapshot_file import is_snapshot_bytes

    return is_snapshot_bytes(head) or _names_us(head) or _is_table(head)


def _names_us(head: bytes) -> bool:
    """Whether a document of ours may begin here; a list of Kubernetes objects is none, whatever it lists."""
    return _OURS.search(head) is not None and _LIST.match(head) is None


def _is_table(head: bytes | bytearray) -> bool:
    from ullage.sources.csv_source import is_table

    return not looks_like_json(head) and is_table(InputFile("", head))
