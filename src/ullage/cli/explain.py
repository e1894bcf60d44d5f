"""`ullage explain`."""

from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import CompletionItem

from ullage.cli.options import USAGE_OPTION, asks

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

_HELP: Final = """Every number and reason behind node/NAME, pod/NAME, quota/NAME or resource/NAME.

A node's sums go from its capacity to what is free, each with the setting or source it comes from, and
what runs there. A pod that waits is explained with what keeps it off each node, the rules between
workloads that bind it, and what would help; one that runs, with where else it could be. Name it
pod/NAMESPACE/NAME, or with -n. A quota is explained with the formulas of both modes, its workloads in
label order, who lends and borrows, and what would be admitted now. A resource is explained with its units,
its fullest nodes and its largest holders. With --usage nodes and pods are explained with what is really used,
and a node with who would get what if all wanted the most they used.
"""


def _kinds(context: click.Context, parameter: click.Parameter, text: str) -> list[CompletionItem]:
    del context, parameter
    return [
        CompletionItem(kind) for kind in ("node/", "pod/", "quota/", "resource/") if kind.startswith(text)
    ]


@click.command("explain", help=_HELP)
@click.argument(
    "subject",
    metavar="node/NAME|pod/NAME|quota/NAME|resource/NAME",
    nargs=-1,
    required=True,
    shell_complete=_kinds,
)
@click.option("--resource", metavar="NAME", default="", help="Of a node, only this resource.")
@USAGE_OPTION
@asks
def command(asked: "Asked", subject: tuple[str, ...], resource: str, usage: str) -> "Answer":
    """Answer what stands behind a node, a pod, a quota or a resource."""
    from ullage.service.explain import explain

    if len(subject) > 2 or (len(subject) == 2 and "/" in subject[0]):
        raise click.UsageError("name one node, pod, quota or resource", click.get_current_context())
    return explain(asked, "/".join(subject), resource, usage)
