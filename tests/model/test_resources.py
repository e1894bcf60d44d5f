"""Resource types and maps: which names there are, what is known of a type, and how maps of amounts add up."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.model.errors import InputError
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import (
    BUILT_IN,
    NOTHING,
    Amount,
    Resources,
    ResourceType,
    ResourceTypes,
    canonical_name,
    check_units,
)

LICENCES = ResourceType("example.com/licences", "licence")
LABEL_RULE = "use lower-case letters, digits and '-' between dots, at most 63 each"
LETTERS_RULE = "may hold only letters, digits, '.', '_' and '-', and starts and ends with a letter or digit"
WRITE_DIGITS = "write digits, then nothing or a suffix, for example 500m, 2.5 or 40Mi"
NO_DIGIT = f"quantity 'x': 'x' at character 1 where a digit is expected; {WRITE_DIGITS}"


def message(call, *arguments):
    with pytest.raises(InputError) as refused:
        call(*arguments)
    return str(refused.value)


# Names


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("cpu", "cpu"),
        ("kubernetes.io/cpu", "cpu"),
        ("kubernetes.io/memory", "memory"),
        ("pods", "pods"),
        ("ephemeral-storage", "ephemeral-storage"),
        ("disk-space", "storage-space"),
        ("kubernetes.io/disk-space", "storage-space"),
        ("kubernetes.io/storage-space", "storage-space"),
        ("hugepages-2Mi", "hugepages-2Mi"),
        ("kubernetes.io/hugepages-1Gi", "hugepages-1Gi"),
        ("attachable-volumes-aws-ebs", "attachable-volumes-aws-ebs"),
        ("kubernetes.io/attachable-volumes-csi-x", "attachable-volumes-csi-x"),
        ("nos.nebuly.com/gpu-memory", "nos.nebuly.com/gpu-memory"),
        ("example.com/Shiny_New-Resource.Type", "example.com/Shiny_New-Resource.Type"),
        ("nvidia.com/gpu", "nvidia.com/gpu"),
        ("a/b", "a/b"),
        ("1.2-3.x/9", "1.2-3.x/9"),
        ("example.com/cpu", "example.com/cpu"),
        (f"example.com/{'n' * 63}", f"example.com/{'n' * 63}"),
        (f"{'d' * 63}.com/n", f"{'d' * 63}.com/n"),
    ],
)
def test_a_name_has_one_canonical_spelling(name, canonical):
    assert canonical_name(name) == canonical
    assert canonical_name(canonical) == canonical


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "is empty; give it a name"),
        ("example.com/", "is empty after the '/'; give it a name"),
        ("kubernetes.io/", "is empty after the '/'; give it a name"),
        ("/gpu", "has nothing before the '/'; write DOMAIN/NAME"),
        ("a.com/b/c", "has more than one '/'; write DOMAIN/NAME"),
        ("gpu", "is not built in and names no domain; qualify it, for example example.com/gpu"),
        (
            "kubernetes.io/gpu",
            "is not a type of the reserved domain kubernetes.io; use a domain of your own",
        ),
        ("example.com/-x", f"part '-x' {LETTERS_RULE}; rename it"),
        ("example.com/x.", f"part 'x.' {LETTERS_RULE}; rename it"),
        ("example.com/a b", f"part 'a b' {LETTERS_RULE}; rename it"),
        ("example.com/x\n", f"part 'x\\n' {LETTERS_RULE}; rename it"),
        ("c%u", f"part 'c%u' {LETTERS_RULE}; rename it"),
        ("hugepages-", f"part 'hugepages-' {LETTERS_RULE}; rename it"),
        ("hugepages-+2Mi", f"part 'hugepages-+2Mi' {LETTERS_RULE}; rename it"),
        ("hugepages-0", "has no page size; write it as hugepages-2Mi"),
        ("hugepages--2Mi", "has no page size; write it as hugepages-2Mi"),
        ("attachable-volumes-", f"part 'attachable-volumes-' {LETTERS_RULE}; rename it"),
        (f"a.io/{'n' * 64}", "has 64 characters after the '/'; use at most 63"),
        ("A.com/x", f"domain 'A.com' is not an RFC 1123 subdomain (part 'A'); {LABEL_RULE}"),
        ("a..b/x", f"domain 'a..b' is not an RFC 1123 subdomain (part ''); {LABEL_RULE}"),
        ("a.-b/x", f"domain 'a.-b' is not an RFC 1123 subdomain (part '-b'); {LABEL_RULE}"),
        ("a_b.c/x", f"domain 'a_b.c' is not an RFC 1123 subdomain (part 'a_b'); {LABEL_RULE}"),
    ],
)  # fmt: skip
def test_a_bad_name_is_answered_with_the_rule_it_breaks(name, problem):
    assert message(canonical_name, name) == f"resource name {name!r} {problem}"


def test_a_domain_has_at_most_253_characters_and_its_parts_63():
    part = "d" * 64
    assert f"(part '{part}')" in message(canonical_name, f"{part}.c/x")
    domain = ".".join(["d" * 63, "d" * 63, "d" * 63, "d" * 61])
    assert len(domain) == 253
    assert canonical_name(f"{domain}/x") == f"{domain}/x"
    assert message(canonical_name, f"{domain}d/x").endswith(
        " has a domain of 254 characters; use at most 253"
    )


def test_a_long_bad_name_is_cut_where_it_is_shown():
    assert message(canonical_name, "a" * 80).startswith(f"resource name '{'a' * 80}' has 80")
    assert message(canonical_name, "a" * 81).startswith(f"resource name '{'a' * 77}…' has 81")


def test_a_page_size_that_is_no_quantity_is_answered_with_the_name():
    assert message(canonical_name, "hugepages-big") == (
        f"hugepages-big: quantity 'big': 'b' at character 1 where a digit is expected; {WRITE_DIGITS}"
    )


@given(st.text(max_size=20) | st.from_regex(r"([a-z.]{0,6}/)?[A-Za-z0-9._-]{0,8}", fullmatch=True))
def test_every_text_is_a_name_or_a_clear_error_and_canonical_names_stay(name):
    try:
        canonical = canonical_name(name)
    except InputError:
        return
    assert canonical_name(canonical) == canonical


# Types


@pytest.mark.parametrize(
    ("name", "units", "exponent", "compressible"),
    [
        ("cpu", "kcu-second per second", 3, True),
        ("memory", "byte", 0, False),
        ("ephemeral-storage", "byte", 0, False),
        ("pods", "pod", 0, False),
        ("storage-space", "byte", 0, False),
        ("storage-time", "second per second", 3, True),
        ("storage-iops", "operation per second", 0, True),
        ("network-bandwidth", "byte per second", 0, True),
        ("network-iops", "operation per second", 0, True),
        ("nos.nebuly.com/gpu-memory", "gigabyte", 0, False),
        ("ullage.dev/gpu-milli", "milligpu", 0, False),
        ("ullage.dev/ssd-space", "byte", 0, False),
        ("ullage.dev/hdd-space", "byte", 0, False),
        ("ullage.dev/public-addresses", "address", 0, False),
    ],
)
def test_a_built_in_type_has_these_properties(name, units, exponent, compressible):
    expected = ResourceType(name, units, exponent, compressible)
    assert BUILT_IN[name] == expected
    assert ResourceTypes()[name] == expected
    assert check_units(units) == units


def test_these_types_are_built_in_and_no_others():
    assert len(BUILT_IN) == 14
    assert [each.name for each in ResourceTypes().known()] == sorted(BUILT_IN)
    assert ResourceTypes().added() == ()


def test_a_type_without_metadata_is_whole_incompressible_and_without_default():
    unknown = ResourceTypes()["example.com/unknown"]
    assert unknown == ResourceType("example.com/unknown", "", 0, is_compressible=False, default_request=None)
    assert unknown.quantization == 1
    assert unknown.default_amount() == 0
    assert unknown.parse("1500m") == 2


def test_hugepages_are_bytes_in_steps_of_their_page():
    assert ResourceTypes()["hugepages-2Mi"] == ResourceType("hugepages-2Mi", "byte", quantization=2 << 20)
    assert ResourceTypes()["hugepages-1Gi"].quantization == 1 << 30
    assert ResourceTypes()["hugepages-1"].quantization == 1
    assert ResourceTypes()["attachable-volumes-x"] == ResourceType("attachable-volumes-x")


@pytest.mark.parametrize(
    ("kind", "text", "amount", "printed", "readable"),
    [
        (BUILT_IN["cpu"], "2.5", 2500, "2500m", "2.5"),
        (BUILT_IN["cpu"], "12000", 12_000_000, "12000", "12k"),
        (BUILT_IN["memory"], "129M", 129_000_000, "129000000", "123.02Mi"),
        (BUILT_IN["memory"], "1.5Ki", 1536, "1536", "1.5Ki"),
        (BUILT_IN["pods"], "12000", 12_000, "12k", "12k"),
        (BUILT_IN["network-bandwidth"], "1Ki", 1024, "1024", "1024"),
        (ResourceType("example.com/x", "bytes"), "1Ki", 1024, "1Ki", "1Ki"),
        (ResourceType("example.com/x", "byte", 3), "1Ki", 1_024_000, "1024", "1024"),
        (ResourceType("example.com/x", "", 6), "0.5", 500_000, "500m", "500m"),
    ],
)
def test_a_type_reads_and_prints_amounts_in_its_own_steps(kind, text, amount, printed, readable):
    assert kind.parse(text) == amount
    assert kind.print(amount) == printed
    assert kind.readable(amount) == readable
    assert kind.parse(printed) == amount


def test_only_whole_bytes_print_with_binary_suffixes():
    assert [each.name for each in ResourceTypes().known() if each.is_bytes] == [
        "ephemeral-storage", "memory", "storage-space", "ullage.dev/hdd-space", "ullage.dev/ssd-space",
    ]  # fmt: skip
    assert not ResourceType("example.com/x", "byte", 1).is_bytes
    assert not ResourceType("example.com/x", "gigabyte").is_bytes


def test_a_default_request_is_read_in_the_types_own_steps():
    assert ResourceType("example.com/x", "", 3, default_request="0.1").default_amount() == 100
    assert ResourceType("example.com/x", default_request="0").default_amount() == 0


@pytest.mark.parametrize(
    ("step", "amount", "rounded"), [(1, 7, 7), (4, 0, 0), (4, 1, 4), (4, 4, 4), (4, 5, 8), (4, 8, 8)]
)
def test_a_request_rounds_up_to_what_can_be_handed_out(step, amount, rounded):
    assert ResourceType("example.com/x", quantization=step).quantized(amount) == rounded


@pytest.mark.parametrize(
    "units",
    ["", "byte", "second per second", "kcu-second per second", "per second", "a b per c d", "B_2"],
)
def test_units_are_any_number_of_words_then_per_and_at_least_one(units):
    assert check_units(units) == units


@pytest.mark.parametrize(
    ("units", "problem"),
    [
        ("per", "one 'per', with a unit behind it; write 'byte per second'"),
        ("byte per", "one 'per', with a unit behind it; write 'byte per second'"),
        ("byte per second per second", "one 'per', with a unit behind it; write 'byte per second'"),
        ("per per second", "one 'per', with a unit behind it; write 'byte per second'"),
        ("byte/second", "'byte/second' is no unit; use words such as 'byte'"),
        ("byte per 2", "'2' is no unit; use words such as 'byte'"),
        ("-x", "'-x' is no unit; use words such as 'byte'"),
    ],
)
def test_other_units_are_refused(units, problem):
    assert message(check_units, units) == f"units {units!r}: {problem}"


# The registry


def test_users_add_types_and_find_them_by_name():
    seats = ResourceType("example.com/seats", "seat", 3, is_compressible=True)
    types = ResourceTypes([seats, LICENCES])
    assert types["example.com/licences"] == LICENCES
    assert types["example.com/seats"] == seats
    assert types.added() == (LICENCES, seats)
    assert types.known() == tuple(sorted([*BUILT_IN.values(), LICENCES, seats], key=lambda each: each.name))


def test_registries_are_equal_when_their_types_are():
    first = ResourceTypes([LICENCES, ResourceType("a.io/b")])
    second = ResourceTypes([ResourceType("a.io/b"), LICENCES])
    assert first == second
    assert hash(first) == hash(second)
    assert first != ResourceTypes()
    assert hash(first) != hash(ResourceTypes())
    assert ResourceTypes() != "types"
    assert ResourceTypes([LICENCES, LICENCES]) == ResourceTypes([LICENCES])


def test_a_built_in_type_may_be_restated_but_not_changed():
    cpu = msgspec.structs.replace(BUILT_IN["cpu"], name="kubernetes.io/cpu")
    assert ResourceTypes([cpu, BUILT_IN["memory"]]) == ResourceTypes()


def with_field(**changed):
    return msgspec.structs.replace(LICENCES, **changed)


@pytest.mark.parametrize(
    ("added", "problem"),
    [
        ([with_field(name="x")],
         "resource name 'x' is not built in and names no domain; qualify it, for example example.com/x"),
        ([with_field(name="cpu")], "resource type cpu is built in; give your own type a domain of your own"),
        ([with_field(name="kubernetes.io/disk-space")],
         "resource type storage-space is built in; give your own type a domain of your own"),
        ([with_field(name="hugepages-2Mi")],
         "resource type hugepages-2Mi is built in; give your own type a domain of your own"),
        ([with_field(name="attachable-volumes-x")],
         "resource type attachable-volumes-x is built in; give your own type a domain of your own"),
        ([LICENCES, with_field(units="seat")],
         "resource type example.com/licences is defined twice; keep one"),
        ([with_field(units="per")], "units 'per': one 'per', with a unit behind it; write 'byte per second'"),
        ([with_field(internal_scale_exponent=-1)],
         "resource type example.com/licences: internalScaleExponent -1; use 0 to 9"),
        ([with_field(internal_scale_exponent=10)],
         "resource type example.com/licences: internalScaleExponent 10; use 0 to 9"),
        ([with_field(quantization=0)], "resource type example.com/licences: quantization 0; use 1 or more"),
        ([with_field(quantization=2**63)],
         "resource type example.com/licences: quantization 9223372036854775808; use 1 or more"),
        ([with_field(default_request="-1")],
         "resource type example.com/licences: defaultRequest is negative; use 0 or more"),
        ([with_field(default_request="x")],
         f"resource type example.com/licences: defaultRequest: {NO_DIGIT}"),
    ],
)  # fmt: skip
def test_a_type_that_cannot_be_registered_is_refused(added, problem):
    assert message(ResourceTypes, added) == problem


@pytest.mark.parametrize(
    "accepted",
    [
        with_field(internal_scale_exponent=0),
        with_field(internal_scale_exponent=9),
        with_field(quantization=1),
        with_field(quantization=INT64_MAX),
        with_field(default_request="0"),
        with_field(default_request="2"),
    ],
)
def test_a_type_at_the_bounds_is_registered(accepted):
    assert ResourceTypes([accepted]).added() == (accepted,)


# Maps as they are written


def test_a_map_is_read_with_canonical_names_and_exact_amounts():
    written = {"kubernetes.io/cpu": 2.5, "memory": "40Mi", "example.com/x": 3, "disk-space": "1k"}
    expected = {"cpu": 2500, "memory": 40 << 20, "example.com/x": 3, "storage-space": 1000}
    assert ResourceTypes().parse(written) == Resources(expected)
    assert ResourceTypes().parse(iter(written.items())) == Resources(expected)


def test_a_map_is_printed_in_canonical_quantities():
    amounts = Resources({"memory": 40 << 20, "cpu": 2500, "example.com/x": 3000})
    assert ResourceTypes().print(amounts) == {"cpu": "2500m", "example.com/x": "3k", "memory": "40Mi"}
    assert list(ResourceTypes().print(amounts)) == ["cpu", "example.com/x", "memory"]


def test_registered_types_decide_how_a_map_is_read():
    types = ResourceTypes([ResourceType("example.com/x", "", 3)])
    assert types.parse({"example.com/x": "1.5"}) == Resources({"example.com/x": 1500})
    assert types.print(Resources({"example.com/x": 1500})) == {"example.com/x": "1500m"}


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ([("cpu", 1), ("kubernetes.io/cpu", 1)], "resource cpu is named twice; keep one of the spellings"),
        (
            [("storage-space", 1), ("disk-space", 1)],
            "resource storage-space is named twice; keep one of the spellings",
        ),
        ({"cpu": None}, "cpu: None is no quantity; write a number or text such as 40Mi"),
        ({"cpu": True}, "cpu: True is no quantity; write a number or text such as 40Mi"),
        ({"cpu": []}, "cpu: [] is no quantity; write a number or text such as 40Mi"),
        ({"memory": 2**63}, "memory: an integer of 64 bits does not fit; use at most 63 bits"),
        ({"memory": -(2**63)}, "memory: an integer of 64 bits does not fit; use at most 63 bits"),
        ({"memory": 1 << 20_000}, "memory: an integer of 20001 bits does not fit; use at most 63 bits"),
        ({"kubernetes.io/memory": "x"}, f"kubernetes.io/memory: {NO_DIGIT}"),
        (
            {"cpu": float("nan")},
            f"cpu: quantity 'nan': 'n' at character 1 where a digit is expected; {WRITE_DIGITS}",
        ),
        ({"cpu": 2**60}, "cpu: quantity '1152921504606846976' does not fit 64 bits; use a smaller amount"),
    ],
)
def test_a_map_that_cannot_be_read_says_what_and_where(written, problem):
    assert message(ResourceTypes().parse, written) == problem


def test_the_largest_integers_are_read():
    written = {"memory": INT64_MAX, "pods": -INT64_MAX}
    assert dict(ResourceTypes().parse(written)) == written


# Maps of amounts

NAMES = st.sampled_from(["cpu", "memory", "pods", "example.com/a", "example.com/b"])
MAPS = st.dictionaries(NAMES, st.integers(-(10**12), 10**12)).map(Resources)


@given(MAPS, MAPS, MAPS)
def test_sums_do_not_depend_on_order_or_grouping(left, middle, right):
    assert left + right == right + left
    assert (left + middle) + right == left + (middle + right)
    assert left + NOTHING == left


@given(MAPS, MAPS)
def test_what_was_added_can_be_taken_away_again(left, right):
    assert (left + right - right).without_zeros() == left.without_zeros()
    assert set(left + right) == {*left, *right} == set(left - right)
    assert left - right == left + right * -1


@given(MAPS, MAPS, MAPS)
def test_the_larger_of_two_maps_is_taken_name_by_name(left, middle, right):
    assert left.larger(left) == left
    assert left.larger(right) == right.larger(left)
    assert left.larger(middle).larger(right) == left.larger(middle.larger(right))
    assert all(left.larger(right).of(name) == max(left.of(name), right.of(name)) for name in {*left, *right})


@given(MAPS, st.integers(0, 5))
def test_a_multiple_is_a_repeated_sum(amounts, times):
    total = amounts * 0
    for _ in range(times):
        total += amounts
    assert amounts * times == total


@given(st.dictionaries(NAMES, st.integers(-5, 5)), st.randoms(use_true_random=False))
def test_equality_and_hash_do_not_depend_on_order(amounts, chance):
    pairs = list(amounts.items())
    chance.shuffle(pairs)
    assert Resources(pairs) == Resources(amounts)
    assert hash(Resources(pairs)) == hash(Resources(amounts))
    assert list(Resources(pairs)) == sorted(amounts)


def test_a_map_behaves_as_a_mapping():
    amounts = Resources({"memory": 2, "cpu": 1})
    assert (list(amounts), len(amounts), dict(amounts)) == (["cpu", "memory"], 2, {"cpu": 1, "memory": 2})
    assert amounts["memory"] == 2
    assert "cpu" in amounts
    assert "pods" not in amounts
    assert repr(amounts) == "Resources({'cpu': 1, 'memory': 2})"
    with pytest.raises(KeyError, match="pods"):
        amounts["pods"]


def test_a_resource_that_is_not_named_counts_nothing_but_is_not_named_by_asking():
    amounts = Resources({"cpu": 5})
    assert (amounts.of("cpu"), amounts.of("pods")) == (5, 0)
    assert "pods" not in amounts
    assert amounts != Resources({"cpu": 5, "pods": 0})


def test_maps_differ_from_other_things_and_by_amount():
    assert Resources({"cpu": 1}) != {"cpu": 1}
    assert Resources({"cpu": 1}) != Resources({"cpu": 2})
    assert hash(Resources({"cpu": 1})) != hash(Resources({"cpu": 2}))
    assert Resources([]) == NOTHING
    with pytest.raises(TypeError):
        Resources({"cpu": 1}) + {"cpu": 1}


def test_parts_of_a_map():
    amounts = Resources({"cpu": -1, "memory": 0, "pods": 2})
    assert amounts.at_least_zero() == Resources({"cpu": 0, "memory": 0, "pods": 2})
    assert amounts.without_zeros() == Resources({"cpu": -1, "pods": 2})
    assert amounts.only(["pods", "absent"]) == Resources({"pods": 2})
    assert amounts.only(()) == NOTHING


@pytest.mark.parametrize("sign", [1, -1])
def test_an_amount_beyond_64_bits_is_refused_wherever_it_arises(sign):
    most = Resources({"cpu": sign * INT64_MAX})
    assert most["cpu"] == sign * INT64_MAX
    beyond = f"cpu: {sign * 2**63} does not fit 64 bits; use a smaller amount"
    assert message(Resources, {"cpu": sign * 2**63}) == beyond
    assert message(lambda: most + Resources({"cpu": sign})) == beyond
    assert message(lambda: most - Resources({"cpu": -sign})) == beyond
    with pytest.raises(InputError):
        most * 2


def test_an_amount_is_its_resource_and_its_value():
    amount = Amount("cpu", 2500)
    assert amount == Amount("cpu", 2500)
    assert hash(amount) == hash(Amount("cpu", 2500))
    assert amount != Amount("memory", 2500)
    assert amount != Amount("cpu", 2501)
    assert amount != ("cpu", 2500)
    assert len({amount, Amount("cpu", 2500), Amount("cpu", 1), Amount("pods", 2500)}) == 3
    assert repr(amount) == "Amount('cpu', 2500)"
