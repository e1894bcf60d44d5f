"""`ullage schema`."""

from typing import TYPE_CHECKING

import click

from ullage.cli.options import prints

if TYPE_CHECKING:
    from ullage.service.answer import Answer


@click.command("schema", help="The JSON Schema of our documents; without KIND, which there are.")
@click.argument("kind", default="", metavar="[KIND]")
@prints
def command(kind: str) -> "Answer":
    """Write a schema, or list them."""
    from ullage.service.schema import list_schemas, schema

    return schema(kind) if kind else list_schemas()
