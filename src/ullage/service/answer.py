"""An answer: one report for machines and one page for people, made from the same values.

Both are made when they are asked for: a JSON report of a hundred thousand nodes draws no table first.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ullage.model.resources import ResourceTypes
from ullage.model.wire import API_VERSION, to_builtins
from ullage.render.junit import Suite
from ullage.render.view import Page


class Answer(NamedTuple):
    """What a question gave: `data` for JSON and YAML, `page` for everything people read, and yes or no.

    `shortened` is a page for a terminal that leaves out most rows of a large cluster. The answer may be a
    document in itself, which is JSON (or another `document_format`) unless a format is asked for; or a list
    of documents, which are written one after the other, with `notes` for what has no place in them. What
    kubectl takes `is_list`: several as JSON are one List. Checks have a `suite` for JUnit.
    """

    page: Callable[[], Page]
    data: Callable[[], Any]
    yes: bool = True
    is_document: bool = False
    shortened: Callable[[], Page] | None = None
    is_stream: bool = False
    notes: tuple[str, ...] = ()
    suite: Callable[[], Suite] | None = None
    document_format: str = "json"
    is_list: bool = False

    def documents(self, output: str) -> list[Any]:
        """Return the documents that are written one after the other, as JSON or YAML."""
        if not self.is_stream:
            return [self.data()]
        found = [*self.data()]
        if self.is_list and output == "json" and len(found) != 1:
            return [{"apiVersion": "v1", "kind": "List", "items": found}]
        return found


def versioned(kind: str, report: Any, types: ResourceTypes) -> dict[str, Any]:
    """Return a report as JSON data that names its version and kind first."""
    return {"apiVersion": API_VERSION, "kind": kind, **to_builtins(report, types)}
