"""Where names and numbers are explained: addresses for the cells, labels and sentences of an answer.

Answers are made for every format and hold no addresses. What a cell is about follows from the title of its
column, and a link is drawn only where the cluster has something of that name, so that none leads nowhere.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, get_args

from ullage.model.cluster import Snapshot
from ullage.model.drives import DriveClass, LocalClass
from ullage.model.ledger import is_disk, node_of
from ullage.render.view import Cell, Table
from ullage.web.pages.shell import Shell

if TYPE_CHECKING:
    from markupsafe import Markup

_KINDS: Final = {
    "node": "node",
    "from": "node",
    "to": "node",
    "was on": "node",
    "goes to": "node",
    "workload": "pod",
    "evicted": "pod",
    "for": "pod",
    "pod": "pod",
    "quota": "quota",
    "could claim": "quota",
    "claimed by": "quota",
    "parent": "quota",
    "resource": "resource",
    "domain": "domain",
    "group": "group",
    "disk": "disk",
    "class": "class",
    "capacity": "capacity",
}
"""What the texts of a column are names of, by its title."""
_ANCHORS: Final = {"entitled to": "entitlement", "total": "capacity"}
"""What a term is called where it is explained, if that is another word."""
_AMOUNTS: Final = frozenset(
    ("frees", "holds", "counts", "lends", "borrows", "free for it", "within its min", "at most, alone")
)
"""Columns of amounts that are written as a list, and stand left for it."""
FACT: Final = "is"
"""The column of facts that have their names beside them."""
_CLASSES: Final = frozenset((*get_args(LocalClass), *get_args(DriveClass)))
_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_NAMED: Final = re.compile(
    r"(?P<before>\b(?:node|quota|domain|group|pod|workload)[ /])"
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9_./-]*[A-Za-z0-9])"
    r"|(?P<key>\b[A-Za-z0-9][A-Za-z0-9_.-]*/[A-Za-z0-9][A-Za-z0-9_.-]*[A-Za-z0-9])"
)


class Links:
    """The addresses of one cluster.

    `columns` says where a column of this page, or a fact of it, is explained, and `otherwise` where those are
    that belong to nothing which has a name.
    """

    def __init__(
        self, shell: Shell, snapshot: Snapshot, columns: Mapping[str, str] = _NONE, otherwise: str = ""
    ) -> None:
        self._shell = shell
        self._snapshot = snapshot
        self._columns = columns
        self._otherwise = otherwise
        self._domains = {each.domain for each in snapshot.nodes if each.domain}
        self._resources = {name for node in snapshot.nodes for name in node.capacity}

    def node(self, name: str, resource: str = "") -> str:
        """Return where a node is explained, at one resource of it if that is meant."""
        if name not in self._snapshot.nodes:
            return ""
        anchor = f"#{resource}" if resource in self._resources else ""
        return self._shell.address("/nodes", name) + anchor

    def resource(self, name: str, term: str = "") -> str:
        """Return where a resource is explained, at one term of its arithmetic if that is meant."""
        if name not in self._resources:
            return ""
        return self._shell.address(f"/explain/resource/{name}") + (f"#{anchor_of(term)}" if term else "")

    def quota(self, name: str, term: str = "") -> str:
        """Return where a quota is explained, at one of its terms if that is meant."""
        if name not in self._snapshot.quotas:
            return ""
        return self._shell.address(f"/explain/quota/{name}") + (f"#{anchor_of(term)}" if term else "")

    def disk_class(self, name: str) -> str:
        """Return the disks of a class."""
        return self._shell.address("/drives", class_=name) + "#found" if name in _CLASSES else ""

    def disk(self, name: str) -> str:
        """Return the map of a disk, by its name."""
        return self._shell.address("/drives", q=name.strip(), system="1") + "#found"

    def capacity(self, name: str, resource: str = "") -> str:
        """Return where what a ledger promises parts of is explained: a node, a quota, or a node's disks."""
        kind, _, rest = name.partition("/")
        if kind == "quota":
            return self.quota(rest)
        node = self.node(node_of(name), resource)
        return f"{node}#disks" if node and is_disk(name) else node

    def disks(self, node: str) -> str:
        """Return all disks of a node."""
        return f"{self.node(node)}#disks"

    def bar(self, label: str, term: str = "") -> str:
        """Return where a part of a bar is explained: of a resource, or of a class of disks."""
        return self.resource(label, term) or self.disk_class(label.partition(" of storage group ")[0])

    def pod(self, key: str) -> str:
        """Return where a workload is explained."""
        found = "/" in key and self._snapshot.workloads.get(key) is not None
        return self._shell.address(f"/explain/pod/{key}") if found else ""

    def domain(self, name: str) -> str:
        """Return the nodes of a domain."""
        return self._shell.address("/nodes", domain=name) if name in self._domains else ""

    def group(self, name: str) -> str:
        """Return the nodes of a group."""
        return self._shell.address("/nodes", group=name) if name in self._snapshot.groups else ""

    def named(self, kind: str, name: str, resource: str = "") -> str:
        """Return where something of a kind is explained; nothing where it is not known."""
        match kind:
            case "node":
                return self.node(name, resource)
            case "pod" | "workload":
                return self.pod(name)
            case "quota":
                return self.quota(name)
            case "resource":
                return self.resource(name)
            case "domain":
                return self.domain(name)
            case "group":
                return self.group(name)
            case "class":
                return self.disk_class(name)
            case "disk":
                return self.disk(name)
            case "capacity":
                return self.capacity(name, resource)
            case _:
                return ""

    def subject(self, subject: str) -> str:
        """Return where the subject of a finding is explained, such as node/n1."""
        kind, _, name = subject.partition("/")
        return self.named(kind, name) or self.pod(subject)

    def cell(self, table: Table, row: Sequence[Cell], index: int) -> str:
        """Return where a cell is explained: by its own name, or a number by what its row is about."""
        title = table.columns[index].title
        own = self.named(_KINDS.get(title, ""), row[index].text)
        if own or row[index].text in {"", "-"}:
            return own
        fact = row[0].text if title == FACT else title
        if fact in self._columns:
            return self._columns[fact]
        if table.columns[index].align != "right" and title not in _AMOUNTS:
            return ""
        resource = title if title in self._resources else _of_row(table, row)
        named = (
            self.named(_KINDS.get(column.title, ""), cell.text, resource)
            for column, cell in zip(table.columns, row, strict=True)
        )
        return next(filter(None, named), self._otherwise)

    def prose(self, text: str) -> "Markup":
        """Return a sentence as escaped HTML in which every name that is known leads to its explanation."""
        from markupsafe import Markup

        return Markup("").join(self._pieces(text))

    def _pieces(self, text: str) -> "Iterator[Markup]":
        from markupsafe import Markup, escape

        at = 0
        for match in _NAMED.finditer(text):
            before, name = match["before"], match["name"]
            found = self.named(before[:-1], name) if before else self.pod(match["key"])
            if found:
                start = match.start("name") if before else match.start()
                yield escape(text[at:start])
                yield Markup('<a href="{}">{}</a>').format(found, text[start : match.end()])
                at = match.end()
        yield escape(text[at:])


def anchor_of(term: str) -> str:
    """Return the place of a term on the page that explains it."""
    return _ANCHORS.get(term, term.replace(" ", "-"))


def _of_row(table: Table, row: Sequence[Cell]) -> str:
    """Return the resource that a row is about, where one of its columns says so."""
    return next(
        (cell.text for column, cell in zip(table.columns, row, strict=True) if column.title == "resource"), ""
    )
