"""YAML text to plain values: text, whole numbers, booleans, None, lists, and mappings with text as keys.

The hard thing: libyaml is fast but trusts its input, and PyYAML's constructor above it is slow and knows no
limits. So values are built here, straight from libyaml's events, in one loop with its own stack: depth,
aliases and size are bounded while reading, and nothing recurses.

Scalars follow YAML 1.1 as Kubernetes' loader reads it (`yes`, `no`, `on`, `off` are booleans, 0755 is octal,
keys become text), with three deliberate differences, each of which keeps what the user wrote:
- a number with a fraction or an exponent stays the text it was written as (`2.50`, `1e3`), a plain `str`, so
  that a quantity is read from it exactly; `msgspec.convert(..., strict=False)` makes a float or an integer
  of it where a record asks for one;
- dates and times, numbers with underscores and base-60 numbers (`12:30`) stay text;
- `y` and `n` stay text.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, NoReturn

from yaml import CSafeLoader, YAMLError
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
