"""The entry of the command line: finding the command, and turning whatever happens into an exit code.

Commands are imported when they are called, so that help and completions wait for nothing. Exit codes: 0 yes,
1 error (usage errors too), 2 "the answer is no".
"""

import os
import sys
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

import click

from ullage import __version__
from ullage.cli.groups import LazyGroup
from ullage.model.errors import InputError

EXIT_YES: Final = 0
EXIT_ERROR: Final = 1
EXIT_NO: Final = 2
EXIT_INTERRUPTED: Final = 130
COMPLETE_VARIABLE: Final = "_ULLAGE_COMPLETE"

COMMANDS: Final = MappingProxyType(
    {
        "status": "How full the cluster is, and what is wrong with it.",
        "fit": "Does it fit, where, and if not: why, and what would help.",
        "headroom": "How many more of a shape or a workload fit, and what binds.",
        "check": "What is wrong, and what breaks when nodes or drives are lost.",
        "balance": "Moves that make it more even or empty nodes, in order, with gain.",
        "buy": "The cheapest nodes from a catalog with which everything fits.",
        "htools": "Ganeti's tools (hbal, hspace, hcheck, hail, ...), line by line.",
        "quota": "Shares of teams: borrowed, lent, at risk, audited, replayed.",
        "disks": "Local disks: what they have, and what of it can be had.",
        "ledger": "What is promised, to whom, until when; and whether that is so.",
        "usage": "What is really used, against what was asked for; and recording it.",
        "advise": "Over-commitment and right sizes, from what is really used.",
        "forecast": "When room runs out, as an interval tried on the past.",
        "explain": "Every number behind a node, a pod, a quota or a resource.",
        "inspect": "What this host (or others, over SSH) can give.",
        "policy": "Show, set and check the rules that apply.",
        "snapshot": "Save, show, edit and compare clusters as files.",
        "schema": "The JSON Schema of our documents.",
        "serve": "All of this over HTTP, and as a page.",
        "token": "Who may ask a server from elsewhere, and how far they may go.",
        "kube": "On Kubernetes: install, and the processes that run there.",
        "demo": "A guided tour on a built-in cluster.",
        "completion": "Completions for bash, zsh and fish.",
        "version": "The version of this program.",
    }
)
"""Every command with its line of help; the module of the same name in this folder holds it."""


class RootGroup(LazyGroup):
    """All commands."""

    package = "ullage.cli"
    table = COMMANDS

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """End with something to try, under the name that was typed."""
        formatter.write_paragraph()
        formatter.write_text(f"Try: {context.command_path} status -c demo")


@click.group(
    cls=RootGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, "--version", message="%(prog)s %(version)s")
def root() -> None:
    """How much room a cluster has, who may use it, where things go and what breaks.

    Reads only: works on a kubectl dump and needs nothing installed on the cluster.

    Exit codes: 0 yes, 1 error, 2 the answer is no.
    """


def program_name(called: str) -> str:
    """Return the name people typed: kubectl calls plugins kubectl-ullage for `kubectl ullage`."""
    name = os.path.basename(called)  # noqa: PTH119 - pathlib would cost start-up time
    return "kubectl ullage" if name.startswith("kubectl-") else "ullage"


def run(arguments: Sequence[str], called: str = "ullage") -> int:
    """Run one command line and return its exit code; every expected failure is one line on stderr."""
    name = program_name(called)
    try:
        with root.make_context(name, list(arguments)) as context:
            result = root.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        return _fail(name, _usage(error))
    except InputError as error:
        return _fail(name, str(error))
    except BrokenPipeError:
        # The reader went away (head, less): nothing is wrong and nothing is left to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_YES
    except OSError as error:
        return _fail(name, f"{error.filename or 'system'}: {error.strerror or error}")
    except Exception as error:  # the last line of defence
        if os.environ.get("ULLAGE_TRACEBACK"):
            raise
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        return _fail(
            name,
            f"this is a defect of ullage {__version__}: {what}; "
            "please report it with the output of the same command under ULLAGE_TRACEBACK=1",
        )
    return result if isinstance(result, int) else EXIT_YES


def _usage(error: click.ClickException) -> str:
    """Return a usage error in our form: no capital, no full stop, and where to read on."""
    message = error.format_message().strip().removesuffix(".")
    message = message[:1].lower() + message[1:] if message[1:2].islower() else message
    context = getattr(error, "ctx", None)
    if context is None or message.endswith("?"):
        return message
    return f"{message}; see `{context.command_path} --help`"


def _fail(name: str, message: str) -> int:
    line = " ".join(message.split())
    printable = "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in line)
    click.echo(f"{name}: error: {printable}", err=True)
    return EXIT_ERROR


def main() -> None:
    """Run the command line of this process."""
    if COMPLETE_VARIABLE in os.environ:
        root.main(prog_name="ullage", complete_var=COMPLETE_VARIABLE)
    sys.exit(run(sys.argv[1:], sys.argv[0]))
