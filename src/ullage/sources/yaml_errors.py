"""libyaml's complaints in our own words: what is wrong on which line, and what usually mends it.

The hard thing: libyaml says what its grammar missed ("did not find expected key"), which is seldom what the
author did wrong; the table below names the usual cause.
"""

from typing import Final

from yaml import MarkedYAMLError, YAMLError
from yaml.reader import ReaderError

from ullage.model.errors import InputError
from ullage.sources.places import line_and_column

_TAB_PROBLEMS: Final = frozenset(
    {
        "found character that cannot start any token",
        "found a tab character that violates indentation",
        "found a tab character where an indentation space is expected",
        "found a tab character where an indentation space is expected in a block scalar",
    }
)
_REMEDIES: Final = {
    "mapping values are not allowed in this context": "quote text that holds a colon, and indent with care",
    "did not find expected key": "indent the line like its neighbours",
    "did not find expected '-' indicator": "indent the line like its neighbours",
    "did not find expected ',' or ']'": "close the list with ]",
    "did not find expected ',' or '}'": "close the mapping with }",
    "could not find expected ':'": "write key: value",
    "found unexpected end of stream": "close the quote; was the file cut off?",
    "found character that cannot start any token": "put text that begins with such a character in quotes",
    "found undefined tag handle": "remove the tag: values are text, numbers, lists and mappings",
}


def malformed(error: YAMLError, data: bytes, source: str) -> InputError:
    """The InputError for text that is no YAML."""
    if isinstance(error, ReaderError):
        line, column = line_and_column(data, error.position)
        return InputError(
            f"character U+{int(error.character):04X} is not allowed in YAML",
            where=f"{source}:{line}:{column}",
            remedy="remove it, or escape it in double quotes",
        )
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        return InputError("malformed YAML", where=source, remedy="correct the file")
    mark, problem = error.problem_mark, str(error.problem)
    where = f"{source}:{mark.line + 1}:{mark.column + 1}"
    if problem in _TAB_PROBLEMS and data.decode("utf-8-sig", "replace")[mark.index : mark.index + 1] == "\t":
        return InputError("a tab where YAML wants spaces", where=where, remedy="indent with spaces")
    remedy = _REMEDIES.get(problem, "correct the line")
    return InputError(f"malformed YAML: {problem}", where=where, remedy=remedy)
