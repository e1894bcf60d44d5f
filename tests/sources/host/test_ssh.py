"""Real ssh to a real sshd on this machine where there is one; small stand-in programs for what goes wrong."""

import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ullage.model.errors import InputError
from ullage.sources.host.ssh import HOSTS_MAX, SshOptions, check_destinations, collect_over_ssh, ssh_command

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
PRIVILEGE_FOLDER = Path("/run/sshd")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True, timeout=30)
    return path.with_suffix(".pub").read_text()


def wait_until_open(port, server):
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert server.poll() is None, "sshd ended"
        time.sleep(0.05)
    raise AssertionError("sshd does not listen")


@pytest.fixture(name="config_path", scope="module")
def fixture_config_path(tmp_path_factory):
    """Return a client configuration with node-a and node-b (a real sshd) and node-closed (nobody listens)."""
    if SSHD is None or shutil.which("ssh") is None:
        pytest.skip("openssh-server or openssh-client is not installed")
    folder = tmp_path_factory.mktemp("sshd")
    host_key, user_key = make_key(folder / "host"), make_key(folder / "user")
    (folder / "authorized").write_text(user_key)
    port = free_port()
    (folder / "known").write_text(f"[127.0.0.1]:{port} {host_key}")
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\n"
        f"AuthorizedKeysFile {folder}/authorized\nPidFile none\n"
        "StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n"
    )
    (folder / "ssh_config").write_text(
        f"Host node-*\n  HostName 127.0.0.1\n  User {getpass.getuser()}\n  IdentityFile {folder}/user\n"
        f"  IdentitiesOnly yes\n  UserKnownHostsFile {folder}/known\n  StrictHostKeyChecking yes\n"
        f"Host node-closed\n  Port {free_port()}\nHost node-*\n  Port {port}\n"
    )
    if os.geteuid() == 0:  # several workers share it, so none of them removes it
        PRIVILEGE_FOLDER.mkdir(mode=0o755, exist_ok=True)
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([SSHD, "-D", "-e", "-f", folder / "sshd_config"], stderr=log)
    try:
        wait_until_open(port, server)
        yield str(folder / "ssh_config")
    finally:
        server.terminate()
        server.wait(10)


def test_hosts_are_asked_over_real_ssh_and_one_that_fails_costs_only_itself(config_path, noon):
    told = []
    answers = collect_over_ssh(
        ["node-b", "node-closed", "node-a"],
        SshOptions(config_path=config_path),
        collected_at=noon,
        on_answer=lambda answer, done, total: told.append((answer.host, done, total)),
    )
    assert [answer.host for answer in answers] == ["node-b", "node-closed", "node-a"]
    for answer in (answers[0], answers[2]):
        assert answer.problem is None
        assert answer.facts.hostname == os.uname().nodename
        assert answer.facts.cpu.logical_cores == os.cpu_count()
        assert answer.facts.collected_at == noon
    assert answers[1].facts is None
    assert "refused" in answers[1].problem.reason
    assert "ssh -F" in answers[1].problem.remedy
    assert [(done, total) for _, done, total in told] == [(1, 3), (2, 3), (3, 3)]
    assert {host for host, _, _ in told} == {"node-a", "node-b", "node-closed"}


def test_an_unknown_host_key_is_refused_without_a_question(config_path, noon, tmp_path):
    strange = tmp_path / "ssh_config"
    strange.write_text(Path(config_path).read_text().replace("/known\n", "/unknown\n"))
    (answer,) = collect_over_ssh(["node-a"], SshOptions(config_path=str(strange)), collected_at=noon)
    assert "Host key verification failed" in answer.problem.reason


@pytest.fixture(name="stand_in")
def fixture_stand_in(tmp_path):
    """Return options whose program is a script in place of ssh."""

    def options(text, **settings):
        path = tmp_path / "stand-in"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return SshOptions(program=str(path), **settings)

    return options


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo hello", "bundle: no line 'ullage-host-bundle 1' in it"),
        ("echo ullage-host-bundle 1; echo @file /proc/meminfo", "bundle: cut off: no line @end"),
        ("echo 'Permission denied (publickey).' >&2; exit 255", "status 255: Permission denied (publickey)."),
        ("exit 127", "ssh status 127"),
    ],
)
def test_an_answer_that_cannot_be_used_is_that_hosts_problem(stand_in, noon, text, said):
    (answer,) = collect_over_ssh(["host"], stand_in(text), collected_at=noon)
    assert answer.facts is None
    assert said in answer.problem.reason
    assert answer.problem.remedy


def test_a_host_that_never_answers_is_given_up(stand_in, noon):
    options = stand_in("exec sleep 60", host_timeout_seconds=1)
    (answer,) = collect_over_ssh(["host"], options, collected_at=noon)
    assert answer.problem.reason == "no answer within 1 s"


def test_no_more_hosts_are_asked_at_once_than_allowed(stand_in, noon, tmp_path):
    options = stand_in(
        f"mkdir {tmp_path}/busy 2>/dev/null || exit 9\nsleep 0.05\nrmdir {tmp_path}/busy\n"
        "echo ullage-host-bundle 1\necho @end",
        hosts_at_once=1,
    )
    answers = collect_over_ssh([f"host-{number}" for number in range(6)], options, collected_at=noon)
    assert [answer.problem for answer in answers] == [None] * 6


def test_class_overrides_reach_every_host(stand_in, noon):
    machine = Path(__file__).parent / "machines" / "kvm-host.txt"
    answers = collect_over_ssh(
        ["a", "b"], stand_in(f"cat {machine}"), collected_at=noon, class_overrides={"sda": "SSD"}
    )
    classes = [{disk.name: disk.drive_class for disk in answer.facts.disks}["sda"] for answer in answers]
    assert classes == ["SSD", "SSD"]


def test_the_command_never_asks_and_ends_its_options_before_the_host():
    assert ssh_command("root@node", SshOptions(config_path="/c", connect_timeout_seconds=7)) == (
        *("ssh", "-F", "/c", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=7"),
        *("-o", "ControlMaster=no", "--", "root@node", "sh -s"),
    )


@pytest.mark.parametrize(
    "host",
    ["node", "node-1.example.org", "10.0.0.1", "root@node", "ssh://root@node:2222", "fe80::1%eth0", "[::1]"],
)
def test_destinations_of_ssh_are_accepted(host):
    check_destinations([host])


@pytest.mark.parametrize(
    "host",
    [
        "",
        "-oProxyCommand=x",
        "root@-oProxyCommand=x",
        "-root@node",
        "a b",
        "a;b",
        "a\nb",
        "$(x)",
        "a" * 600,
        "ssh://-x",
    ],
)
def test_destinations_that_are_options_or_commands_are_refused(host):
    with pytest.raises(InputError, match="is not an ssh destination; write HOST"):
        check_destinations([host])


def test_the_same_host_twice_or_too_many_are_refused():
    with pytest.raises(InputError, match="host a is given twice"):
        check_destinations(["a", "b", "a"])
    with pytest.raises(InputError, match="more than 10000"):
        check_destinations([f"h{number}" for number in range(HOSTS_MAX + 1)])


@pytest.mark.parametrize("hosts_at_once", [0, 65])
def test_the_number_of_hosts_at_once_is_bounded(noon, hosts_at_once):
    with pytest.raises(InputError, match="between 1 and 64"):
        collect_over_ssh(
            ["a"], SshOptions(program=sys.executable, hosts_at_once=hosts_at_once), collected_at=noon
        )


def test_without_ssh_there_is_one_clear_line(noon):
    with pytest.raises(InputError, match="no-such-ssh: command not found; install openssh-client"):
        collect_over_ssh(["a"], SshOptions(program="no-such-ssh"), collected_at=noon)


def test_no_hosts_are_no_answers(noon):
    assert collect_over_ssh([], SshOptions(program=sys.executable), collected_at=noon) == ()
