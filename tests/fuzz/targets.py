"""What is fuzzed: one function per parser, from bytes to nothing, that may raise InputError and nothing else.

A new parser gets a function here with the decorator and a few inputs to begin with. Its module is
imported inside the function, so that a run loads nothing else and the module can be instrumented first.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

Run = Callable[[bytes], None]


class Target(NamedTuple):
    """A parser under test and the inputs its fuzzing begins with."""

    run: Run
    seeds: Sequence[bytes]


TARGETS: dict[str, Target] = {}


def target(*seeds: bytes) -> Callable[[Run], Run]:
    """Enter a function into the list of targets under its name, with dashes."""

    def enter(run: Run) -> Run:
        TARGETS[run.__name__.replace("_", "-")] = Target(run, seeds)
        return run

    return enter


@target(
    b"kind: Pod\nspec: {containers: [{name: a, resources: {requests: {cpu: 2.50, memory: 1Gi}}}]}\n",
    b"a: &a [x, y]\nb: &b [*a, *a]\nc: [*b, *b]\n---\n<<: {on: 0755, ~: 1e3}\n",
    b"base: &b {x: 1}\nd: {<<: [*b, {y: 2}], x: 3}\n",
    b"? !!int 0x1F\n: |\n  text\n - 'q'\n- \"\\u00e9\\n\"\n\tx: >-\n",
    b"a: 1\na: 2\n---\n...\n%TAG ! tag:x,2000:\n--- !x {b}\n",
    b"- - - - - [[[[[{a: [b, {c: d}]}]]]]]\n",
)
def yaml_documents(data: bytes) -> None:
    """Any text as YAML, small limits, so that each of them is met."""
    from ullage.sources.limits import Limits
    from ullage.sources.yaml_places import find_place
    from ullage.sources.yaml_text import iter_yaml_values

    limits = Limits(depth_max=8, yaml_nodes_max=300, yaml_aliases_max=10, yaml_text_characters_max=200)
    for index, value in iter_yaml_values(data, "f.yaml", limits):
        path = [next(iter(value))] if isinstance(value, dict) and value else [0]
        find_place(data, index, tuple(path))


class Record(msgspec.Struct):
    """A record with the shapes that Kubernetes' objects have."""

    name: str = ""
    sizes: dict[str, int | str] = {}
    on: bool = False
    items: list["Record"] = []


RECORD = msgspec.json.Decoder(Record)


@target(
    b'{"kind": "List", "items": [{"name": "a", "sizes": {"x": 1, "y.z/w": "2Gi"}, "on": true}]}',
    b'{"name": "a"}\n{"name": "b", "sizes": {"x": []}}\n[null, 1.5e3, -0]',
    b'\xef\xbb\xbf {"name": "\\ud83d\\ude00\\n", "name": 2}',
    b'{"items": [{"items": [{"items": [[[[{"name": 1}]]]]}]}]}',
    b'{"items": [{"name": "a"}, {"name": "tru',
    b"name: a\nsizes: {x: 1}\nitems:\n- name: 5\n",
)
def documents(data: bytes) -> None:
    """Any text as documents of a typed record, JSON or YAML by its content."""
    from ullage.sources.documents import documents_of

    for document in documents_of(data, "f"):
        document.reject_duplicate_keys()
        document.decode(RECORD)


@target(
    b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xab\xae\x05\0\x43\xbf\xa6\xa3\x02\0\0\0", b"{}", b"a: 1", b"\xff\xfea\0"
)
def input_streams(data: bytes) -> None:
    """Any bytes as standard input, compressed or not."""
    import io

    from ullage.sources.documents import read_documents
    from ullage.sources.limits import Limits

    limits = Limits(file_bytes_max=100_000, documents_max=50)
    for _ in read_documents("-", limits=limits, stdin=io.BytesIO(data)):
        pass
