"""Asking a server: what passes is tried again, what does not is one line. Real servers, on this host."""

import base64
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sources.kubernetes.small_server import BREAK, serving
from ullage import __version__
from ullage.model.errors import InputError
from ullage.sources.kubernetes import live_server
from ullage.sources.kubernetes.kubeconfig import Access, ClusterEntry, ExecEntry, UserEntry
from ullage.sources.kubernetes.live_server import ApiServer
from ullage.sources.limits import Limits

EXPIRED = Path(__file__).parent / "files" / "expired.pem"
PROOF = "s3"
GONE = "/gone/proof"


def access(url: str, user: UserEntry | None = None, **cluster) -> Access:
    return Access("here", ClusterEntry(server=url, **cluster), user or UserEntry(token=PROOF), "me")


@contextmanager
def asking(
    url: str, user: UserEntry | None = None, cluster: dict | None = None, **options
) -> Iterator[ApiServer]:
    server = ApiServer(access(url, user, **(cluster or {})), **options)
    try:
        yield server
    finally:
        server.close()


def refusal(url: str, user: UserEntry | None = None, cluster: dict | None = None, **options) -> str:
    with pytest.raises(InputError) as raised, asking(url, user, cluster, **options) as server:
        server.get("/api")
    assert "\n" not in str(raised.value)
    assert str(raised.value).startswith("here: ")
    return str(raised.value)


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(live_server, "_FIRST_WAIT_SECONDS", 0.01)


def test_a_path_is_asked_for_below_that_of_the_server():
    with serving((200, b"{}")) as there, asking(f"{there.url}/k8s/clusters/c-1") as server:
        assert server.get("/api/v1/pods", {"limit": "5"}).data == b"{}"
    ((path, headers),) = there.seen
    assert path == "/k8s/clusters/c-1/api/v1/pods?limit=5"
    assert headers["authorization"] == f"Bearer {PROOF}"
    assert headers["user-agent"] == f"ullage/{__version__}"
    assert "impersonate-user" not in headers


@pytest.mark.parametrize(
    ("user", "option", "sent"),
    [
        (UserEntry(token=PROOF), "jane", "jane"),
        (UserEntry(token=PROOF, impersonate="jane"), "", "jane"),
        (UserEntry(token=PROOF, impersonate="jane"), "joe", "joe"),
    ],
)
def test_one_may_ask_as_somebody_else(user, option, sent):
    with serving((200, b"{}")) as there, asking(there.url, user, as_user=option) as server:
        server.get("/api")
    assert there.seen[0][1]["impersonate-user"] == sent


def test_other_proofs_of_identity_are_sent(tmp_path):
    (tmp_path / "token").write_text("from-file\n")
    program = 'echo \'{"status": {"token": "from-program"}}\''
    plugin = ExecEntry(api_version="client.authentication.k8s.io/v1", command="sh", args=["-c", program])
    basic = base64.b64encode(f"me:{PROOF}".encode()).decode()
    for user, sent in (
        (UserEntry(token_file=str(tmp_path / "token")), "Bearer from-file"),
        (UserEntry(username="me", password=PROOF), f"Basic {basic}"),
        (UserEntry(exec=plugin), "Bearer from-program"),
        (UserEntry(exec=plugin, token=PROOF), f"Bearer {PROOF}"),
        (UserEntry(), None),
    ):
        with serving((200, b"{}")) as there, asking(there.url, user) as server:
            server.get("/api")
        assert there.seen[0][1].get("authorization") == sent


@pytest.mark.parametrize(
    "first",
    [(429, b"", {"Retry-After": "0"}), (503, b"no"), (500, b""), (200, BREAK)],
    ids=["too many", "away", "error", "broken connection"],
)
def test_what_passes_is_tried_again(first):
    with serving(first, first, (200, b"{}")) as there, asking(there.url) as server:
        assert server.get("/api").status == 200
    assert len(there.seen) == 3


def test_what_does_not_pass_is_given_up():
    with serving((503, b'{"message": "not now"}')) as there, asking(there.url) as server:
        assert server.get("/api").reason() == "503: not now"
    assert len(there.seen) == live_server.TRIES_MAX
    with serving((200, BREAK)) as there:
        assert "cannot be reached: " in refusal(there.url)


def test_a_refusal_is_an_answer():
    with serving((404, b"nothing here")) as there, asking(there.url) as server:
        assert server.get("/api").reason() == "HTTP status 404"
    assert len(there.seen) == 1


def test_nothing_grows_without_a_bound():
    with serving((200, b"x" * 3000)) as there:
        assert "/api: more than 2 KiB of text" in refusal(there.url, limits=Limits(file_bytes_max=2048))


def test_nothing_lasts_without_a_bound(monkeypatch):
    monkeypatch.setattr(live_server, "READ_SECONDS_MAX", -1)
    with serving((200, b"{}")) as there:
        assert "the cluster is not read after -1 s; ask nearer to it" in refusal(there.url)


def test_a_stranger_is_told_to_log_in():
    with serving((401, b"{}")) as there:
        assert "user me is not known to the server (401); log in again" in refusal(there.url)


def test_who_may_not_impersonate_is_told_so():
    body = json.dumps({"message": 'User "me" cannot impersonate resource "users"'}).encode()
    with serving((403, body)) as there:
        said = refusal(there.url, as_user="jane")
        assert "not permitted: impersonate jane; ask for a role with the verb impersonate" in said
    with serving((403, body)) as there, asking(there.url) as server:
        assert server.get("/api").status == 403


def test_a_server_that_is_not_there_is_named():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"https://127.0.0.1:{taken.getsockname()[1]}"
        assert f"{url} cannot be reached: " in refusal(url)
    assert "check the network and the server in the kubeconfig" in refusal("https://no-such-host.invalid")


def test_a_server_that_says_nothing_is_given_up(monkeypatch):
    monkeypatch.setattr(live_server, "SILENT_SECONDS_MAX", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert f"{url} says nothing for 0.1 s" in refusal(url)


def test_an_expired_certificate_is_named():
    with serving((200, b"{}"), certificate=EXPIRED) as there:
        said = refusal(there.url, cluster={"certificate_authority": str(EXPIRED)})
        assert f"the certificate of {there.url} is refused: certificate has expired; renew it" in said


def test_an_unknown_certificate_is_named_unless_it_need_not_be_known():
    with serving((200, b"{}"), certificate=EXPIRED) as there:
        assert "is refused: " in refusal(there.url)
        with asking(there.url, cluster={"insecure_skip_tls_verify": True}) as server:
            assert server.get("/api").status == 200


def test_another_name_of_the_server_may_be_expected():
    data = base64.b64encode(EXPIRED.read_bytes()).decode()
    with serving((200, b"{}"), certificate=EXPIRED) as there:
        cluster = {"certificate_authority_data": data, "tls_server_name": "kubernetes"}
        assert "is refused: " in refusal(there.url, cluster=cluster)


@pytest.mark.parametrize(
    ("url", "user", "cluster", "said"),
    [
        ("ftp://a", None, {}, "cannot be reached: "),
        ("https://a:port", None, {}, "the connection cannot be made: "),
        ("https://a", None, {"certificate_authority": "/gone/ca.crt"}, "the connection cannot be made: "),
        ("https://a", None, {"certificate_authority_data": "QUJD"}, "the connection cannot be made: "),
        ("https://a", None, {"certificate_authority_data": "?"}, "the connection cannot be made: "),
        ("https://a", None, {"proxy_url": "what://b"}, "the connection cannot be made: "),
        (
            "https://a",
            UserEntry(client_certificate_data="QUJD", client_key_data="QUJD"),
            {},
            "the connection cannot be made: ",
        ),
        ("https://a", UserEntry(auth_provider={"name": "gcp"}), {}, "use a credential plugin (exec)"),
        ("https://a", UserEntry(token_file=GONE), {}, f"Token file {GONE} not found"),
    ],
)
def test_a_kubeconfig_that_makes_no_connection_is_refused(url, user, cluster, said):
    assert said in refusal(url, user, cluster)
