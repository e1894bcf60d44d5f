"""`ullage completion`."""

from typing import Final

import click
from click.shell_completion import get_completion_class

from ullage.cli.main import COMPLETE_VARIABLE, root

_HELP: Final = """Completions for bash, zsh and fish, to be read by the shell.

\b
bash: ullage completion bash > ~/.local/share/bash-completion/completions/ullage
zsh:  ullage completion zsh > "${fpath[1]}/_ullage"
fish: ullage completion fish > ~/.config/fish/completions/ullage.fish
"""

_NAMES: Final = (
    ("-F _ullage_completion ullage", "-F _ullage_completion ullage kubectl-ullage"),
    ("compdef ullage", "compdef ullage kubectl-ullage"),
    ("compdef _ullage_completion ullage", "compdef _ullage_completion ullage kubectl-ullage"),
    ("--command ullage", "--command ullage --command kubectl-ullage"),
)
"""Where click's scripts name the program: the kubectl plugin takes the same words."""


@click.command("completion", help=_HELP)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def command(shell: str) -> int:
    """Write the script that completes our commands."""
    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 - these three are click's own
    script = found(root, {}, "ullage", COMPLETE_VARIABLE)
    text = script.source_template % script.source_vars()
    for one, both in _NAMES:
        text = text.replace(one, both)
    click.echo(text)
    return 0
