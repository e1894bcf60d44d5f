"""`ullage snapshot save|show|diff`."""

from typing import TYPE_CHECKING, Final

import click

from ullage.cli.groups import SharingGroup
from ullage.cli.options import asks, prints

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

_SAVE_HELP: Final = """Save the cluster to FILE.

Its ending names the form: .ullage is compact, .json and .yaml can be read and edited. --redact replaces
names with pseudonyms, so that the file can be shown to others.
"""
_DIFF_HELP: Final = """Compare two clusters: files, folders or any other SOURCE.

Exit code 0 when they are the same, 2 when they differ. Names and revisions of the two do not count.
"""


@click.group("snapshot", cls=SharingGroup, help="Save, show and compare clusters as files.")
def command() -> None:
    """Group the commands about snapshots."""


@command.command("save", help=_SAVE_HELP)
@click.argument("path", metavar="FILE", type=click.Path())
@click.option("--redact", is_flag=True, help="Replace names with pseudonyms.")
@click.option("--seed", metavar="TEXT", default="", help="Equal seeds give equal pseudonyms.")
@asks
def save(asked: "Asked", path: str, seed: str, *, redact: bool) -> "Answer":
    """Save a cluster."""
    from ullage.service.snapshot import SaveQuestion
    from ullage.service.snapshot import save as save_cluster

    return save_cluster(asked, SaveQuestion(path, redact, seed))


@command.command("show", help="What a snapshot holds; -o json or yaml gives the snapshot itself.")
@click.argument("path", metavar="[FILE]", default="", type=click.Path())
@asks
def show(asked: "Asked", path: str) -> "Answer":
    """Answer what a snapshot holds."""
    import msgspec

    from ullage.service.snapshot import show as show_cluster

    return show_cluster(msgspec.structs.replace(asked, cluster=path) if path else asked)


@command.command("diff", help=_DIFF_HELP)
@click.argument("before", metavar="A", type=click.Path())
@click.argument("after", metavar="B", type=click.Path())
@prints
def diff(before: str, after: str) -> "Answer":
    """Answer how two clusters differ."""
    from ullage.service.snapshot import diff as diff_clusters

    return diff_clusters(before, after)
