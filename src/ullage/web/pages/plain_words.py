"""What the command line says, in the words of a page: there are no options here, but boxes to fill in.

Messages are made once for every face, and name options and standard input. On a page the manifest is what
stands in the box, and whatever else an option is called is what its field is called.
"""

import re
from typing import Final

_PLACES: Final = {
    "-f": "the manifest",
    "--shape": "the shape",
    "--replicas": "replicas",
    "-n": "the namespace",
    "--namespace": "the namespace",
    "--moves-max": "moves",
}
"""What an option is called on a page where a message begins with it; others are left out."""
_BEGINNING: Final = re.compile(r"^(?P<option>--?[a-z][a-z-]*): (?=\S)")
_LINE: Final = re.compile(r"\bstandard input:(?P<line>\d+)(?::\d+)?(?=[:;,\s]|$)")
_WORDS: Final = (
    (re.compile(r"\bstandard input\b"), "the manifest"),
    (re.compile(r"\bask about workloads with -f FILE or --shape "), "paste a manifest, or write a shape: "),
    (re.compile(r"\bname workloads with -f\b"), "paste a manifest that names workloads"),
    (re.compile(r"\bname a file with a pod template\b"), "paste one with a pod template"),
    (re.compile(r"\bname a manifest or a WorkloadSet\b"), "paste a manifest or a WorkloadSet"),
    (re.compile(r"; was the dump cut off\? run kubectl again"), "; paste all of it"),
    (re.compile(r"(?<![\w-])-f FILE\b"), "a manifest"),
    (re.compile(r"(?<![\w-])-f(?![\w-])"), "a manifest"),
    (re.compile(r"(?<![\w-])--shape (?=\S+=)"), "the shape "),
    (re.compile(r"(?<![\w-])--shape\b"), "a shape"),
    (re.compile(r"(?<![\w-])--commit\b"), "committing"),
    (re.compile(r"[;,]? --weight TERM=NUMBER weighs a term"), ""),
    (re.compile(r"--moves-max N goes on"), "allow more of them to go on"),
    (re.compile(r"no move is looked for \(--moves-max 0\)"), "no move is looked for"),
    (re.compile(r"as check --nodes-lost 1 judges"), "as What breaks judges"),
    (re.compile(r"--placement preferences weighs it, and takes longer"), "a terminal can weigh it"),
    (re.compile(r"\s*-o (?:wide|json|yaml) (?:shows|has) all"), " the command below tells all"),
    (re.compile(r"\(ullage advise ratio\)"), "(Usage, Advice on ratios)"),
    (re.compile(r"\bullage advise requests\b"), "Advice on requests"),
    (re.compile(r"record it with `ullage usage observe`, or name a --usage that has it"), "have it observed"),
    (re.compile(r"\bask ullage fit why\b"), "What if tells why"),
    (re.compile(r"/openapi\.json lists what there is"), "the menu leads to every page"),
    (re.compile(r"--by finding shows all"), "the command below tells all"),
)


def in_plain_words(text: str) -> str:
    """Return a message as a page says it: `the manifest, line 2: …` for `standard input:2:1: …`."""
    text = _LINE.sub(r"the manifest, line \g<line>", text)
    text = _BEGINNING.sub(_place, text)
    for pattern, words in _WORDS:
        text = pattern.sub(words, text)
    return text.strip()


def _place(match: re.Match[str]) -> str:
    words = _PLACES.get(match["option"], "")
    return f"{words}: " if words else ""
