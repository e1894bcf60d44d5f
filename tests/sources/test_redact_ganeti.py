from ullage.model.ganeti import GanetiGroup, GanetiNode, Instance
from ullage.sources.redact_ganeti import GanetiRedactor
from ullage.sources.redact_names import Pseudonyms

REDACTOR = GanetiRedactor(Pseudonyms("seed"))


def test_parts_of_tags_are_replaced_alike_and_words_of_the_tools_stay():
    cluster, first, second = REDACTOR.tags(("htools:iextags:web", "web:blue", "web:green"))
    prefix = cluster.removeprefix("htools:iextags:")
    assert cluster.startswith("htools:iextags:tag-")
    assert "web" not in prefix
    assert first.startswith(f"{prefix}:tag-")
    assert second.startswith(f"{prefix}:tag-")
    assert first != second


def test_names_are_those_of_the_rest_of_the_snapshot():
    names = Pseudonyms("seed")
    redactor = GanetiRedactor(names)
    node = redactor.node(GanetiNode("n1", "u1", memory_bytes=5, hypervisor="kvm"))
    group = redactor.group(GanetiGroup("g1", "u1", networks=("net",)))
    instance = redactor.instance(Instance("i1", 7, (), 1, "n1", "n2", networks=("net",)))
    assert node.name == instance.primary == names.of("node", "n1")
    assert (node.group, group.name) == (group.uuid, names.of("group", "g1"))
    assert (instance.name, instance.networks) == (names.of("workload", "i1"), group.networks)
    assert (node.memory_bytes, node.hypervisor, instance.memory_bytes) == (5, "kvm", 7)
    assert redactor.node(GanetiNode("n1", "u1", hypervisor="ours")).hypervisor == names.of(
        "hypervisor", "ours"
    )


def test_what_is_absent_stays_absent():
    assert (REDACTOR.node(None), REDACTOR.group(None), REDACTOR.instance(None)) == (None, None, None)
