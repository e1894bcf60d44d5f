"""`ullage snapshot save|show|edit|diff`."""

from functools import partial
from typing import TYPE_CHECKING, Final

import click

from ullage.cli.groups import SharingGroup
from ullage.cli.options import asks, prints
from ullage.cli.servers import reaches

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

_SAVE_HELP: Final = """Save the cluster to FILE.

Its ending names the form: .ullage is compact, .json and .yaml can be read and edited. --redact replaces
names with pseudonyms, so that the file can be shown to others.
"""
_EDIT_HELP: Final = """Save the cluster to FILE with other drives, volumes or nodes: what if?

Every option may be given more than once. Removals come first, then changes of class, additions, and drives
that become volume groups. Then ask: `ullage fit -c FILE -f WORKLOADS`.
"""
_DIFF_HELP: Final = """Compare two clusters: files, folders or any other SOURCE.

Exit code 0 when they are the same, 2 when they differ. Names and revisions of the two do not count.
"""


@click.group("snapshot", cls=SharingGroup, help="Save, show, edit and compare clusters as files.")
def command() -> None:
    """Group the commands about snapshots."""


@command.command("save", help=_SAVE_HELP)
@click.argument("path", metavar="FILE", type=click.Path())
@click.option("--redact", is_flag=True, help="Replace names with pseudonyms.")
@click.option("--seed", metavar="TEXT", default="", help="Equal seeds give equal pseudonyms.")
@partial(asks, ledger=None)
def save(asked: "Asked", path: str, seed: str, *, redact: bool) -> "Answer":
    """Save a cluster."""
    from ullage.service.snapshot import SaveQuestion
    from ullage.service.snapshot import save as save_cluster

    return save_cluster(asked, SaveQuestion(path, redact, seed))


@command.command("show", help="What a snapshot holds; -o json or yaml gives the snapshot itself.")
@click.argument("path", metavar="[FILE]", default="", type=click.Path())
@partial(asks, ledger=None)
def show(asked: "Asked", path: str) -> "Answer":
    """Answer what a snapshot holds."""
    import msgspec

    from ullage.service.snapshot import show as show_cluster

    return show_cluster(msgspec.structs.replace(asked, cluster=path) if path else asked)


@command.command("edit", help=_EDIT_HELP)
@click.argument("path", metavar="FILE", type=click.Path())
@click.option("--remove-node", "remove_nodes", multiple=True, metavar="NODE", help="A node is gone.")
@click.option(
    "--remove-volume",
    "remove_volumes",
    multiple=True,
    metavar="NAME",
    help="A volume is gone; a drive that was a volume group for it alone is empty again.",
)
@click.option(
    "--remove-drive",
    "remove_drives",
    multiple=True,
    metavar="UUID",
    help="A drive is gone, and what was on it.",
)
@click.option(
    "--drive-class", "drive_classes", multiple=True, metavar="UUID=CLASS", help="A drive is HDD, SSD or NVME."
)
@click.option(
    "--add-drive",
    "add_drives",
    multiple=True,
    metavar="NODE=CLASS:SIZE[xCOUNT]",
    help="A node has one or more new drives, as n1=HDD:4Tx2.",
)
@click.option(
    "--convert-drive",
    "convert_drives",
    multiple=True,
    metavar="UUID",
    help="An empty drive is a volume group of its own.",
)
@click.option("--cordon", multiple=True, metavar="NODE", help="A node takes nothing new.")
@click.option("--uncordon", multiple=True, metavar="NODE", help="A node is open again.")
@partial(asks, ledger=None)
def edit(asked: "Asked", path: str, **wanted: tuple[str, ...]) -> "Answer":
    """Save a cluster with edits."""
    from ullage.service.snapshot_edit import Edits
    from ullage.service.snapshot_edit import edit as edit_cluster

    return edit_cluster(asked, path, Edits(**wanted))


@command.command("diff", help=_DIFF_HELP)
@click.argument("before", metavar="A", type=click.Path())
@click.argument("after", metavar="B", type=click.Path())
@reaches
@prints
def diff(before: str, after: str) -> "Answer":
    """Answer how two clusters differ."""
    from ullage.service.snapshot import diff as diff_clusters

    return diff_clusters(before, after)
