"""Command lines as Ganeti's tools take them: options anywhere, bundled, shortened as far as they are clear.

The hard thing is values that may be left out: these are given without a space (-Cfile, --opt=value), since
the next word would be an argument.
"""

from collections.abc import Sequence
from typing import Any, Final

from ullage import __version__
from ullage.model.errors import InputError
from ullage.service.htools.option_table import Option, options_of
from ullage.service.htools.options import Options, Printed

USAGE_ERROR: Final = 2
VALUE_ERROR: Final = 1


class _UsageError(Exception):
    """A command line that is not one."""


class _RefusedError(Exception):
    """An option that is known and not served."""


def parse(tool: str, words: Sequence[str]) -> Options | Printed:
    """Return what is asked of a tool, or what to print instead."""
    table = options_of(tool)
    try:
        given, arguments = _split(table, words)
    except _UsageError as error:
        return Printed(stderr=f"Command line error: {error}\n\n{usage(tool)}", code=USAGE_ERROR)
    fields: dict[str, Any] = {"verbose": 1}
    try:
        for option, value in given:
            _set(fields, option, value)
    except _RefusedError as error:
        return Printed(stderr=f"Error: {error}\n", code=VALUE_ERROR)
    except InputError as error:
        text = f"Error while parsing command line arguments:\n{error}\n"
        return Printed(stderr=text, code=VALUE_ERROR)
    if "help" in fields:
        return Printed(usage(tool))
    if "version" in fields:
        return Printed(version(tool))
    if "help-completion" in fields:
        return Printed("".join(f"{','.join(_names(each))} {each.completes}\n" for each in table))
    return Options(tool=tool, arguments=tuple(arguments), **fields)


def _set(fields: dict[str, Any], option: Option, value: str | None) -> None:
    read = option.on if value is None else option.read(value)
    if option.refused:
        if read is not False:
            raise _RefusedError(f"{_names(option)[0]}: {option.refused}")
    elif not option.adds:
        fields[option.field] = read
    elif option.value:
        fields[option.field] = (*fields.get(option.field, ()), read)
    else:
        fields[option.field] += read


def _split(
    table: Sequence[Option], words: Sequence[str]
) -> tuple[list[tuple[Option, str | None]], list[str]]:
    """Return the options in the order given, each with its value, and the arguments."""
    given: list[tuple[Option, str | None]] = []
    arguments: list[str] = []
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        if word == "--":
            arguments.extend(reversed(rest))
            break
        if word.startswith("--"):
            given.append(_long(table, word[2:], rest))
        elif word.startswith("-") and word != "-":
            given.extend(_short(table, word[1:], rest))
        else:
            arguments.append(word)
    return given, arguments


def _long(table: Sequence[Option], word: str, rest: list[str]) -> tuple[Option, str | None]:
    name, equals, value = word.partition("=")
    found = [each for each in table if each.long == name] or [
        each for each in table if each.long.startswith(name)
    ]
    if not found:
        raise _UsageError(f"unrecognized option `--{word}'")
    if len(found) > 1:
        listed = "".join(f"\n  --{each.long:<28} {each.about}" for each in found)
        raise _UsageError(f"option `--{name}' is ambiguous; could be one of:{listed}")
    option = found[0]
    if equals:
        if not option.value:
            raise _UsageError(f"option `--{name}' doesn't allow an argument")
        return option, value
    return option, _next(option, f"--{name}", rest)


def _short(table: Sequence[Option], letters: str, rest: list[str]) -> list[tuple[Option, str | None]]:
    given: list[tuple[Option, str | None]] = []
    for at, letter in enumerate(letters, 1):
        found = [each for each in table if each.short == letter]
        if not found:
            raise _UsageError(f"unrecognized option `-{letter}'")
        option = found[0]
        if option.value and letters[at:]:
            return [*given, (option, letters[at:])]
        given.append((option, _next(option, f"-{letter}", rest)))
    return given


def _next(option: Option, called: str, rest: list[str]) -> str | None:
    """Return the value that follows as a word of its own, where there must be one."""
    if not option.value or option.value.startswith("["):
        return None
    if not rest:
        raise _UsageError(f"option `{called}' requires an argument {option.value}")
    return rest.pop()


def _names(option: Option) -> list[str]:
    return [*([f"-{option.short}"] if option.short else []), f"--{option.long}"]


def usage(tool: str) -> str:
    """Return the help of a tool: its options as a table."""
    rows = []
    for option in options_of(tool):
        optional = option.value.startswith("[")
        inner = option.value.strip("[]")
        short = (
            f"-{option.short}{option.value if optional or not inner else f' {inner}'}" if option.short else ""
        )
        long = f"--{option.long}{f'[={inner}]' if optional else f'={inner}' if inner else ''}"
        rows.append((short, long, option.about))
    first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
    lines = [f"  {short.ljust(first)}  {long.ljust(second)}  {about}" for short, long, about in rows]
    return "\n".join([f"{tool} (ullage) version {__version__}", f"Usage: {tool} [OPTION...]", *lines, ""])


def version(tool: str) -> str:
    """Return the version of a tool."""
    import platform  # for this one question

    python = f"{platform.python_implementation()} {platform.python_version()}"
    return (
        f"{tool} (ullage) version {__version__}\n"
        f"running with {python}\nrunning on {platform.system().lower()} {platform.machine()}\n"
    )
