import pytest

from ullage.model.errors import InputError
from ullage.sources.host.pressure import parse_pressure

SOME = "some avg10=1.23 avg60=0.40 avg300=99.05 total=5564082\n"


def test_averages_are_hundredths_of_a_per_cent_and_totals_microseconds(facts_of):
    pressure = facts_of("kvm-host").pressure
    some = pressure.io.some
    averages = (some.avg10_basis_points, some.avg60_basis_points, some.avg300_basis_points)
    assert averages == (9999, 5000, 1010)
    assert pressure.io.full.total_microseconds == 9363303
    assert pressure.memory.full.total_microseconds == 11
    assert pressure.cpu.some.avg10_basis_points == 123


def test_older_kernels_have_no_full_line_for_cpu():
    pressure = parse_pressure(SOME, where="x")
    assert pressure.full is None
    assert pressure.some.avg300_basis_points == 9905


def test_a_kernel_without_pressure_is_one_problem_with_a_remedy(facts_of):
    facts = facts_of("hybrid")
    assert facts.pressure is None
    (problem,) = [problem for problem in facts.problems if problem.probe == "pressure"]
    assert "psi=1" in problem.remedy


def test_one_unreadable_file_costs_only_its_own_resource(facts_of):
    facts = facts_of("kvm-host", ("some avg10=99.99", "some avg10=much"))
    assert facts.pressure.io is None
    assert facts.pressure.memory is not None
    assert [problem.reason.partition(":")[0] for problem in facts.problems] == ["/proc/pressure/io"]


@pytest.mark.parametrize(
    "text", ["", "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", "some\n", SOME * 20]
)
def test_other_forms_are_refused(text):
    with pytest.raises(InputError):
        parse_pressure(text, where="x")
