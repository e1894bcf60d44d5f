import pytest

from ullage.model.errors import InputError
from ullage.sources.host.cpu import parse_cpu_list, parse_cpuinfo, parse_loadavg, parse_model, parse_topology


@pytest.mark.parametrize(("text", "count"), [("0", 1), ("0-3\n", 4), ("0-3,5", 5), ("0-1,4-7,9", 7)])
def test_a_list_of_processors_is_counted(text, count):
    assert parse_cpu_list(text) == count


@pytest.mark.parametrize("text", ["", "3-1", "0-", "0-9999999", "a", "0,,1"])
def test_what_is_no_list_of_processors_is_refused(text):
    with pytest.raises(InputError):
        parse_cpu_list(text)


def test_threads_share_a_core_and_equal_core_numbers_of_two_sockets_are_two_cores(facts_of):
    cpu = facts_of("kvm-host").cpu
    assert (cpu.logical_cores, cpu.physical_cores, cpu.sockets) == (4, 2, 2)
    assert cpu.model == "Intel(R) Xeon(R) Silver 4210 CPU @ 2.20GHz"


def test_loads_are_thousandths(facts_of):
    cpu = facts_of("kvm-host").cpu
    loads = (cpu.load_one_minute_milli, cpu.load_five_minutes_milli, cpu.load_fifteen_minutes_milli)
    assert loads == (520, 1580, 12050)
    with pytest.raises(InputError):
        parse_loadavg("0.52 0.58")


def test_cores_are_unknown_when_not_every_processor_names_its_own():
    information = parse_cpuinfo("processor: 0\nphysical id: 0\ncore id: 0\n\nprocessor: 1\n")
    assert (information.logical_cores, information.physical_cores, information.sockets) == (2, None, None)


def test_lscpu_answers_where_cpuinfo_does_not(facts_of):
    facts = facts_of("container-v2")
    assert (facts.cpu.physical_cores, facts.cpu.sockets, facts.cpu.model) == (2, 1, "Neoverse-N1")
    assert parse_topology("#x\n0,0,0\n1,0,0\n2,1,1\n") == (2, 2)
    for parse in (parse_topology, parse_model):
        with pytest.raises(InputError):
            parse("# nothing\n")


def test_without_lscpu_the_count_stands_and_the_rest_is_a_problem(facts_of):
    facts = facts_of("bare-tools")
    assert facts.cpu.logical_cores == 1
    assert facts.cpu.physical_cores is None
    assert {"cpu-topology", "cpu-model"} <= {problem.probe for problem in facts.problems}


def test_a_machine_without_processors_is_a_problem(facts_of):
    facts = facts_of("bare-tools", ("|processor\t: 0\n", ""))
    assert facts.cpu is None
    assert any(problem.probe == "cpu" and "no processor" in problem.reason for problem in facts.problems)
