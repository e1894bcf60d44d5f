"""`ullage version`."""

import platform

import click

from ullage import __version__


@click.command("version", help="The version of this program.")
def command() -> int:
    """Say which version this is."""
    click.echo(f"ullage {__version__} (Python {platform.python_version()})")
    return 0
