"""The options that questions share, and the way from an answer to the terminal.

`asks` puts the options on a command, which then gets one `Asked` and returns an `Answer`; printing it and
its exit code are the same for every command.
"""

import os
import shutil
import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

import click

from ullage.cli.main import EXIT_NO, EXIT_YES

if TYPE_CHECKING:
    from ullage.service.answer import Answer

FORMATS: Final = ("table", "wide", "json", "yaml", "csv", "md", "html", "svg")
WIDTH_WITHOUT_TERMINAL: Final = 100
WIDTH_MIN: Final = 40
WIDTH_MAX: Final = 1000

_CLUSTER: Final = (
    click.option(
        "-c", "--cluster", metavar="SOURCE", envvar="ULLAGE_CLUSTER", default="",
        help="A dump, a folder, a snapshot, -, demo or synthetic:nodes=100 (default: $ULLAGE_CLUSTER).",
    ),
    click.option("--policy", metavar="NAME|FILE", default="", help="A built-in profile or a policy file."),
    click.option("-n", "--namespace", metavar="NAME", default="", help="Only workloads of this namespace."),
    click.option("-A", "--all-namespaces", is_flag=True, help="Workloads of all namespaces (the default)."),
    click.option("-l", "--selector", metavar="KEY=VALUE", default="", help="Only nodes with these labels."),
    click.option("--context", metavar="NAME", default="", help="The kube context of a live cluster."),
    click.option("--kubeconfig", metavar="FILE", default="", help="The kubeconfig of a live cluster."),
    click.option("--as", "as_user", metavar="USER", default="", help="Impersonate on a live cluster."),
)  # fmt: skip
_OUTPUT: Final = (
    click.option(
        "-o",
        "--output",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="Output format.",
    ),
    click.option("--exit-zero", is_flag=True, help="Exit with 0 also when the answer is no."),
    click.option("--no-color", is_flag=True, help="No colours (NO_COLOR does the same)."),
    click.option(
        "--width", type=click.IntRange(WIDTH_MIN, WIDTH_MAX), default=None, help="Columns of text output."
    ),
)


def asks(function: Callable[..., "Answer"]) -> Callable[..., int]:
    """Give a command the options of a question; it is called with `asked` first."""

    @wraps(function)
    def command(**options: Any) -> int:
        from ullage.service.asked import Asked

        live = {name: options.pop(name) for name in ("context", "kubeconfig", "as_user")}
        if any(live.values()):
            raise click.UsageError(
                "--context, --kubeconfig and --as are for live clusters, which this version does not read; "
                "use a dump: kubectl get nodes,pods -A -o json > dump.json"
            )
        namespace = "" if options.pop("all_namespaces") else options["namespace"]
        del options["namespace"]
        asked = Asked(options.pop("cluster"), options.pop("policy"), namespace, options.pop("selector"))
        return function(asked=asked, **options)  # type: ignore[return-value]  # `prints` takes the answer

    for option in reversed(_CLUSTER):
        command = option(command)
    return prints(command)  # type: ignore[arg-type]  # it returns what the function returns


def prints(function: Callable[..., "Answer"]) -> Callable[..., int]:
    """Give a command the options of output; it returns an answer, which is printed."""

    @wraps(function)
    def command(**options: Any) -> int:
        shown = {name: options.pop(name) for name in ("output", "exit_zero", "no_color", "width")}
        answer = function(**options)
        show(answer, shown["output"], no_color=shown["no_color"], width=shown["width"])
        return EXIT_YES if answer.yes or shown["exit_zero"] else EXIT_NO

    for option in reversed(_OUTPUT):
        command = option(command)
    return command


def show(answer: "Answer", output: str, *, no_color: bool, width: int | None) -> None:
    """Write an answer to standard output in the wanted format."""
    from ullage.render import render

    terminal = sys.stdout.isatty()
    color = terminal and not no_color and not os.environ.get("NO_COLOR")
    columns = width or (shutil.get_terminal_size().columns if terminal else _columns_without_terminal())
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    text = render(
        answer.page,
        answer.data,
        output,
        width=max(WIDTH_MIN, columns),
        color=color,
        unicode=encoding.startswith("utf"),
    )
    click.echo(text, nl=not text.endswith("\n"), color=color)


def _columns_without_terminal() -> int:
    given = os.environ.get("COLUMNS", "")
    return int(given) if given.isdigit() and len(given) < 5 else WIDTH_WITHOUT_TERMINAL
