"""`ullage kube install`."""

from typing import TYPE_CHECKING, Any, Final

import click

from ullage.cli.kube.target import APPLY_OPTION, face, on_cluster
from ullage.cli.options import FORMATS, show
from ullage.cli.progress import progress

if TYPE_CHECKING:
    from ullage.service.answer import Answer

_COMPONENTS: Final = ("operator", "scheduler", "extender")
_HELP: Final = """Print what a cluster needs to run ullage, as YAML for `kubectl apply -f -`; or apply it.

--apply does it by server-side apply and waits until the kinds are served. A second time changes nothing;
objects of an older version that this one does not have are deleted. Definitions of nos and csi-baremetal
that are there already stay as they are.
"""


@click.command("install", help=_HELP)
@click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    default="ullage-system",
    show_default=True,
    help="Where the processes run.",
)
@click.option("--image", metavar="IMAGE", default="", help="What they run (default: ullage:VERSION).")
@click.option(
    "--replicas",
    type=click.IntRange(1, 9),
    default=2,
    show_default=True,
    metavar="N",
    help="How many of each; one leads.",
)
@click.option(
    "--component",
    "components",
    type=click.Choice(_COMPONENTS),
    multiple=True,
    default=("operator", "scheduler"),
    show_default=True,
    help="What to run; may be given more than once.",
)
@click.option(
    "--scheduler-name",
    "scheduler_names",
    metavar="NAME",
    multiple=True,
    default=(),
    help="Pods with this schedulerName are served, by the scheduler (default: ullage) or, where that is not "
    "installed, by the extender (default: default-scheduler); may be given more than once.",
)
@click.option(
    "--gpu-memory-gb",
    "gpu_memory_gigabytes",
    type=click.IntRange(1, 100_000),
    default=32,
    show_default=True,
    metavar="GB",
    help="What one nvidia.com/gpu counts for in nos.nebuly.com/gpu-memory.",
)
@click.option(
    "--sequential-lvg/--no-sequential-lvg",
    "sequential_volume_groups",
    default=True,
    show_default=True,
    help="Whether volumes are put on few drives, one request after the other.",
)
@click.option(
    "--node-capacity/--no-node-capacity",
    "node_capacity",
    default=True,
    show_default=True,
    help="Whether the operator keeps the room of each node in a NodeCapacity.",
)
@click.option("--without-crds", is_flag=True, help="Leave out CustomResourceDefinitions.")
@APPLY_OPTION
@on_cluster
@click.option(
    "-o",
    "--output",
    type=click.Choice(FORMATS),
    default=None,
    metavar="FORMAT",
    help="Objects as yaml (the default) or json; with --apply what was done, as table or any other format.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
def command(
    *,
    without_crds: bool,
    image: str,
    applies: bool,
    output: str | None,
    quiet: bool,
    context: str,
    kubeconfig: str,
    as_user: str,
    **chosen: Any,
) -> int:
    """Print the objects of an installation, or apply them."""
    install = face()
    named = {"image": image} if image else {}
    choices = install.Choices(**chosen, **named, definitions=not without_crds)
    if not applies:
        if output not in {None, "yaml", "json"}:
            raise click.UsageError(f"-o {output} goes with --apply; objects are yaml or json")
        click.echo(install.documents_text(choices, output or "yaml").encode(), nl=False)
        return 0
    with progress("applying", quiet=quiet):
        answer: Answer = install.install(choices, install.Target(context, kubeconfig, as_user))
    show(answer, output or "table", no_color=False, width=None)
    return 0
