"""The options that questions share, and the way from an answer to the terminal.

`asks` puts the options on a command, which then gets one `Asked` and returns an `Answer`; printing it and
its exit code are the same for every command.
"""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from ullage.cli.main import EXIT_NO, EXIT_YES
from ullage.cli.progress import progress
from ullage.cli.servers import CA_OPTION, TOKEN_FILE_OPTION, ledger_meant, reach, reached_again

if TYPE_CHECKING:
    from ullage.render.view import Page
    from ullage.service.answer import Answer

FORMATS: Final = ("table", "wide", "json", "yaml", "csv", "md", "html", "svg")
JUNIT: Final = "junit"
"""One more format, of commands that check something."""
WIDTH_WITHOUT_TERMINAL: Final = 100
WIDTH_MIN: Final = 40
WIDTH_MAX: Final = 1000
LIVE: Final = "kube"
LIVE_OPTIONS: Final = ("context", "kubeconfig", "as_user")


def _files_or(*words: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Complete these words beside the names of files."""

    def complete(context: click.Context, parameter: click.Parameter, text: str) -> list[CompletionItem]:
        del context, parameter
        return [
            *(CompletionItem(word) for word in words if word.startswith(text)),
            CompletionItem(text, type="file"),
        ]

    return complete


def _policies(context: click.Context, parameter: click.Parameter, text: str) -> list[CompletionItem]:
    from ullage.model.policy import PROFILE_NAMES

    return _files_or(*PROFILE_NAMES)(context, parameter, text)


RUN_MIN_OPTION: Final = click.option(
    "--run-min",
    "run_min_seconds",
    type=click.IntRange(min=0),
    default=None,
    metavar="SECONDS",
    help="Nobody is evicted before it ran so long (default: the policy's quota-run-min).",
)
CLUSTER_OPTION: Final = click.option(
    "-c",
    "--cluster",
    metavar="SOURCE",
    envvar="ULLAGE_CLUSTER",
    default="",
    shell_complete=_files_or("kube", "demo"),
    help="kube, a dump, a folder, a snapshot, -, demo or http(s)://HOST:PORT[/v1/clusters/NAME] of a server "
    "(default: $ULLAGE_CLUSTER, else kube).",
)
POLICY_OPTION: Final = click.option(
    "--policy",
    metavar="NAME|FILE",
    default="",
    shell_complete=_policies,
    help="A built-in profile or a policy file.",
)
FILES_OPTION: Final = click.option(
    "-f",
    "--filename",
    "paths",
    metavar="FILE|DIR|-",
    multiple=True,
    type=click.Path(allow_dash=True),
    help="Workloads: manifests or a WorkloadSet; may be given more than once.",
)
SHAPE_OPTION: Final = click.option(
    "--shape", metavar="RESOURCES", default="", help="One workload, as cpu=4,memory=8Gi."
)
REPLICAS_OPTION: Final = click.option(
    "--replicas", type=click.IntRange(min=0), default=None, metavar="N", help="This many of each workload."
)
POD_TEMPLATE_OPTION: Final = click.option(
    "--pod-template",
    metavar="PATH",
    default="",
    help="Where kinds that are not built in keep their pod template, as spec.template.",
)
PLACEMENT_OPTION: Final = click.option(
    "--placement",
    type=click.Choice(["spread", "pack", "balanced", "preferences"]),
    default=None,
    help="How nodes are chosen; else the policy says.",
)
EXACT_OPTION: Final = click.option(
    "--exact",
    "exact_seconds",
    type=click.IntRange(0, 3600),
    default=2,
    show_default=True,
    metavar="SECONDS",
    help="How long to search for another placement of what is refused, or a proof; 0: not at all.",
)
LEDGER_OPTION: Final = click.option(
    "--ledger",
    metavar="FILE|kube|URL",
    envvar="ULLAGE_LEDGER",
    default="",
    type=click.Path(),
    help="The ledger whose promises count beside what runs (default: $ULLAGE_LEDGER, else that of the server "
    "of -c, else none).",
)
OWN_LEDGER_OPTION: Final = click.option(
    "--ledger",
    metavar="FILE|kube|URL",
    envvar="ULLAGE_LEDGER",
    default="",
    type=click.Path(),
    help="The ledger (default: $ULLAGE_LEDGER, else that of the server of -c, else ledger.db in "
    "$XDG_DATA_HOME/ullage).",
)
USAGE_OPTION: Final = click.option(
    "--usage",
    metavar="SOURCE",
    envvar="ULLAGE_USAGE",
    default="",
    shell_complete=_files_or("prometheus:", "metrics", "host", "recorded"),
    help="What is really used: FILE.csv, FILE.yaml, a ledger FILE.db, prometheus:URL, metrics (of -c kube), "
    "host or recorded: what the ledger has, or the server of -c (default: $ULLAGE_USAGE, else recorded where "
    "use is what is asked about).",
)
HOLD_SECONDS_MAX: Final = 10 * 366 * 86_400
_LIVE_CLUSTER: Final = (
    click.option("--context", metavar="NAME", default="", help="The kube context of a live cluster."),
    click.option("--kubeconfig", metavar="FILE", default="", help="The kubeconfig of a live cluster."),
    click.option("--as", "as_user", metavar="USER", default="", help="Impersonate on a live cluster."),
)
_CLUSTER: Final = (
    CLUSTER_OPTION,
    POLICY_OPTION,
    click.option(
        "-n",
        "--namespace",
        metavar="NAME",
        default="",
        help="The namespace that is meant; it is enough if you may not see all of a live cluster.",
    ),
    click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces (the default)."),
    click.option("-l", "--selector", metavar="LABELS", default="", help="Only nodes with these labels."),
    click.option(
        "--types",
        metavar="FILE",
        multiple=True,
        type=click.Path(),
        help="Resource types that count too (kind ResourceTypes); may be given more than once.",
    ),
    *_LIVE_CLUSTER,
    TOKEN_FILE_OPTION,
    CA_OPTION,
)
_OUTPUT: Final = (
    click.option("--exit-zero", is_flag=True, help="Exit with 0 also when the answer is no."),
    click.option("--no-color", is_flag=True, help="No colours (NO_COLOR does the same)."),
    click.option(
        "--width",
        type=click.IntRange(WIDTH_MIN, WIDTH_MAX),
        default=None,
        metavar="COLUMNS",
        help="Columns of text output.",
    ),
    click.option("-q", "--quiet", is_flag=True, help="No notes and no progress on stderr."),
)


def _output_option(formats: Sequence[str]) -> Callable[[Callable[..., int]], Callable[..., int]]:
    return click.option(
        "-o",
        "--output",
        type=click.Choice(formats),
        default="table",
        show_default=True,
        metavar="FORMAT",
        help=f"Output format: {', '.join(formats)}.",
    )


def asks(
    function: Callable[..., "Answer"],
    formats: Sequence[str] = FORMATS,
    ledger: Callable[..., Any] | None = LEDGER_OPTION,
) -> Callable[..., int]:
    """Give a command the options of a question; it is called with `asked` first.

    Promises count in every question; who asks for the cluster as it is has no option for their `ledger`.
    """

    @wraps(function)
    def command(**options: Any) -> "Answer":
        from ullage.service.asked import Asked

        reach(options)
        live = {name: options.pop(name) for name in LIVE_OPTIONS}
        quiet = options.pop("quiet")
        cluster = _meant(options.pop("cluster"), [name for name in live if live[name]], quiet=quiet)
        namespace = options.pop("namespace")
        asked = Asked(
            cluster,
            options.pop("policy"),
            "" if options.pop("all_namespaces") else namespace,
            options.pop("selector"),
            options.pop("types"),
            **(live if cluster == LIVE else {}),
            ledger=ledger_meant(options.pop("ledger"), cluster) if ledger else "",
        )
        with progress(f"reading {cluster or 'the current kube context'}", quiet=quiet):
            return function(asked=asked, **options)

    printed = prints(command, wants_quiet=True, formats=formats)
    for option in reversed((*_CLUSTER, *([ledger] if ledger else []))):
        printed = option(printed)
    return printed


def of_live_cluster(function: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options that say which live cluster is meant, and as whom it is read."""
    for option in reversed(_LIVE_CLUSTER):
        function = option(function)
    return function


def _meant(cluster: str, live: list[str], *, quiet: bool) -> str:
    """Return the cluster that is meant: options of live clusters mean one, unless -c names another."""
    if not live or cluster == LIVE:
        return cluster
    if not cluster or _source("cluster") is click.core.ParameterSource.ENVIRONMENT:
        return LIVE
    if not quiet:
        names = ", ".join(f"--{name.removesuffix('_user')}" for name in live)
        click.echo(f"{_program()}: note: {names} matters to a live cluster only", err=True)
    return cluster


def prints(
    function: Callable[..., "Answer"], *, wants_quiet: bool = False, formats: Sequence[str] = FORMATS
) -> Callable[..., int]:
    """Give a command the options of output; it returns an answer, which is printed."""

    @wraps(function)
    def command(**options: Any) -> int:
        shown = {name: options.pop(name) for name in ("output", "exit_zero", "no_color", "width")}
        quiet = options.pop("quiet")
        answer = function(**options, quiet=quiet) if wants_quiet else function(**options)
        if answer.is_document and _is_default("output"):
            shown["output"] = answer.document_format
        show(answer, shown["output"], no_color=shown["no_color"], width=shown["width"])
        if shown["output"] in {"json", "yaml"} and not quiet:
            for note in answer.notes:
                click.echo(f"{_program()}: note: {_one_line(note)}", err=True)
        return EXIT_YES if answer.yes or shown["exit_zero"] else EXIT_NO

    for option in reversed(_OUTPUT):
        command = option(command)
    return _output_option(formats)(command)


def _one_line(text: str) -> str:
    from ullage.render.visible import visible

    return " ".join(visible(text).split())


def is_typed(option: str) -> bool:
    """Whether an option stands on the command line itself."""
    return _source(option) is click.core.ParameterSource.COMMANDLINE


def _is_default(option: str) -> bool:
    return _source(option) is click.core.ParameterSource.DEFAULT


def _source(option: str) -> click.core.ParameterSource | None:
    """Return where the value of an option comes from: the command line, the environment, a default."""
    return click.get_current_context().get_parameter_source(option)


def show(answer: "Answer", output: str, *, no_color: bool, width: int | None) -> None:
    """Write an answer to standard output in the wanted format."""
    if output in {"json", "yaml"}:
        from ullage.render.json_text import to_json, to_yaml

        between = "" if output == "json" else "---\n"
        write = to_json if output == "json" else to_yaml
        text = between.join(write(each) for each in answer.documents(output))
        click.echo(text.encode(), nl=False)
        return
    if output == JUNIT and answer.suite is not None:
        from ullage.render.junit import render as render_junit

        click.echo(render_junit(answer.suite()).encode(), nl=False)
        return
    from ullage.render import render

    build = answer.shortened if output == "table" and answer.shortened is not None else answer.page
    page = _under_our_name(build())
    if output not in {"table", "wide"}:
        shown = _without_wide_columns(page) if output == "html" else page
        if output == "csv" and page.main_table is None:
            shown = _with_table(page)
        click.echo(render(shown, None, output).encode(), nl=False)
        return
    terminal = sys.stdout.isatty()
    color = terminal and not no_color and not os.environ.get("NO_COLOR")
    columns = width or columns_of_output()
    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    text = render(page, None, output, width=columns, color=color, unicode=unicode)
    click.echo(text, nl=False, color=color)


def _program() -> str:
    """Return what this program was called, perhaps `kubectl ullage`."""
    return click.get_current_context().find_root().info_name or "ullage"


def _under_our_name(page: "Page") -> "Page":
    """Return the page with its next command as people call this program: perhaps `kubectl ullage`."""
    if not page.next_command.startswith("ullage "):
        return page
    import msgspec

    following = reached_again(page.next_command).removeprefix("ullage")
    return msgspec.structs.replace(page, next_command=_program() + following)


def _without_wide_columns(page: "Page") -> "Page":
    """Return the page with the columns that are shown unless more are asked for: pages have a width too."""
    import msgspec

    from ullage.render.view import Table

    def narrowed(table: Table) -> Table:
        kept = [number for number, column in enumerate(table.columns) if not column.wide_only]
        columns = tuple(table.columns[number] for number in kept)
        rows = tuple(tuple(row[number] for number in kept) for row in table.rows)
        return msgspec.structs.replace(table, columns=columns, rows=rows)

    blocks = tuple(narrowed(block) if isinstance(block, Table) else block for block in page.blocks)
    return msgspec.structs.replace(page, blocks=blocks)


def _with_table(page: "Page") -> "Page":
    """Return a page of bars or findings with the same as a table, for CSV."""
    import msgspec

    from ullage.render.view import Bars, Cell, Column, Findings, Table

    def table_of(findings: Findings) -> Table:
        names = ("severity", "subject", "message", "remedy")
        rows = tuple(tuple(Cell(getattr(row, name)) for name in names) for row in findings.rows)
        return Table(findings.title, tuple(Column(name) for name in names), rows)

    tables = [block.table for block in page.blocks if isinstance(block, Bars)]
    tables += [table_of(block) for block in page.blocks if isinstance(block, Findings)]
    return msgspec.structs.replace(page, blocks=tuple(tables))


def columns_of_output() -> int:
    """Return how wide the output is: the terminal, else $COLUMNS, else a width that suits a file."""
    if sys.stdout.isatty():
        return max(WIDTH_MIN, shutil.get_terminal_size().columns)
    given = os.environ.get("COLUMNS", "")
    wanted = int(given) if given.isdecimal() and len(given) < 5 else WIDTH_WITHOUT_TERMINAL
    return max(WIDTH_MIN, wanted)
