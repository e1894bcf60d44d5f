"""`ullage disks list|fragmentation`."""

from typing import TYPE_CHECKING, Final

import click

from ullage.cli.groups import SharingGroup
from ullage.cli.options import asks

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

_LIST_HELP: Final = """Every drive and volume group: its size, what is in use, promised and free.

A disk that offers nothing says why: BAD, OFFLINE, not clean, tainted, of the system, or part of a group. The
volumes on disks are named with their claims. With node/NAME, only the disks of that node.
"""
_FRAGMENTATION_HELP: Final = """How much of the free disk space can be had, and by how large a volume.

For each class: what is free, in how many pieces, the largest volume that has a place, and what is stranded:
the rest of each piece after as many volumes of --size as it holds. The cheapest repack moves the volumes of
one group into others of its node, so that a drive is empty again. Exit code 2 when no volume of a --size has
a place.
"""


@click.group("disks", cls=SharingGroup, help="Local disks: what they have, and what of it can be had.")
def command() -> None:
    """Group the commands about disks."""


@command.command("list", help=_LIST_HELP)
@click.argument("subject", metavar="[node/NAME]", default="")
@asks
def show(asked: "Asked", subject: str) -> "Answer":
    """Answer what disks have."""
    from ullage.service.disks_list import disks_list

    return disks_list(asked, subject)


@command.command("fragmentation", help=_FRAGMENTATION_HELP)
@click.option(
    "--size",
    "sizes",
    multiple=True,
    metavar="[CLASS=]SIZE",
    help="The size of volumes that are meant, as 100Gi or HDDLVG=100Gi; may be given more than once.",
)
@asks
def fragmentation(asked: "Asked", sizes: tuple[str, ...]) -> "Answer":
    """Answer what of the free space can be had."""
    from ullage.service.disks_fragmentation import disks_fragmentation

    return disks_fragmentation(asked, sizes)
