import pytest

from ullage.model.errors import InputError
from ullage.sources.host.gpus import parse_nvidia_smi

MIB = 1024 * 1024


def test_nvidia_smi_tells_model_and_memory(facts_of):
    (gpu,) = facts_of("kvm-host").gpus
    assert (gpu.vendor, gpu.origin, gpu.index, gpu.model) == ("nvidia", "nvidia-smi", "0", "Tesla T4")
    assert gpu.memory_total_bytes == 15360 * MIB


def test_without_nvidia_smi_the_bus_tells_and_says_that_the_model_is_unknown(facts_of):
    facts = facts_of("bare-tools")
    nvidia, amd = facts.gpus
    assert (nvidia.vendor, nvidia.origin, nvidia.model, nvidia.pci_address) == (
        "nvidia",
        "pci",
        None,
        "0000:3b:00.0",
    )
    assert nvidia.note == "model unknown, PCI device 10de:20b0; install nvidia-smi to learn it"
    assert nvidia.memory_total_bytes is None
    assert (amd.vendor, amd.memory_total_bytes) == ("amd", 68702699520)
    assert any(problem.probe == "gpus" for problem in facts.problems)


def test_a_broken_nvidia_smi_is_a_problem_and_the_bus_answers(facts_of):
    facts = facts_of(
        "kvm-host", ("T4, 15360\n|\n!\n!status 0", "T4, 15360\n|\n!Failed to initialize NVML\n!status 9")
    )
    (gpu,) = facts.gpus
    assert gpu.origin == "pci"
    assert [problem.reason for problem in facts.problems] == [
        "nvidia-smi: ended with status 9: Failed to initialize NVML"
    ]


def test_a_host_without_gpus_has_none_and_that_is_no_problem(facts_of):
    facts = facts_of("hybrid")
    assert facts.gpus == ()
    assert "gpus" not in [problem.probe for problem in facts.problems]


@pytest.mark.parametrize(
    ("device_class", "counted"),
    [("0x030000", 1), ("0x030200", 1), ("0x038000", 1), ("0x120000", 1), ("0x020000", 0), ("0x040300", 0)],
)
def test_display_3d_and_accelerator_classes_count(facts_of, device_class, counted):
    facts = facts_of("bare-tools", ("0x030200", device_class), ("|0x1002", "|0x8086"))
    assert len(facts.gpus) == counted


def test_a_bus_of_another_form_is_a_problem(facts_of):
    facts = facts_of("bare-tools", ("0x20b0", "what"))
    assert facts.gpus is None
    assert any(problem.probe == "gpus" and "'what'" in problem.reason for problem in facts.problems)


def test_names_with_commas_and_memory_that_is_not_told():
    one, two = parse_nvidia_smi("0, GPU-a, NVIDIA A100, SXM4, 81920\n1, GPU-b, NVIDIA GB10, [N/A]\n")
    assert (one.model, one.memory_total_bytes) == ("NVIDIA A100, SXM4", 81920 * MIB)
    assert (two.model, two.memory_total_bytes) == ("NVIDIA GB10", None)
    assert "memory" in two.note
    assert parse_nvidia_smi("No devices were found\n") == ()


@pytest.mark.parametrize(
    "text", ["0, GPU-a, name\n", "x, GPU-a, name, 1\n", "0, GPU-a, name, much\n", "0,u,n,-1\n"]
)
def test_rows_of_another_form_are_refused(text):
    with pytest.raises(InputError, match="nvidia-smi"):
        parse_nvidia_smi(text)
