import pytest


@pytest.mark.parametrize(
    ("machine", "hint"),
    [
        ("kvm-host", "none"),
        ("hybrid", "none"),
        ("virtual-machine", "other"),
        ("xen-xl", "xen"),
        ("xen-xm", "xen"),
        ("container-v1", "container"),
        ("container-v2", "container"),
    ],
)
def test_what_a_machine_runs_in(facts_of, machine, hint):
    assert facts_of(machine).virtualisation == hint


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("tsc hpet acpi_pm", "kvm-clock tsc", "kvm"),
        ("Supermicro", "QEMU", "kvm"),
        ("vme msr vmx", "vme hypervisor", "other"),
        ("|0::/init.scope", "|4:memory:/kubepods/burstable/pod1/2", "container"),
        (
            "@dir /sys/bus/pci/devices",
            "@file /run/systemd/container\n|lxc\n@dir /sys/bus/pci/devices",
            "container",
        ),
        ("@dir /sys/bus/pci/devices", "@file /run/systemd/container\n@dir /sys/bus/pci/devices", "container"),
        ("@dir /sys/bus/pci/devices", "@file /sys/hypervisor/type\n|xen\n@dir /sys/bus/pci/devices", "xen"),
        ("@dir /sys/bus/pci/devices", "@file /.dockerenv\n|\n@dir /sys/bus/pci/devices", "none"),
    ],
)
def test_each_sign_alone_gives_the_hint(facts_of, old, new, hint):
    assert facts_of("kvm-host", (old, new)).virtualisation == hint


@pytest.mark.parametrize("layer", ["overlay overlay rw", "btrfs /dev/sda2 rw"])
def test_a_mark_of_an_image_counts_where_the_root_is_not_a_disk_of_its_own(facts_of, layer):
    part = f"|28 1 0:9 /subvolumes/1 / rw,relatime shared:1 - {layer}"
    root = "|28 1 9:1 / / rw,relatime shared:1 - ext4 /dev/md1 rw,errors=remount-ro"
    mark = ("@dir /sys/bus/pci/devices", "@file /run/.containerenv\n|\n@dir /sys/bus/pci/devices")
    assert facts_of("kvm-host", (root, part)).virtualisation == "none"
    assert facts_of("kvm-host", (root, part), mark).virtualisation == "container"


def test_only_the_domain_that_controls_others_is_a_control_domain(facts_of):
    assert facts_of("xen-xl").xen_control_domain
    facts = facts_of("xen-xl", ("|control_d\n", ""))
    assert not facts.xen_control_domain
    assert facts.virtualisation == "xen"
    assert facts.ganeti.origin == "meminfo"


def test_names_and_architecture(facts_of):
    facts = facts_of("kvm-host")
    assert (facts.hostname, facts.kernel, facts.architecture) == ("kvm-1", "6.1.0-18-amd64", "x86_64")


def test_an_empty_name_is_unknown(facts_of):
    facts = facts_of("kvm-host", ("|kvm-1\n", ""))
    assert facts.hostname is None
    assert [problem.reason for problem in facts.problems] == ["/proc/sys/kernel/hostname: is empty"]
