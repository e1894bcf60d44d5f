"""What the commands `install` and `uninstall` do: text to print, or a cluster that is changed."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import msgspec

from ullage import __version__
from ullage.kube.install.choices import Choices
from ullage.kube.install.objects import objects
from ullage.kube.install.text import json_text, yaml_text
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.render import view
from ullage.service.answer import Answer, versioned

if TYPE_CHECKING:
    from ullage.kube.install.applying import Done
    from ullage.sources.kubernetes.api.client import ApiClient

Result = TypeVar("Result")
_TONES: Final[dict[str, view.Tone]] = {
    "created": "ok",
    "changed": "warn",
    "unchanged": "muted",
    "kept": "muted",
    "deleted": "warn",
    "keep": "muted",
    "delete": "warn",
}
_PLANNED: Final = {"kept": "keep", "deleted": "delete"}
"""What is said of what has not been done yet."""


class Target(NamedTuple):
    """Which cluster, and as whom."""

    context: str = ""
    kubeconfig: str = ""
    as_user: str = ""


class ObjectDone(Record, frozen=True):
    """What became of one object."""

    action: str
    kind: str
    name: str
    namespace: str = ""
    note: str = ""


class Installation(Record, frozen=True):
    """The answer to `ullage kube install --apply` and `ullage kube uninstall`."""

    cluster: str
    version: str
    applied: bool
    objects: tuple[ObjectDone, ...] = ()


def documents_text(choices: Choices, form: str) -> str:
    """Return the objects of an installation as YAML or JSON."""
    made = objects(choices)
    return json_text(made) if form == "json" else yaml_text(made)


def install(choices: Choices, target: Target) -> Answer:
    """Put an installation on a cluster, and answer what was changed."""
    made = objects(choices)

    async def work(client: "ApiClient") -> "list[Done]":
        from ullage.kube.install.applying import apply_objects

        return await apply_objects(client, made)

    name, done = _on_cluster(target, work)
    report = Installation(name, __version__, applied=True, objects=_written(done))
    verdict = f"ullage {__version__} is installed in {choices.namespace}: {_counted(report)}"
    return _answer(report, view.Verdict(verdict, "yes"), "ullage quota list")


def uninstall(target: Target, *, apply: bool, purge: bool) -> Answer:
    """Take an installation off a cluster, or answer what that would delete."""

    async def work(client: "ApiClient") -> "list[Done]":
        from ullage.kube.install.removing import removal, remove

        planned = await removal(client, purge=purge)
        if apply:
            await remove(client, planned)
        return planned

    name, done = _on_cluster(target, work)
    report = Installation(name, __version__, applied=apply, objects=_written(done, applied=apply))
    if not done:
        return _answer(report, view.Verdict("nothing that ullage kube install made is there"), "")
    if apply:
        return _answer(report, view.Verdict(f"ullage is uninstalled: {_counted(report)}", "yes"), "")
    told = f"nothing is deleted without --apply: {_counted(report)}"
    again = "ullage kube uninstall --apply" + (" --purge" if purge else "")
    return _answer(report, view.Verdict(told, "info"), again)


def _on_cluster(target: Target, work: Callable[..., Awaitable[Result]]) -> tuple[str, Result]:
    """Do something to a cluster; raises an InputError about whatever goes wrong."""
    from ullage.sources.kubernetes.kubeconfig import find_access

    try:
        from ullage.sources.kubernetes.api.client import ApiClient, RefusedError
        from ullage.sources.kubernetes.api.connection import BrokenError
    except ModuleNotFoundError as missing:
        raise InputError(
            f"a live cluster needs {missing.name}, which is not installed",
            remedy="install ullage[kube], or pipe the objects into kubectl apply -f -",
        ) from None
    access = find_access(target.context, target.kubeconfig)
    if target.as_user:
        user = msgspec.structs.replace(access.user, impersonate=target.as_user)
        access = access._replace(user=user)

    async def run() -> Result:
        client = ApiClient(access)
        try:
            return await work(client)
        finally:
            await client.close()

    try:
        return access.name, asyncio.run(run())
    except RefusedError as refused:
        remedy = "use a cluster administrator's context" if refused.status in {401, 403} else "see kubectl"
        raise InputError(str(refused), where=access.name, remedy=remedy) from None
    except BrokenError as broken:
        raise InputError(
            f"the API server cannot be reached: {broken}",
            where=access.name,
            remedy="check the server in the kubeconfig",
        ) from None


def _written(done: "list[Done]", *, applied: bool = True) -> tuple[ObjectDone, ...]:
    words = {} if applied else _PLANNED
    return tuple(
        ObjectDone(
            words.get(each.action, each.action),
            each.object.kind,
            each.object.name,
            each.object.namespace,
            each.note,
        )
        for each in done
    )


def _counted(report: Installation) -> str:
    counts = Counter(each.action for each in report.objects)
    return ", ".join(f"{counts[action]} {action}" for action in _TONES if counts[action])


def _answer(report: Installation, verdict: view.Verdict, next_command: str) -> Answer:
    def page() -> view.Page:
        columns = tuple(view.Column(name) for name in ("what", "kind", "namespace", "name", "note"))
        rows = tuple(
            (
                view.Cell(each.action, tone=_TONES[each.action]),
                *(view.Cell(text) for text in (each.kind, each.namespace, each.name, each.note)),
            )
            for each in report.objects
        )
        return view.Page(
            title="Installation",
            verdict=verdict,
            blocks=(view.Table("Objects", columns, rows),) if rows else (),
            next_command=next_command,
            about=f"cluster {report.cluster}",
        )

    return Answer(page, lambda: versioned("Installation", report, ResourceTypes()))
