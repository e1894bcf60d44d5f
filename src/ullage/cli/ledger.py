"""`ullage ledger show|history|explain|verify|expire|extend|bind|pause|cache|release|backup`."""

from collections.abc import Callable
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Final

import click

from ullage.cli.groups import SharingGroup
from ullage.cli.options import HOLD_SECONDS_MAX, OWN_LEDGER_OPTION, POLICY_OPTION, asks, is_typed, prints
from ullage.cli.servers import cluster_of_environment, ledger_meant, own_ledger_meant, reaches

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

_HELP: Final = """What is promised, to whom, until when; and whether that is so.

`ullage fit --commit` writes promises; every question counts those of --ledger FILE. A ledger is one file, for
one cluster, or kept in the cluster itself (--ledger kube, or kube:CONTEXT), or by a server (-c URL).
"""
_SHOW_HELP: Final = """What is promised, and what that leaves of nodes, quotas and disks.

--at REVISION shows the ledger as it was after any step of its history.
"""
_HISTORY_HELP: Final = """Every step with what was asked, what was decided, and why.

Name a reservation, an owner or a capacity (as capacity/node/n1) for the steps that are about it.
"""
_EXPLAIN_HELP: Final = """What one step was: what was asked and decided, and every term before and after.

Steps are known by the revision that they made, as `ullage ledger history` lists them.
"""
_VERIFY_HELP: Final = """Prove that the ledger is what it says; exit code 2 when anything is found.

Every page of the file is read, every link of the chain and every decision is made again, and all promises are
added up. With -c they are compared with what that cluster offers now: a drive may have died since, or a node
may have gone.
"""
_EXPIRE_HELP: Final = """Give back what its time has come for.

--orphans also releases what is in use by a workload that the cluster of -c does not have any more. What is
not in use yet may be for one that is still to come: it ends at its own time.
"""
_CACHE_HELP: Final = """Let the system cache of a node grow or shrink by what it holds.

The policy says how (cache-unit, cache-grow, cache-shrink). The cache grows only by what its pool has free,
and what it has is promised to nobody else. Exit code 2 when it cannot grow.
"""
_PAUSE_HELP: Final = """Note that a workload is paused: what it has stays promised to it.

Only what is bound can be paused. --resume says that it runs again.
"""
_BACKUP_HELP: Final = """Copy the ledger to a new FILE while others use it, and prove the copy.

This is of ledgers in files: that of a server is copied where it runs, and one in a cluster with its etcd.
"""
_SERVER_OPTION: Final = click.option(
    "-c",
    "--cluster",
    metavar="URL",
    envvar="ULLAGE_CLUSTER",
    default="",
    help="A server, http(s)://HOST:PORT[/v1/clusters/NAME], whose ledger is meant.",
)
_STATES: Final = ("waiting", "reserved", "bound")


@click.group("ledger", cls=SharingGroup, help=_HELP)
def command() -> None:
    """Group the commands about the ledger."""


def _of_ledger(function: Callable[..., int]) -> Callable[..., int]:
    """Give a command the ledger that is meant: one that is named, that of a server, else the user's own."""

    @wraps(function)
    def command(cluster: str, ledger: str, **options: Any) -> int:
        return function(ledger=own_ledger_meant(ledger, cluster, is_given=is_typed("cluster")), **options)

    return _SERVER_OPTION(OWN_LEDGER_OPTION(reaches(command)))


@command.command("show", help=_SHOW_HELP)
@_of_ledger
@click.option("--owner", metavar="OWNER", default="", help="Only what is promised to this owner.")
@click.option("--capacity", metavar="CAPACITY", default="", help="Only of this capacity, as node/n1.")
@click.option("--state", type=click.Choice(_STATES), default=None, help="Only what is in this state.")
@click.option(
    "--at",
    "revision",
    type=click.IntRange(min=0),
    default=None,
    metavar="REVISION",
    help="As it was after this step.",
)
@prints
def show(ledger: str, owner: str, capacity: str, state: str | None, revision: int | None) -> "Answer":
    """Answer what is promised."""
    from ullage.service.ledger_show import ShowQuestion, ledger_show

    return ledger_show(ShowQuestion(ledger, owner, capacity, state or "", revision))


@command.command("history", help=_HISTORY_HELP)
@click.argument("subject", metavar="[reservation/R|owner/O|capacity/C]", default="")
@_of_ledger
@click.option(
    "--after",
    type=click.IntRange(min=0),
    default=0,
    metavar="REVISION",
    help="Only the steps after this one.",
)
@prints
def history(subject: str, ledger: str, after: int) -> "Answer":
    """Answer what has happened."""
    from ullage.service.ledger_history import HistoryQuestion, ledger_history

    return ledger_history(HistoryQuestion(ledger, subject, after))


@command.command("explain", help=_EXPLAIN_HELP)
@click.argument("revision", metavar="REVISION", type=click.IntRange(min=1))
@_of_ledger
@prints
def explain(revision: int, ledger: str) -> "Answer":
    """Answer what a step was."""
    from ullage.service.ledger_explain import StepQuestion, ledger_explain

    return ledger_explain(StepQuestion(revision, ledger))


@command.command("verify", help=_VERIFY_HELP)
@OWN_LEDGER_OPTION
@click.option(
    "-c", "--cluster", metavar="SOURCE", default="", help="Compare promises with what this cluster offers."
)
@POLICY_OPTION
@reaches
@prints
def verify(ledger: str, cluster: str, policy: str) -> "Answer":
    """Answer whether the ledger can be believed."""
    from ullage.service.asked import Asked
    from ullage.service.ledger_verify import ledger_verify

    meant = ledger_meant(ledger, cluster or cluster_of_environment())
    return ledger_verify(meant, Asked(cluster, policy) if cluster else None)


@command.command("expire", help=_EXPIRE_HELP)
@click.option("--orphans", is_flag=True, help="Also what is in use by nobody whom the cluster of -c has.")
@partial(asks, ledger=OWN_LEDGER_OPTION)
def expire(asked: "Asked", *, orphans: bool) -> "Answer":
    """Give back what has ended."""
    from ullage.service.ledger_change import expire as expire_promises

    return expire_promises(asked, orphans=orphans)


@command.command("extend", help="Hold a reservation for so many seconds from now, longer than before.")
@click.argument("reservation", metavar="RESERVATION")
@click.option(
    "--hold",
    "hold_seconds",
    type=click.IntRange(1, HOLD_SECONDS_MAX),
    required=True,
    metavar="SECONDS",
    help="How long from now.",
)
@_of_ledger
@prints
def extend(reservation: str, hold_seconds: int, ledger: str) -> "Answer":
    """Hold a reservation longer."""
    from ullage.service.ledger_change import extend as extend_promise

    return extend_promise(ledger, reservation, hold_seconds)


@command.command("bind", help="Note that what is held is in use: it does not expire any more.")
@click.argument("reservation", metavar="RESERVATION")
@click.option("--node", metavar="NODE", default="", help="The node, where it is held on several.")
@_of_ledger
@prints
def bind(reservation: str, node: str, ledger: str) -> "Answer":
    """Note that a reservation is in use."""
    from ullage.service.ledger_change import bind as bind_promise

    return bind_promise(ledger, reservation, node)


@command.command("cache", help=_CACHE_HELP)
@click.argument("node", metavar="NODE")
@click.option("--used", required=True, metavar="SIZE", help="What the cache holds now, as 3Gi.")
@partial(asks, ledger=OWN_LEDGER_OPTION)
def cache(asked: "Asked", node: str, used: str) -> "Answer":
    """Give the cache of a node another size."""
    from ullage.service.ledger_cache import ledger_cache

    return ledger_cache(asked, node, used)


@command.command("pause", help=_PAUSE_HELP)
@click.argument("reservation", metavar="RESERVATION")
@click.option("--resume", is_flag=True, help="It runs again.")
@_of_ledger
@prints
def pause(reservation: str, ledger: str, *, resume: bool) -> "Answer":
    """Note that what is in use is paused, or runs again."""
    from ullage.service.ledger_change import pause as pause_promise

    return pause_promise(ledger, reservation, paused=not resume)


@command.command("release", help="Give back a reservation, or some requests of it.")
@click.argument("reservation", metavar="RESERVATION")
@click.option(
    "--request", "requests", multiple=True, metavar="NAME", help="Only this request; may be repeated."
)
@_of_ledger
@prints
def release(reservation: str, requests: tuple[str, ...], ledger: str) -> "Answer":
    """Give back a reservation."""
    from ullage.service.ledger_change import release as release_promise

    return release_promise(ledger, reservation, requests)


@command.command("backup", help=_BACKUP_HELP)
@click.argument("path", metavar="FILE", type=click.Path())
@_of_ledger
@prints
def backup(path: str, ledger: str) -> "Answer":
    """Copy the ledger."""
    from ullage.service.ledger_backup import ledger_backup

    return ledger_backup(ledger, path)
