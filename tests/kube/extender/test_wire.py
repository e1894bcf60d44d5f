"""The protocol as Go writes it: keys are names of fields, and what is empty may be null."""

import json

import msgspec
import pytest

from ullage.kube.extender.wire import (
    BINDING_ARGS,
    EXTENDER_ARGS,
    PREEMPTION_ARGS,
    BindingArgs,
    BindingResult,
    FilterResult,
    HostPriority,
    MetaPod,
    MetaVictims,
    PreemptionResult,
)

POD = '{"metadata":{"name":"p","namespace":"a","uid":"u1","labels":{"x":"y"}},"spec":{"containers":null}}'


def written(value: object) -> object:
    return json.loads(msgspec.json.encode(value))


def test_a_question_about_nodes_is_read():
    asked = EXTENDER_ARGS.decode(f'{{"Pod":{POD},"Nodes":null,"NodeNames":["n1","n2"]}}')
    assert (asked.pod.metadata.key, asked.pod.metadata.uid) == ("a/p", "u1")
    assert asked.node_names == ["n1", "n2"]


def test_whole_nodes_are_no_names():
    assert EXTENDER_ARGS.decode(f'{{"Pod":{POD},"Nodes":{{"items":[]}},"NodeNames":null}}').node_names is None


def test_a_question_about_victims_is_read():
    victims = '{"n1":{"Pods":[{"UID":"v1"}],"NumPDBViolations":2},"n2":{"Pods":null,"NumPDBViolations":0}}'
    text = f'{{"Pod":{POD},"NodeNameToVictims":null,"NodeNameToMetaVictims":{victims}}}'
    found = PREEMPTION_ARGS.decode(text).node_name_to_meta_victims
    assert found["n1"] == MetaVictims([MetaPod("v1")], 2)
    assert found["n2"].pods is None


def test_a_bind_is_read():
    asked = BINDING_ARGS.decode('{"PodName":"p","PodNamespace":"a","PodUID":"u1","Node":"n1"}')
    assert asked == BindingArgs("p", "a", "n1", "u1")
    assert asked.key == "a/p"


@pytest.mark.parametrize(
    ("answer", "keys"),
    [
        (
            FilterResult(["n1"], {}, {"n2": "why"}),
            {
                "NodeNames": ["n1"],
                "FailedNodes": {},
                "FailedAndUnresolvableNodes": {"n2": "why"},
                "Error": "",
            },
        ),
        ([HostPriority("n1", 10)], [{"Host": "n1", "Score": 10}]),
        (
            PreemptionResult({"n1": MetaVictims([MetaPod("v1")])}),
            {"NodeNameToMetaVictims": {"n1": {"Pods": [{"UID": "v1"}], "NumPDBViolations": 0}}},
        ),
        (BindingResult("why"), {"Error": "why"}),
        (
            BindingArgs("p", "a", "n1", "u1"),
            {"PodName": "p", "PodNamespace": "a", "PodUID": "u1", "Node": "n1"},
        ),
    ],
)
def test_answers_have_the_keys_of_the_protocol(answer, keys):
    assert written(answer) == keys
