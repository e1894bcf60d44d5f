"""Which cluster is meant: kubeconfig files as kubectl reads them."""

import json
import os
from pathlib import Path

import pytest

from ullage.model.errors import InputError
from ullage.sources.kubernetes.kubeconfig import IN_CLUSTER, find_access, has_access


def config(*names: str, current: str = "", **fields) -> dict:
    """A kubeconfig whose clusters, users and contexts have the same names."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": current,
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443"}} for name in names],
        "users": [{"name": name, "user": {"token": f"token of {name}"}} for name in names],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in names],
        **fields,
    }


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """No kubeconfig but those that a test writes."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def written(tmp_path):
    def write(name: str, content: dict | str) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return str(path)

    return write


def refusal(*arguments: str) -> str:
    with pytest.raises(InputError) as raised:
        find_access(*arguments)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_the_current_context_counts_unless_another_is_named(written):
    path = written("config", config("a", "b", current="b"))
    assert find_access("", path).cluster.server == "https://b:6443"
    access = find_access("a", path)
    assert (access.name, access.user_name, access.user.token) == ("a", "a", "token of a")


def test_a_file_that_is_named_beats_the_variable_which_beats_the_home_folder(written, monkeypatch):
    assert not has_access()
    written(".kube/config", config("home", current="home"))
    assert has_access()
    assert find_access().name == "home"
    monkeypatch.setenv("KUBECONFIG", written("variable", config("variable", current="variable")))
    assert find_access().name == "variable"
    assert find_access("", written("named", config("named", current="named"))).name == "named"


def test_of_several_files_the_first_to_say_something_counts(written, monkeypatch):
    first = config("a", clusters=[{"name": "a", "cluster": {"server": "https://first:1"}}])
    second = config("a", "b", current="b")
    paths = ["", "/nowhere/config", written("first", first), written("second", second)]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(paths))
    assert find_access().name == "b"
    assert find_access("a").cluster.server == "https://first:1"


def test_paths_are_relative_to_the_file_they_stand_in(written):
    entry = {"client-certificate": "my.crt", "client-key": "/keys/my.key", "tokenFile": "t"}
    entry["exec"] = {"apiVersion": "client.authentication.k8s.io/v1", "command": "./bin/login"}
    path = written(
        "sub/config",
        config(
            "a",
            current="a",
            clusters=[{"name": "a", "cluster": {"server": "https://a", "certificate-authority": "ca.crt"}}],
            users=[{"name": "a", "user": entry}],
        ),
    )
    access = find_access("", path)
    beside = Path(path).parent
    assert access.cluster.certificate_authority == str(beside / "ca.crt")
    assert access.user.client_certificate == str(beside / "my.crt")
    assert access.user.client_key == "/keys/my.key"
    assert access.user.token_file == str(beside / "t")
    assert Path(access.user.exec.command) == beside / "bin/login"


def test_a_program_without_a_path_is_looked_for_as_usual(written):
    users = [{"name": "a", "user": {"exec": {"apiVersion": "x", "command": "aws"}}}]
    assert (
        find_access("", written("config", config("a", current="a", users=users))).user.exec.command == "aws"
    )


def test_yaml_with_nulls_and_fields_of_others_is_read(written):
    path = written(
        "config",
        "apiVersion: v1\ncurrent-context: c\npreferences: {}\nusers: null\n"
        "clusters: [{name: k, cluster: {server: 'https://k', extensions: []}}]\n"
        "contexts: [{name: c, context: {cluster: k, user: '', namespace: team}}]\n",
    )
    access = find_access("", path)
    assert (access.name, access.user_name, access.namespace) == ("k", "", "team")


@pytest.mark.parametrize(
    ("content", "context", "said"),
    [
        (config("prod", "staging"), "prd", "no context 'prd'; use --context prod"),
        (config("prod"), "", "no context is current; use --context NAME, or kubectl config use-context"),
        (config("prod", current="gone"), "", "the current context 'gone' is not there; use --context prod"),
        (config("a", current="a", clusters=[]), "", "context a: no cluster 'a'; correct the context"),
        (config("a", current="a", users=[]), "", "context a: no user 'a'; correct the context"),
        (config("a", current="a", clusters=[{"name": "a"}]), "", "cluster a has no server; add its URL"),
        (config(current=""), "x", "no context 'x'; use --kubeconfig FILE, or read a dump"),
        ("clusters: 3\n", "", "clusters: expected"),
        ("clusters: [{cluster: {}}]\n", "", 'the field "name" is missing'),
        ("clusters: [\n", "", "config:"),
        ("", "", "empty: no document"),
        ("a: 1\n---\nb: 2\n", "", "2 documents where one is expected; name one kubeconfig"),
        ("just text", "", "expected a mapping"),
    ],
)
def test_a_bad_kubeconfig_is_refused_in_one_line(written, content, context, said):
    message = refusal(context, written("config", content))
    assert said in message
    assert "config" in message


def test_without_any_kubeconfig_the_places_that_were_looked_at_are_named(monkeypatch):
    assert refusal().startswith("~/.kube/config: there is no kubeconfig; use --kubeconfig FILE")
    monkeypatch.setenv("KUBECONFIG", "/nowhere/config")
    assert refusal().startswith("/nowhere/config: there is no kubeconfig; ")
    told = "/nowhere/else: there is no such kubeconfig; use --kubeconfig FILE, or read a dump with -c FILE"
    assert refusal("", "/nowhere/else").startswith(told)


def test_more_files_than_anybody_has_are_refused(monkeypatch):
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(["a"] * 101))
    assert "more than 100 files" in refusal()


@pytest.mark.parametrize(
    ("host", "server"), [("10.0.0.1", "https://10.0.0.1:443"), ("fd::1", "https://[fd::1]:443")]
)
def test_a_pod_has_its_service_account(written, monkeypatch, tmp_path, host, server):
    written("account/token", "secret")
    written("account/namespace", "team\n")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    folder = str(tmp_path / "account")
    assert has_access(service_account=folder)
    assert not has_access(service_account=str(tmp_path / "none"))
    access = find_access(service_account=folder)
    assert (access.name, access.namespace, access.cluster.server) == (IN_CLUSTER, "team", server)
    assert access.user.token_file == f"{folder}/token"
    assert access.cluster.certificate_authority == f"{folder}/ca.crt"


def test_a_kubeconfig_in_a_pod_beats_its_service_account(written, monkeypatch, tmp_path):
    written("account/token", "secret")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBECONFIG", written("config", config("a", current="a")))
    assert find_access(service_account=str(tmp_path / "account")).name == "a"


def test_a_context_that_is_named_is_not_the_service_account(written, monkeypatch, tmp_path):
    written("account/token", "secret")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    with pytest.raises(InputError, match="there is no kubeconfig"):
        find_access("prod", service_account=str(tmp_path / "account"))
