"""What a Prometheus answers becomes columns, whatever stands in it."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.sources.usage.prometheus_answers import decode


def written(value):
    """A value as a Prometheus writes it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)


def answer(series, kind="matrix"):
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": series}}).encode()


@given(st.lists(st.lists(st.tuples(st.integers(0, 2**40), st.floats()), max_size=5), max_size=5))
def test_every_sample_is_there_in_order_and_what_is_no_number_is_nan(series):
    found = decode(
        answer(
            [
                {
                    "metric": {"pod": f"p{number}", "unknown": "x"},
                    "values": [[at, written(value)] for at, value in values],
                }
                for number, values in enumerate(series)
            ]
        )
    )
    assert [each.pod for each in found.labels] == [f"p{number}" for number in range(len(series))]
    flat = [(number, at, value) for number, values in enumerate(series) for at, value in values]
    assert found.numbers.tolist() == [number for number, _, _ in flat]
    assert found.seconds.tolist() == [at for _, at, _ in flat]
    expected = [value if math.isfinite(value) else math.nan for _, _, value in flat]
    np.testing.assert_array_equal(found.values, expected)


def test_an_answer_of_one_moment_has_one_sample_each():
    found = decode(answer([{"metric": {}, "value": [1700000000.781, "7"]}], "vector"))
    assert (found.seconds.tolist(), found.values.tolist()) == ([1700000000.781], [7.0])


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"[]",
        b"<html>",
        b'{"data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"x"]]}]}}',
        b'{"data":{"resultType":"scalar","result":[1,"1"]}}',
        b'{"data":' * 5000,
    ],
)
def test_what_is_no_answer_is_none(text):
    assert decode(text) is None
