"""What if this were asked for: a manifest or a shape, where it goes, who pays, who is evicted, or why not.

The manifest is the body of the work, which is standard input to the question.
"""

import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ullage.service.fit import FitQuestion, fit
from ullage.web.pages.answers import answered
from ullage.web.pages.kept import kept_status
from ullage.web.pages.links import Links
from ullage.web.pages.shell import draw, shell_of, terminal

if TYPE_CHECKING:
    from ullage.render.view import Page
    from ullage.service.asked import Asked

MANIFEST_BYTES_MAX: Final = 1 << 20
REPLICAS_DIGITS_MAX: Final = 6
SENT: Final = "csrf"
"""A field that every form has which was sent: without it, somebody has only come to the page."""
NOTHING_ASKED: Final = (
    "Nothing was asked yet: paste a manifest or drop a file on the box, "
    "or write a shape such as cpu=4,memory=8Gi"
)
EXAMPLE: Final = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: api
spec:
  replicas: 3
  selector:
    matchLabels: {app: api}
  template:
    metadata:
      labels: {app: api}
    spec:
      containers:
      - name: api
        image: api
        resources:
          requests: {cpu: "2", memory: 8Gi}
"""


def page(asked: "Asked", parameters: Mapping[str, str], body: bytes) -> bytes:
    """Return the form, and below it the answer where something was asked."""
    shell = shell_of(parameters)
    snapshot, report = kept_status(asked)
    namespace = parameters.get("namespace", "").strip()
    asking = msgspec.structs.replace(asked, namespace=namespace)
    question = question_of(parameters, body)
    found, answer, problem = answered(lambda: fit(asking, question)) if question else (None, None, "")
    told = answer.data() if answer else {"outcomes": ()}
    sums = first_sum(found) if found else -1
    if question is None and SENT in parameters:
        problem = NOTHING_ASKED
    return draw(
        "what_if",
        shell,
        links=Links(
            shell,
            snapshot,
            {"each asks for": "#sums" if sums >= 0 else "#verdict", "nodes": "#verdict"},
            "#verdict",
        ),
        sums=sums,
        report=report,
        page=found,
        problem=problem,
        fits=answer is not None and answer.yes,
        places=tuple(places_of(told)),
        nobody_pays=bool(told["outcomes"]) and len(snapshot.quotas) > 0 and not told.get("payers"),
        manifest=body.decode(errors="replace"),
        is_manifest=bool(body.strip()),
        shape=parameters.get("shape", ""),
        replicas=parameters.get("replicas", ""),
        namespace=namespace,
        namespaces=sorted({name for quota in snapshot.quotas for name in quota.namespaces}),
        atomic=bool(parameters.get("atomic")),
        waiting=report.workloads.get("init", 0),
        example=EXAMPLE,
        bytes_max=MANIFEST_BYTES_MAX,
        command=terminal(shell, command_words(question, namespace)),
    )


def question_of(parameters: Mapping[str, str], body: bytes) -> FitQuestion | None:
    """Return what is asked; nothing where nobody has filled in the form."""
    shape = parameters.get("shape", "").strip()
    replicas = parameters.get("replicas", "").strip()
    count = int(replicas) if replicas.isdecimal() and len(replicas) <= REPLICAS_DIGITS_MAX else None
    if body.strip():
        paths: tuple[str, ...] = ("-",)
        shape = ""
    elif shape:
        paths = ()
    elif parameters.get("waiting"):
        return FitQuestion()
    else:
        return None
    return FitQuestion(paths, shape, count, atomic=bool(parameters.get("atomic")))


def first_sum(page: "Page") -> int:
    """Return the place of the first block with the arithmetic of a node; -1 where there is none."""
    return next((place for place, block in enumerate(page.blocks) if " on node " in block.title), -1)


def command_words(question: FitQuestion | None, namespace: str) -> str:
    """Return the command that asks the same; a manifest is a file there."""
    words = ["fit"]
    if question is None or question.paths:
        words += ["-f", "MANIFEST"]
    elif question.shape:
        words += ["--shape", shlex.quote(question.shape)]
    if question and question.replicas is not None:
        words += ["--replicas", str(question.replicas)]
    if question and question.atomic:
        words.append("--atomic")
    if namespace:
        words += ["-n", shlex.quote(namespace)]
    return " ".join(words)


def places_of(report: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """Yield each workload that is placed: its name, and its nodes with how many go there."""
    for outcome in report["outcomes"]:
        nodes = [(each["node"], each["replicas"]) for each in outcome["nodes"]]
        if nodes:
            yield outcome["workload"], nodes
