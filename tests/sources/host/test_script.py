"""The script is run for real, by every POSIX shell found here."""

import os
import shutil
import subprocess

import pytest

from ullage.sources.host import script
from ullage.sources.host.collect import collect
from ullage.sources.host.machine import LocalMachine, UnavailableError
from ullage.sources.host.recorded import HEADER, parse_bundle

SHELLS = (("sh",), ("dash",), ("bash", "--posix"), ("busybox", "sh"))
SETTINGS = "content_bytes_max=16777216 limited=\n"


def shell_run(shell, text):
    if shutil.which(shell[0]) is None:
        pytest.skip(f"{shell[0]} is not installed")
    done = subprocess.run([*shell, "-s"], input=text.encode(), capture_output=True, check=True, timeout=60)
    assert done.stderr == b""
    return done.stdout


def functions_run(shell, *commands):
    """Return what some of the script's functions record, as a machine."""
    lines = (f"echo '{HEADER}'", *commands, "echo @end", "")
    return parse_bundle(shell_run(shell, "set -u\n" + script._FUNCTIONS + SETTINGS + "\n".join(lines)))


def steady(facts):
    """Return what does not change from one second to the next."""
    return {
        "names": (facts.hostname, facts.kernel, facts.architecture),
        "runs in": (facts.virtualisation, facts.xen_control_domain),
        "cpu": (facts.cpu.logical_cores, facts.cpu.physical_cores, facts.cpu.sockets, facts.cpu.model),
        "memory": (facts.memory.memory_total_bytes, facts.memory.swap_total_bytes),
        "huge pages": facts.memory.huge_pages,
        "ganeti": (facts.ganeti.origin, facts.ganeti.memory_total_bytes, facts.ganeti.logical_cores),
        "pressure": facts.pressure is None,
        "cgroup": facts.cgroup,
        "disks": facts.disks,
        "mounts": [(mount.mount_point, mount.source, mount.size_bytes) for mount in facts.mounts],
        "lvm": facts.lvm,
        "gpus": facts.gpus,
        "problems": facts.problems,
    }


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_a_recording_of_this_machine_tells_what_this_machine_tells(shell, noon):
    recorded = collect(noon, machine=parse_bundle(shell_run(shell, script.remote_script())))
    assert steady(recorded) == steady(collect(noon))


class ListeningMachine(LocalMachine):
    """This machine, remembering what it was asked."""

    def __init__(self):
        super().__init__()
        self.files, self.commands = set(), set()

    def read_text(self, path):
        self.files.add(path)
        return super().read_text(path)

    def run(self, argv):
        self.commands.add(argv)
        raise UnavailableError("asked for the next one too", where=argv[0])


def test_whatever_a_probe_may_ask_is_recorded(noon):
    machine = ListeningMachine()
    collect(noon, machine=machine)
    folders = ("/sys/kernel/mm/hugepages/", "/sys/bus/pci/devices/", "/sys/fs/cgroup")
    assert machine.commands <= set(script.COMMANDS)
    assert {path for path in machine.files if not path.startswith(folders)} <= set(script.FILES)
    assert len(script.COMMANDS) == len(set(script.COMMANDS)) == 13


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
@pytest.mark.parametrize(
    "content", [b"", b"\n", b"a", b"a\n", b"a\n\n|b\n@end\n!x", b"tab\t\\n %s \xc3\xa9\r\n"]
)
def test_files_are_recorded_byte_for_byte(tmp_path, shell, content):
    path = tmp_path / "with space"
    path.write_bytes(content)
    assert functions_run(shell, f"record_file '{path}'").read_text(str(path)).encode() == content


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_commands_are_recorded_with_status_and_complaints_apart_from_output(tmp_path, shell):
    (tmp_path / "probe").write_text("#!/bin/sh\ncat\nprintf 'out\\n@end'\nprintf oops >&2\nexit $1\n")
    (tmp_path / "probe").chmod(0o755)
    machine = functions_run(
        shell,
        f"PATH={tmp_path}:$PATH",
        "record_command probe 0",
        "record_command probe 3",
        "record_command ullage-has-no-such-program",
    )
    assert machine.run(("probe", "0")) == "out\n@end"
    with pytest.raises(UnavailableError, match="probe: ended with status 3: oops"):
        machine.run(("probe", "3"))
    with pytest.raises(UnavailableError, match="command not found"):
        machine.run(("ullage-has-no-such-program",))


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_a_slow_command_is_stopped_and_said_to_be_slow(shell):
    if shutil.which("timeout") is None:
        pytest.skip("timeout is not installed")
    machine = functions_run(shell, "limited='timeout 0.2'", "record_command sleep 60")
    with pytest.raises(UnavailableError, match="no answer within 10 s"):
        machine.run(("sleep", "60"))


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_too_much_output_is_cut_and_the_command_is_a_failure(shell):
    machine = functions_run(shell, "content_bytes_max=1000", "record_command yes")
    with pytest.raises(UnavailableError, match="yes: ended with status"):
        machine.run(("yes",))


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_a_mount_point_with_a_space_is_sized(tmp_path, shell):
    path = tmp_path / "my disk"
    path.mkdir()
    size = functions_run(shell, f"record_size '{tmp_path}/my\\040disk'").file_system_size(str(path))
    assert size.total_blocks == os.statvfs(path).f_blocks


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_groups_are_recorded_up_to_the_mounted_root(tmp_path, shell):
    own = [
        line for line in LocalMachine().read_text("/proc/self/cgroup").splitlines() if line.startswith("0::")
    ]
    if own != ["0::/"]:
        pytest.skip("the own group is not the root of cgroup v2 here")
    (tmp_path / "memory.max").write_text("5\n")
    machine = functions_run(shell, "limit_files='memory.max cpu.max'", f"record_groups / {tmp_path}")
    assert machine.read_text(str(tmp_path / "memory.max")) == "5\n"
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "cpu.max").write_text("1 2\n")
    (tmp_path / "a" / "cpu.max").write_text("3 4\n")
    machine = functions_run(shell, "limit_files='memory.max cpu.max'", f"record_group {tmp_path} /a/b")
    assert machine.read_text(str(tmp_path / "a" / "b" / "cpu.max")) == "1 2\n"
    assert machine.read_text(str(tmp_path / "a" / "cpu.max")) == "3 4\n"
    assert machine.read_text(str(tmp_path / "memory.max")) == "5\n"


def test_a_script_cut_off_on_its_way_does_nothing():
    text = script.remote_script()
    assert shell_run(("sh",), text[: text.index("\nmain() {")]) == b""
