"""How a server is started: what the command line says, checked."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from ullage.model.errors import InputError

LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
REFRESH_SECONDS: Final = 60
WORKERS: Final = 2
OBSERVE_SECONDS: Final = 60
STOP_SECONDS: Final = 20
CLUSTERS_MAX: Final = 1000
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?")
_LIVE: Final = "kube"
_LOOPBACK_NET: Final = re.compile(r"127\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}")


class Listed(NamedTuple):
    """A cluster that the command line names, where it is read from, and in which kube context."""

    name: str
    source: str
    context: str = ""


class Watched(NamedTuple):
    """A source of use, and the cluster of the command line that it is of."""

    name: str
    source: str


class Settings(NamedTuple):
    """All that a server is told; a `refresh_seconds` of 0 reads a source once.

    Use is read every `observe_seconds`; 0 records nothing, not even what is committed.
    """

    folder: Path
    clusters: tuple[Listed, ...] = ()
    kubeconfig: str = ""
    as_user: str = ""
    types: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int = 8480
    refresh_seconds: int = REFRESH_SECONDS
    workers: int = WORKERS
    store: Literal["sqlite", "kube"] = "sqlite"
    needs_token: bool = False
    tls_certificate: str = ""
    tls_key: str = ""
    stop_seconds: int = STOP_SECONDS
    logs_requests: bool = False
    usage: tuple[Watched, ...] = ()
    observe_seconds: int = OBSERVE_SECONDS

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in LOOPBACK or _LOOPBACK_NET.fullmatch(self.host) is not None

    @property
    def has_tls(self) -> bool:
        """Whether what is said is hidden from others on the way."""
        return bool(self.tls_certificate)


def settings_of(
    clusters: Sequence[str],
    listen: str,
    data: str,
    *,
    tls_cert: str = "",
    tls_key: str = "",
    require_token: bool = False,
    log_requests: bool = False,
    usage: Sequence[str] = (),
    **more: Any,
) -> Settings:
    """Return the settings that a command line means."""
    listed = tuple(_listed(each) for each in clusters)
    names = [each.name for each in listed]
    if len(listed) > CLUSTERS_MAX:
        raise InputError(f"{len(listed)} clusters are named", remedy=f"serve at most {CLUSTERS_MAX} at once")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two clusters are called {name}", where="-c", remedy="write -c NAME=SOURCE")
    if tls_key and not tls_cert:
        raise InputError("a key without a certificate", where="--tls-key", remedy="give --tls-cert too")
    host, port = _address(listen)
    return Settings(
        data_folder(data),
        listed,
        host=host,
        port=port,
        needs_token=require_token,
        tls_certificate=tls_cert,
        tls_key=tls_key,
        logs_requests=log_requests,
        usage=_watched(usage, listed),
        **more,
    )


def data_folder(named: str) -> Path:
    """Return the folder of a server's state: the one that is named, else one of the user's own."""
    if named:
        return Path(named)
    data = os.environ.get("XDG_DATA_HOME", "")
    base = Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share"
    return base / "ullage" / "server"


def _listed(text: str) -> Listed:
    """Return a cluster as it is named: NAME=SOURCE, or a source that gives the name."""
    name, equal, source = text.partition("=")
    if not equal or not _NAME.fullmatch(name):
        name, source = "", text
    kind, _, context = source.partition(":")
    if kind == _LIVE:
        source = kind
    else:
        context = ""
    if not name:
        stem = re.sub(r"[^a-z0-9]+", "-", (context or Path(source).stem).lower()).strip("-")[:63].strip("-")
        name = stem
    if not source or source == "-" or not _NAME.fullmatch(name):
        raise InputError(
            f"{text!r} names no cluster that can be served", where="-c", remedy="write -c NAME=SOURCE"
        )
    return Listed(name, source, context)


def _watched(named: Sequence[str], clusters: Sequence[Listed]) -> tuple[Watched, ...]:
    """Return the source of use of each cluster that has one."""
    known = [each.name for each in clusters]
    found: dict[str, Watched] = {}
    for text in named:
        name, equal, source = text.partition("=")
        if not equal or name not in known:
            name, source = known[0] if len(known) == 1 else "", text
        if not name:
            raise InputError(
                f"{text!r} is of no cluster of {', '.join(known) or 'the command line'}",
                where="--usage",
                remedy="name clusters with -c, and write --usage NAME=SOURCE",
            )
        if not source or source == "-":
            raise InputError(
                f"{text!r} names no source of use",
                where="--usage",
                remedy="use metrics, prometheus:URL, host or FILE.csv",
            )
        if name in found:
            raise InputError(
                f"cluster {name} has two sources of use", where="--usage", remedy="name one for each cluster"
            )
        found[name] = Watched(name, source)
    return tuple(found.values())


def _address(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) <= 65535):
        raise InputError(f"{listen!r} is no address", where="--listen", remedy="write PORT or HOST:PORT")
    return host or "127.0.0.1", int(port)
