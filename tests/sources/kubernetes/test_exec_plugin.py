"""Credentials from a program: real programs, run as kubectl runs them."""

import json
import sys

import pytest

from ullage.model.errors import InputError
from ullage.sources.kubernetes.exec_plugin import Credential, exec_credential
from ullage.sources.kubernetes.kubeconfig import ClusterEntry, ExecEntry, NameValue

VERSION = "client.authentication.k8s.io/v1"
PROOF = "s3"
CLUSTER = ClusterEntry(server="https://a:6443", certificate_authority_data="QQ==")


def plugin(program: str, **fields) -> ExecEntry:
    return ExecEntry(api_version=VERSION, command=sys.executable, args=["-c", program], **fields)


def printing(**status: str) -> ExecEntry:
    return plugin(f"print({json.dumps(json.dumps({'apiVersion': VERSION, 'status': status}))})")


def refusal(entry: ExecEntry, **limits) -> str:
    with pytest.raises(InputError) as raised:
        exec_credential(entry, CLUSTER, **limits)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_a_token_or_a_certificate_is_taken():
    assert exec_credential(printing(token=PROOF, expirationTimestamp="x"), CLUSTER) == Credential(token=PROOF)
    both = printing(clientCertificateData="certificate", clientKeyData="key")
    assert exec_credential(both, CLUSTER) == Credential(certificate="certificate", key="key")


def told(program_says: str, **fields) -> dict:
    """What the plugin finds in its environment, handed back as a token."""
    program = f"import os, json; print(json.dumps({{'status': {{'token': {program_says}}}}}))"
    return exec_credential(plugin(program, **fields), CLUSTER).token


def test_the_program_is_told_the_version_and_the_cluster_where_it_asks():
    information = json.loads(told("os.environ['KUBERNETES_EXEC_INFO']"))
    assert information == {"apiVersion": VERSION, "kind": "ExecCredential", "spec": {"interactive": False}}
    information = json.loads(told("os.environ['KUBERNETES_EXEC_INFO']", provide_cluster_info=True))
    assert information["spec"]["cluster"] == {
        "server": "https://a:6443",
        "certificate-authority-data": "QQ==",
    }


def test_the_program_has_our_environment_and_its_own(monkeypatch):
    monkeypatch.setenv("OURS", "1")
    assert told("os.environ['OURS'] + os.environ['ITS']", env=[NameValue("ITS", "2")]) == "12"


def test_the_program_gets_no_input():
    assert told("__import__('sys').stdin.read() or 'nothing'") == "nothing"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (plugin("import sys; sys.exit('log in first')"), "exit status 1: log in first; log in with it first"),
        (plugin("raise SystemExit(3)"), "exit status 3; log in with it first, then ask again"),
        (plugin("print('{}')"), "no ExecCredential with a token or a certificate"),
        (plugin("print('hello')"), "no ExecCredential with a token or a certificate"),
        (plugin("print('[' * 100000)"), "no ExecCredential with a token or a certificate"),
        (plugin("print('x' * (2 << 20))"), "more than 1048576 bytes of output"),
        (printing(clientCertificateData="alone"), "no ExecCredential with a token or a certificate"),
        (ExecEntry(api_version=VERSION, command="no-such-program"), "exec no-such-program: cannot be run"),
        (
            ExecEntry(
                api_version=VERSION, command="no-such-program", install_hint="Get it:\n  apt install it\n"
            ),
            "cannot be run: No such file or directory; apt install it",
        ),
        (ExecEntry(api_version=VERSION), "without a command"),
        (ExecEntry(api_version="v1", command="true"), "use apiVersion client.authentication.k8s.io/v1"),
    ],
)
def test_what_goes_wrong_is_one_line(entry, said):
    assert said in refusal(entry)


def test_a_program_that_hangs_is_stopped():
    assert "no answer within 0.2 s" in refusal(plugin("import time; time.sleep(60)"), seconds_max=0.2)
