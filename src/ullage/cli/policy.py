"""`ullage policy show|set|check`."""

from functools import partial
from typing import TYPE_CHECKING, Final

import click

from ullage.cli.groups import SharingGroup
from ullage.cli.options import asks

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

_SET_HELP: Final = """Write settings into the file of --policy.

TARGET is cluster, group/NAME or node/NAME; KEY= removes a setting. The file is made if it is not there.

Example: ullage policy set group/gpu memory-ratio=1.5 --policy my-policy.yaml
"""


@click.group("policy", cls=SharingGroup, help="Show, set and check the rules that apply.")
def command() -> None:
    """Group the commands about policy."""


@command.command("show", help="The settings that apply to the cluster, to group/NAME or to node/NAME.")
@click.argument("target", default="cluster")
@click.option("--list", "wants_list", is_flag=True, help="List the built-in policies instead.")
@partial(asks, ledger=None)
def show(asked: "Asked", target: str, *, wants_list: bool) -> "Answer":
    """Answer which rules apply."""
    from ullage.service.policy import list_profiles, show_policy

    return list_profiles() if wants_list else show_policy(asked, target)


@command.command("set", help=_SET_HELP)
@click.argument("target")
@click.argument("changes", metavar="KEY=VALUE...", nargs=-1, required=True)
@partial(asks, ledger=None)
def change(asked: "Asked", target: str, changes: tuple[str, ...]) -> "Answer":
    """Change settings of a policy file."""
    from ullage.service.policy import set_policy

    return set_policy(target, changes, asked)


@command.command("check", help="Whether a policy can be used; with -c also whether what it names exists.")
@partial(asks, ledger=None)
def check(asked: "Asked") -> "Answer":
    """Answer whether a policy can be used."""
    from ullage.service.policy import check_policy

    return check_policy(asked)
