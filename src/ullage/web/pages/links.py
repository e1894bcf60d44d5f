"""Where names and numbers are explained: addresses for the cells, labels and sentences of an answer.

Answers are made for every format and hold no addresses. What a cell is about follows from the title of its
column, and a link is drawn only where the cluster has something of that name, so that none leads nowhere.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ullage.model.cluster import Snapshot
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
}
"""What the texts of a column are names of, by its title."""
_NAMED: Final = re.compile(
    r"(?P<before>\b(?:node|quota|domain|group|pod|workload)[ /])"
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9_./-]*[A-Za-z0-9])"
    r"|(?P<key>\b[A-Za-z0-9][A-Za-z0-9_.-]*/[A-Za-z0-9][A-Za-z0-9_.-]*[A-Za-z0-9])"
)


class Links:
    """The addresses of one cluster."""

    def __init__(self, shell: Shell, snapshot: Snapshot) -> None:
        self._shell = shell
        self._snapshot = snapshot
        self._domains = {each.domain for each in snapshot.nodes if each.domain}
        self._resources = {name for node in snapshot.nodes for name in node.capacity}

    def node(self, name: str, resource: str = "") -> str:
        """Return where a node is explained, at one resource of it if that is meant."""
        if name not in self._snapshot.nodes:
            return ""
        anchor = f"#{resource}" if resource in self._resources else ""
        return self._shell.address(f"/nodes/{name}") + anchor

    def resource(self, name: str) -> str:
        """Return where a resource is explained."""
        return self._shell.address(f"/explain/resource/{name}") if name in self._resources else ""

    def quota(self, name: str) -> str:
        """Return where a quota is explained."""
        return self._shell.address(f"/explain/quota/{name}") if name in self._snapshot.quotas else ""

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
        if own or index == 0:
            return own
        if table.columns[index].align != "right" or row[index].text == "-":
            return ""
        resource = title if title in self._resources else _of_row(table, row)
        kind = _KINDS.get(table.columns[0].title, "")
        return self.named(kind, row[0].text, resource)

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


def _of_row(table: Table, row: Sequence[Cell]) -> str:
    """Return the resource that a row is about, where one of its columns says so."""
    return next(
        (cell.text for column, cell in zip(table.columns, row, strict=True) if column.title == "resource"), ""
    )
