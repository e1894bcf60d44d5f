"""`ullage advise requests`."""

from fractions import Fraction
from typing import TYPE_CHECKING, Final

import click

from ullage.cli.options import USAGE_OPTION, asks

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

_HELP: Final = """Right-sized requests and limits of each workload, by what its pods really used.

Memory is the most that any replica used plus a margin; where use came near the limit, or a container ran out
of memory, it is raised. CPU is a percentile of use. Too little evidence advises nothing and says why. Limits
are never introduced; a memory limit is lowered only where peaks and starts were seen. It shows what is given
back and how much more would fit then. --patch prints patches for kubectl. Exit code 2 when a workload that
must grow would find no place.
"""


class _Number(click.ParamType[Fraction]):
    """A decimal number, exactly."""

    name = "number"

    def convert(
        self, value: object, parameter: click.Parameter | None, context: click.Context | None
    ) -> Fraction:
        if isinstance(value, Fraction):
            return value
        try:
            return Fraction(str(value).removesuffix("%"))
        except (ValueError, ZeroDivisionError):
            self.fail(f"{value!r} is no number", parameter, context)


@click.command("requests", help=_HELP)
@click.argument("workloads", metavar="[KIND/NAME]...", nargs=-1)
@USAGE_OPTION
@click.option(
    "--cpu-percentile",
    type=_Number(),
    default="95",
    show_default=True,
    metavar="PERCENT",
    help="CPU that is enough so much of the time.",
)
@click.option(
    "--memory-margin",
    type=_Number(),
    default="15",
    show_default=True,
    metavar="PERCENT",
    help="Memory above the most that was used.",
)
@click.option(
    "--min-days",
    "days_min",
    type=_Number(),
    default="7",
    show_default=True,
    metavar="DAYS",
    help="Advise nothing for what was observed for less time.",
)
@click.option(
    "--min-saving",
    "saving_min",
    type=_Number(),
    default="10",
    show_default=True,
    metavar="PERCENT",
    help="Lower no request by less of it.",
)
@click.option("--only-growth", is_flag=True, help="Only what must grow.")
@click.option(
    "--cpu-limits",
    type=click.Choice(["keep", "remove"]),
    default="keep",
    show_default=True,
    help="What becomes of CPU limits.",
)
@click.option(
    "--shape",
    metavar="RESOURCES",
    default="cpu=1,memory=4Gi",
    show_default=True,
    help="Count the room before and after in this.",
)
@click.option("--patch", "patches", is_flag=True, help="Print patches for kubectl, as YAML unless -o json.")
@asks
def command(
    asked: "Asked",
    workloads: tuple[str, ...],
    usage: str,
    *,
    cpu_percentile: Fraction,
    memory_margin: Fraction,
    days_min: Fraction,
    saving_min: Fraction,
    only_growth: bool,
    cpu_limits: str,
    shape: str,
    patches: bool,
) -> "Answer":
    """Answer what workloads should ask for."""
    from ullage.service.advise_requests import RequestsQuestion, advise_requests

    question = RequestsQuestion(
        usage,
        cpu_percentile,
        memory_margin,
        days_min,
        saving_min,
        removes_cpu_limits=cpu_limits == "remove",
        only_growth=only_growth,
        workloads=workloads,
        shape=shape,
        patches=patches,
    )
    return advise_requests(asked, question)
