"""A real Kubernetes control plane for tests, without containers: start, use, stop.

etcd and the API server always run; the scheduler, the controllers and kwok (which plays the kubelets) are
chosen. Rights are real: RBAC judges every user, and only `admin` may do everything. The hard thing is that
tests share one plane: what is not in a namespace (nodes above all) would be seen by the next test, so
`scratch` remembers what was created in it and takes everything back.
"""

import contextlib
import secrets
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from plane import settings
from plane.client import ApiError, Client
from plane.part import Part, PlaneError
from plane.rewinding import Moment
from plane.settings import ADMIN, API, CONTROLLERS, ETCD, KWOK, SCHEDULER

CHOICES = frozenset({SCHEDULER, CONTROLLERS, KWOK})
# Users that a test may give rights to; until then each may do what anyone who is known may, which is little.
USERS: Mapping[str, Sequence[str]] = {"reader": (), "tenant": (), "stranger": ()}
START_TRIES = 3
PORT_TAKEN = "address already in use"
WAIT_SECONDS = 60
POLL_SECONDS_FIRST, POLL_SECONDS_LAST = 0.02, 1.0  # long lists asked for often are load themselves
KEY_SECONDS_MAX = 60


class Plane:
    """A control plane. Use it as a context, or call `start` and `stop`; it can be started anew."""

    def __init__(
        self,
        program: Path,
        parts: Collection[str] = CHOICES,
        *,
        users: Mapping[str, Sequence[str]] = USERS,
        scheduler: Mapping[str, Any] | None = None,
        flags: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """`users` maps names to groups; `flags` adds flags by part; `scheduler` is fields of its settings."""
        self.program = program
        self.parts = frozenset(parts)
        assert self.parts <= CHOICES, f"a plane's choices are {sorted(CHOICES)}"
        groups = {ADMIN: ("system:masters",), **users}
        self._users = {name: (secrets.token_hex(16), tuple(groups[name])) for name in groups}
        self._scheduler = dict(scheduler or {})
        self._flags = dict(flags or {})
        self._running: list[Part] = []
        self._clients: dict[str, Client] = {}
        self._created: list[Mapping[str, Any]] | None = None
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start all parts and return when every one says it is ready."""
        for tries_left in reversed(range(START_TRIES)):
            try:
                self._start()
            except BaseException as error:
                self.stop()
                if not tries_left or not isinstance(error, PlaneError) or PORT_TAKEN not in str(error):
                    raise
            else:
                return

    def stop(self) -> None:
        """Kill every part and remove the folder."""
        for client in self._clients.values():
            client.close()
        self._clients.clear()
        for part in reversed(self._running):
            part.stop()
        self._running.clear()
        self._stack.close()

    def _start(self) -> None:
        temporary = tempfile.TemporaryDirectory(prefix="ullage-plane-", ignore_cleanup_errors=True)
        self.folder = folder = Path(self._stack.enter_context(temporary))
        ports = free_ports()
        self.server = f"https://127.0.0.1:{ports[API]}"
        (folder / "tokens.csv").write_text(settings.tokens(self._users), encoding="utf-8")
        self._write_key()
        peer, self._etcd_port = ports["etcd peer"], ports[ETCD]
        self._run(ETCD, settings.etcd(folder, ports[ETCD], peer), f"http://127.0.0.1:{ports[ETCD]}/health")
        self._running[-1].await_ready()
        self._run(API, settings.api(folder, ports[API], ports[ETCD], self.parts), f"{self.server}/readyz")
        self._running[-1].await_ready()
        admin = self.kubeconfig()
        arguments = {
            SCHEDULER: settings.scheduler(folder, ports[SCHEDULER], admin, self._scheduler),
            CONTROLLERS: settings.controllers(folder, ports[CONTROLLERS], admin, self.parts),
            KWOK: settings.kwok(ports[KWOK], admin),
        }
        for name in sorted(self.parts):
            scheme = "http" if name == KWOK else "https"
            self._run(name, arguments[name], f"{scheme}://127.0.0.1:{ports[name]}/healthz")
        for part in self._running:
            part.await_ready()

    def _run(self, name: str, arguments: Sequence[str], ready: str) -> None:
        whole = [*arguments, *self._flags.get(name, ())]
        self._running.append(Part(self.program, name, whole, self.folder, ready))

    def _write_key(self) -> None:
        """Have the program make the key that service account tokens are signed with."""
        made = subprocess.run([self.program, "key"], capture_output=True, check=True, timeout=KEY_SECONDS_MAX)
        (self.folder / "service-account.key").write_bytes(made.stdout)

    # What users need

    def token(self, user: str = ADMIN) -> str:
        return self._users[user][0]

    def kubeconfig(self, user: str = ADMIN, namespace: str = "default") -> Path:
        """Write a kubeconfig for a user and return its path."""
        path = self.folder / f"kubeconfig-{user}-{namespace}"
        authority = self.folder / "apiserver.crt"
        written = settings.kubeconfig(self.server, authority, user, self.token(user), namespace)
        path.write_text(written, encoding="utf-8")
        return path

    def client(self, user: str = ADMIN) -> Client:
        """Return the API as a user sees it; it lives as long as the plane runs."""
        if user not in self._clients:
            authority = str(self.folder / "apiserver.crt")
            self._clients[user] = Client(self.server, self.token(user), authority)
        return self._clients[user]

    def moment(self) -> Moment:
        """Return what is stored now, to come back to."""
        return Moment(self._etcd_port)

    def process_id(self, part: str) -> int:
        """Return a part's process id, to measure it by."""
        return self._part(part).process.pid

    def stop_part(self, part: str) -> None:
        """Kill a part; what it has stored stays."""
        self._part(part).stop()
        for client in self._clients.values():
            client.close()

    def start_part(self, part: str) -> None:
        """Start a part again that was stopped, and return when it says that it is ready."""
        self._part(part).start()
        self._part(part).await_ready()

    def _part(self, name: str) -> Part:
        return next(running for running in self._running if running.name == name)

    # The API as the admin sees it

    def get(self, path: str) -> Any:
        return self.client().get(path)

    def items(self, path: str) -> list[dict[str, Any]]:
        return self.client().items(path)

    def create(self, document: Mapping[str, Any]) -> Any:
        """Create one object; without a namespace it goes to `default`."""
        return self.create_many([document])[0]

    def _create(self, document: Mapping[str, Any]) -> Any:
        made = self.client().create(document)
        if self._created is not None:
            self._created.append(made)
        return made

    def _wait_until_granted(self, binding: Mapping[str, Any]) -> None:
        """Wait until the API server's own cache of roles has a binding: it answers by that."""
        namespace = binding["metadata"].get("namespace", "")
        role = binding["roleRef"]
        scope = f"namespaces/{namespace}/roles" if role["kind"] == "Role" else "clusterroles"
        rules = self.get(f"/apis/{role['apiGroup']}/v1/{scope}/{role['name']}").get("rules") or []
        rule = next((each for each in rules if each.get("resources")), None)
        users = [each["name"] for each in binding.get("subjects", ()) if each["kind"] == "User"]
        if rule is None or not users:
            return
        asked = {"verb": rule["verbs"][0], "resource": rule["resources"][0], "group": rule["apiGroups"][0]}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "metadata": {},
            "spec": {"user": users[0], "resourceAttributes": {**asked, "namespace": namespace}},
        }
        began = time.monotonic()
        while not self.client().create(review)["status"]["allowed"]:
            if time.monotonic() - began > WAIT_SECONDS:
                raise PlaneError(f"{binding['metadata']['name']} has no effect after {WAIT_SECONDS} s")
            time.sleep(POLL_SECONDS_FIRST)

    def create_many(self, documents: Iterable[Mapping[str, Any]]) -> list[Any]:
        """Create objects, several at a time; the answers come in the order of the documents.

        Bindings are waited for at the end: the role of one may be made after it.
        """
        every = self.client().each(self._create, documents)
        for made in every:
            if made["kind"] in {"RoleBinding", "ClusterRoleBinding"}:
                self._wait_until_granted(made)
        return every

    def delete(self, path: str, *, grace_seconds: int = 0) -> Any:
        return self.client().delete(path, grace_seconds=grace_seconds)

    def patch(self, path: str, change: Any, kind: str = "merge") -> Any:
        return self.client().patch(path, change, kind)

    def wait_for(self, path: str, holds: Callable[[Any], bool], seconds: int = WAIT_SECONDS) -> Any:
        """Return what is at a path as soon as it holds; a part that has died meanwhile is an error."""
        began, pause = time.monotonic(), POLL_SECONDS_FIRST
        while True:
            found = self.get(path)
            if holds(found):
                return found
            for part in self._running:
                part.check()
            if time.monotonic() - began > seconds:
                raise PlaneError(f"{path} is not as expected after {seconds} s: {str(found)[:2000]}")
            time.sleep(pause)
            pause = min(pause * 2, POLL_SECONDS_LAST)

    @contextlib.contextmanager
    def scratch(self) -> Iterator[str]:
        """Make a namespace for one test; afterwards all that the plane created meanwhile is gone."""
        assert self._created is None, "one scratch at a time"
        self._created = []
        try:
            name = f"test-{secrets.token_hex(4)}"
            self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            yield name
        finally:
            created, self._created = self._created, None
            self._remove(created)

    def _remove(self, created: Sequence[Mapping[str, Any]]) -> None:
        """Delete namespaces first: from then on no controller can put anything new into them."""
        client = self.client()
        namespaces = [made["metadata"]["name"] for made in created if made["kind"] == "Namespace"]
        for name in namespaces:
            self._forget(f"/api/v1/namespaces/{name}")
        rest = [client.path(made) for made in reversed(created) if made["kind"] != "Namespace"]
        client.each(self._forget, rest)
        for name in namespaces:
            pods = f"/api/v1/namespaces/{name}/pods"
            self.delete(pods)
            self.wait_for(pods, lambda found: not found["items"])

    def _forget(self, path: str) -> None:
        try:
            self.delete(path)
        except ApiError as error:
            if error.status not in {404, 409}:
                raise


def free_ports() -> dict[str, int]:
    """Choose ports that are free now; another program may still take one, which `start` tries again for."""
    names = (ETCD, "etcd peer", API, SCHEDULER, CONTROLLERS, KWOK)
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in names]
        for listening in sockets:
            listening.bind(("127.0.0.1", 0))
        return {name: listening.getsockname()[1] for name, listening in zip(names, sockets, strict=True)}
