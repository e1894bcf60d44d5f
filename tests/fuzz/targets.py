"""What is fuzzed: one function per parser, from bytes to nothing, that may raise InputError and nothing else.

A new parser gets a function here with the decorator and a few inputs to begin with. Its module is
imported inside the function, so that a run loads nothing else and the module can be instrumented first.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

Run = Callable[[bytes], None]


class Target(NamedTuple):
    """A parser under test and the inputs its fuzzing begins with."""

    run: Run
    seeds: Sequence[bytes]


TARGETS: dict[str, Target] = {}


def target(*seeds: bytes) -> Callable[[Run], Run]:
    """Enter a function into the list of targets under its name, with dashes."""

    def enter(run: Run) -> Run:
        TARGETS[run.__name__.replace("_", "-")] = Target(run, seeds)
        return run

    return enter


@target(
    b"kind: Pod\nspec: {containers: [{name: a, resources: {requests: {cpu: 2.50, memory: 1Gi}}}]}\n",
    b"a: &a [x, y]\nb: &b [*a, *a]\nc: [*b, *b]\n---\n<<: {on: 0755, ~: 1e3}\n",
    b"base: &b {x: 1}\nd: {<<: [*b, {y: 2}], x: 3}\n",
    b"? !!int 0x1F\n: |\n  text\n - 'q'\n- \"\\u00e9\\n\"\n\tx: >-\n",
    b"a: 1\na: 2\n---\n...\n%TAG ! tag:x,2000:\n--- !x {b}\n",
    b"- - - - - [[[[[{a: [b, {c: d}]}]]]]]\n",
)
def yaml_documents(data: bytes) -> None:
    """Any text as YAML, small limits, so that each of them is met."""
    from ullage.sources.limits import Limits
    from ullage.sources.yaml_places import find_place
    from ullage.sources.yaml_text import iter_yaml_values

    limits = Limits(depth_max=8, yaml_nodes_max=300, yaml_aliases_max=10, yaml_text_characters_max=200)
    for index, value in iter_yaml_values(data, "f.yaml", limits):
        path = [next(iter(value))] if isinstance(value, dict) and value else [0]
        find_place(data, index, tuple(path))


class Record(msgspec.Struct):
    """A record with the shapes that Kubernetes' objects have."""

    name: str = ""
    sizes: dict[str, int | str] = {}
    on: bool = False
    items: list["Record"] = []


RECORD = msgspec.json.Decoder(Record)


@target(
    b'{"kind": "List", "items": [{"name": "a", "sizes": {"x": 1, "y.z/w": "2Gi"}, "on": true}]}',
    b'{"name": "a"}\n{"name": "b", "sizes": {"x": []}}\n[null, 1.5e3, -0]',
    b'\xef\xbb\xbf {"name": "\\ud83d\\ude00\\n", "name": 2}',
    b'{"items": [{"items": [{"items": [[[[{"name": 1}]]]]}]}]}',
    b'{"items": [{"name": "a"}, {"name": "tru',
    b"name: a\nsizes: {x: 1}\nitems:\n- name: 5\n",
)
def documents(data: bytes) -> None:
    """Any text as documents of a typed record, JSON or YAML by its content."""
    from ullage.sources.documents import documents_of

    for document in documents_of(data, "f"):
        document.reject_duplicate_keys()
        document.decode(RECORD)


@target(
    b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xab\xae\x05\0\x43\xbf\xa6\xa3\x02\0\0\0", b"{}", b"a: 1", b"\xff\xfea\0"
)
def input_streams(data: bytes) -> None:
    """Any bytes as standard input, compressed or not."""
    import io

    from ullage.sources.documents import read_documents
    from ullage.sources.limits import Limits

    limits = Limits(file_bytes_max=100_000, documents_max=50)
    for _ in read_documents("-", limits=limits, stdin=io.BytesIO(data)):
        pass


@target(
    b"2.5",
    b"128974848",
    b"129e6",
    b"123Mi",
    b"-.5Ei",
    b"+1E",
    b"1e-9",
    b"500mi",
    b"9223372036854775807",
    b"0.0000000001n",
)
def quantities(data: bytes) -> None:
    """Any text as a quantity: what is read prints to text that reads back as the same amount."""
    from ullage.model.quantity import parse_amount, parse_nano, print_scaled

    text = data.decode("utf-8", "replace")
    nano = parse_nano(text)
    assert parse_nano(print_scaled(nano, 9)) == nano
    parse_amount(text, 3)


@target(
    b"cpu=1",
    b"kubernetes.io/cpu=2,cpu=1",
    b"example.com/Shiny_New-Resource.Type=5k",
    b"hugepages-2Mi=4Mi,memory=1Gi",
)
def resource_maps(data: bytes) -> None:
    """Any names with any quantities."""
    from ullage.model.resources import ResourceTypes

    types = ResourceTypes()
    pairs = [part.partition("=")[::2] for part in data.decode("utf-8", "replace").split(",")]
    found = types.parse(pairs)
    assert types.parse(types.print(found)) == found


@target(b"byte per second", b"", b"operation operation per second second", b"per per")
def units(data: bytes) -> None:
    """Any text as the units of a resource type."""
    from ullage.model.resources import check_units

    check_units(data.decode("utf-8", "replace"))


@target(
    b"memory-reserve=10%, at least 2Gi, at most 8Gi", b"cpu-ratio=4/3", b"spare-nodes=2", b"cache-unit=5Gi"
)
def policy_settings(data: bytes) -> None:
    """Any key with any text as a setting."""
    from ullage.model.resources import ResourceTypes
    from ullage.model.settings import check_setting

    key, _, text = data.decode("utf-8", "replace").partition("=")
    check_setting(key, text, ResourceTypes())


NODE = (
    b'{"kind":"Node","metadata":{"name":"n1","labels":{"a":"b"}},"spec":{"taints":[{"key":"k","effect":"NoSchedule"}]},'
    b'"status":{"capacity":{"cpu":"4","memory":"8Gi"},"allocatable":{"cpu":"3900m","memory":"7Gi"}}}'
)
POD = (
    b'{"kind":"Pod","metadata":{"name":"p","namespace":"a"},"spec":{"nodeName":"n1","containers":[{"name":"c",'
    b'"resources":{"requests":{"cpu":"100m","memory":"1Gi"},"limits":{"memory":"1Gi"}}}],"overhead":{"cpu":"10m"}}}'
)


OBJECTS = (
    b'{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"v","labels":{"a":"b"}},"spec":{"capacity":'
    b'{"storage":"1Gi"},"claimRef":{"name":"c","namespace":"a"},"csi":{"driver":"d"},"nodeAffinity":{"required":'
    b'{"nodeSelectorTerms":[{"matchExpressions":[{"key":"z","operator":"In","values":["a"]}]}]}}}}\n'
    b'{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c","annotations":{"a":"b"}},"spec":'
    b'{"volumeName":"v","selector":{"matchLabels":{"a":"b"}},"accessModes":["ReadWriteOnce"]}}\n'
    b'{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"s"},"provisioner":"p",'
    b'"allowedTopologies":[{"matchLabelExpressions":[{"key":"z","values":["a"]}]}]}\n'
    b'{"apiVersion":"storage.k8s.io/v1","kind":"CSIStorageCapacity","metadata":{"name":"s"},"nodeTopology":{},'
    b'"capacity":"1Gi","maximumVolumeSize":"1"}\n'
    b'{"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"n1"},"spec":{"drivers":[{"name":"d",'
    b'"allocatable":{"count":3}}]}}\n'
    b'{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"l"},"spec":{"limits":[{"type":"Pod","max":'
    b'{"cpu":"1","storage":"1Gi"},"maxLimitRequestRatio":{"cpu":"2.5"}}]}}\n'
    b'{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"},"spec":{"hard":{"pods":"3"},"scopeSelector":'
    b'{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In","values":["a"]}]}},"status":{"used":{}}}\n'
    b'{"apiVersion":"node.k8s.io/v1","kind":"RuntimeClass","metadata":{"name":"r"},"overhead":{"podFixed":'
    b'{"cpu":"1"}},"scheduling":{"nodeSelector":{"a":"b"},"tolerations":[{"key":"k"}]}}\n'
    b'{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"p"},"value":3,'
    b'"globalDefault":true,"preemptionPolicy":"Never"}\n'
    b'{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b"},"spec":{"minAvailable":"50%",'
    b'"selector":null},"status":{"disruptionsAllowed":1}}\n'
    b'{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},"spec":{"driver":"d","pool":'
    b'{"name":"p","generation":2},"nodeName":"n1","devices":[{"name":"g"}]}}'
)


@target(
    b'{"kind":"List","items":[' + NODE + b"," + POD + b"]}",
    NODE + b"\n" + POD,
    OBJECTS,
    b"apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {capacity: {cpu: 4}}\n",
)
def kubernetes_dumps(data: bytes) -> None:
    """Any bytes as a dump of a cluster."""
    import io

    from ullage.sources.kubernetes.dump import read_dump

    read_dump("-", stdin=io.BytesIO(data))


@target(
    POD,
    POD + OBJECTS,
    b"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  replicas: 3\n"
    b"  template: {spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}\n",
    b"kind: CronJob\nmetadata: {name: j}\nspec: {jobTemplate: {spec: {parallelism: 2, template: {spec: "
    b"{containers: [{name: c}]}}}}}\n---\nkind: PersistentVolumeClaim\nmetadata: {name: v}\n"
    b"spec: {resources: {requests: {storage: 1Gi}}}\n",
    b"resourceRequirementSpec: [request: [cpu: 2.5, memory: 40Mi], limit: [cpu: 4.0]]\n",
)
def manifests(data: bytes) -> None:
    """Any bytes as manifests."""
    import io

    from ullage.sources.kubernetes.manifests import read_manifests

    read_manifests("-", stdin=io.BytesIO(data))


@target(
    b"apiVersion: ullage.dev/v1\nkind: Snapshot\nnodes:\n- {name: n1, capacity: {cpu: 4}}\nworkloads:\n"
    b"- {name: w, node: n1, requests: {cpu: 1}}\nquotas:\n- {name: q, namespaces: [a], min: {cpu: 1}}\n",
    b"apiVersion: ullage.dev/v1\nkind: WorkloadSet\nworkloads:\n"
    b"- {name: w, replicas: 2, containers: [{name: c}]}\n",
    b"apiVersion: ullage.dev/v1\nkind: Delta\nrevision: 1\ndropped: {nodes: [n1], limitRanges: [l]}\n",
    b"apiVersion: ullage.dev/v1\nkind: Snapshot\nlimitRanges:\n"
    b"- {name: l, items: [{kind: Pod, max: {cpu: 1}, limitRequestRatioMax: {cpu: 2}}]}\n"
    b"resourceQuotas:\n- {name: q, hard: {pods: '3'}}\n"
    b"disruptionBudgets:\n- {name: b, minAvailable: '1', selector: {}}\n"
    b"storageCapacities:\n- {name: c, capacityBytes: 1}\n",
    b"apiVersion: ullage.dev/v1\nkind: Policy\nname: p\ninherits: zos\ncluster: {memory-ratio: 1.5}\n",
    b"apiVersion: ullage.dev/v1\nkind: ResourceTypes\nresourceTypes:\n- {name: example.com/a, units: byte}\n",
)
def own_documents(data: bytes) -> None:
    """Any bytes as documents of our own format."""
    from ullage.sources.documents import documents_of
    from ullage.sources.own_format import read_own

    for document in documents_of(data, "f"):
        read_own(document)


def _small_snapshot() -> bytes:
    from ullage.model.cluster import Node, Snapshot, Workload
    from ullage.model.resources import Resources
    from ullage.model.table import Table
    from ullage.sources.snapshot_file import snapshot_bytes

    node = Node("n1", Resources({"cpu": 4000}))
    return snapshot_bytes(Snapshot(nodes=Table([node]), workloads=Table([Workload("w", node="n1")])))


@target(_small_snapshot(), _small_snapshot()[:-4], b"ullage")
def binary_snapshots(data: bytes) -> None:
    """Any bytes as a binary snapshot."""
    from ullage.sources.snapshot_file import snapshot_of_bytes

    snapshot_of_bytes(data, "f.ullage")


@target(
    b"name,cpu,memory,gpu,model\nn1,4,8Gi,1,L4\n",
    b"name,node,cpu,memory,replicas\nw,n1,1,1Gi,3\n",
    b"sn,cpu_milli,memory_mib,gpu,model\nn1,4000,8192,2,G2\n",
)
def tables(data: bytes) -> None:
    """Any bytes as CSV tables."""
    from ullage.sources.csv_source import csv_snapshot
    from ullage.sources.input_files import InputFile

    csv_snapshot([InputFile("nodes.csv", data)])


@target(
    b"ullage-host-bundle 1\n@file /proc/meminfo\n|MemTotal: 1 kB\n@size /\n|1 2 3 4\n"
    b"@command a\n|\n!status 0\n@end\n"
)
def host_bundles(data: bytes) -> None:
    """Any bytes as what a host sends over SSH, and as what its files and commands say."""
    from datetime import UTC, datetime

    from ullage.sources.host.collect import collect
    from ullage.sources.host.recorded import parse_bundle

    collect(datetime(2026, 1, 1, tzinfo=UTC), machine=parse_bundle(data))


@target(
    b'{"apiVersion":"ullage.dev/v1","kind":"HostFacts","collectedAt":"2026-01-01T00:00:00Z","hostname":"h"}'
)
def host_documents(data: bytes) -> None:
    """Any bytes as an inspect document, made a cluster of."""
    from ullage.sources.documents import documents_of
    from ullage.sources.host_cluster import hosts_snapshot, read_facts

    hosts_snapshot(read_facts(document) for document in documents_of(data, "f"))


@target(
    b"g|u|preferred|t|n\n\nn1|64|1|60|100|90|4|M|u|2|r:1|Y|1|2|1.5\nn2|?|1|6|10|9|4|N|u\n\n"
    b"i|1|2|1|running|Y|n1|n2|drbd|a:1|1|-|N\n\nhtools:iextags:a\n\n"
    b"|1,1,1,1,1,1|1,1,1,1,1,1;9,9,9,9,9,9|drbd,ext|4.0|32.0|1.5\n",
    b"\n\n\n\n",
)
def ganeti_texts(data: bytes) -> None:
    """Any text in Ganeti's format: what is read is written so that it reads back as the same cluster."""
    from ullage.sources.ganeti.text import read_text
    from ullage.sources.ganeti.text_writer import write_text

    cluster = read_text(data.decode("utf-8", "replace"), "data.txt")
    text = write_text(cluster, complete=False)
    assert write_text(read_text(text), complete=False) == text


@target(b"p,2,8T,64g,16", b"last_resort,1,100 GiB,4096,2,3,True", b"u,0,0,0,0,0,False")
def simulated_groups(data: bytes) -> None:
    """Any text as a group to simulate."""
    from ullage.sources.ganeti.simulated import simulated

    simulated([data.decode("utf-8", "replace")])


@target(b"web 0.85 1 0.1 1e-3\n", b"a 1 2 3\n")
def utilisations(data: bytes) -> None:
    """Any text as loads of instances."""
    from ullage.sources.ganeti.utilisation import read_utilisation

    read_utilisation(data.decode("utf-8", "replace"), "f")


@target(
    b'[{"name":"g","uuid":"u","alloc_policy":"preferred","tags":[],"ipolicy":{"std":{},"minmax":[]}}]\0'
    b'[{"name":"n","group.uuid":"u","offline":true,"drained":false,"ndparams":{"exclusive_storage":false,'
    b'"spindle_count":1},"tags":[]}]\0[{"name":"i","pnode":"n","snodes":[],"beparams":{"maxmem":1}}]\0'
    b'{"master":"n","default_hypervisor":"kvm","tags":[],"ipolicy":{}}',
    b"[]\0[]\0[]\0{}",
)
def ganeti_documents(data: bytes) -> None:
    """Any four documents of Ganeti's remote interface."""
    from ullage.sources.ganeti.rapi import OWN_RULES, cluster_of_documents

    parts = dict(
        zip(("groups", "nodes", "instances", "info"), [*data.split(b"\0"), *[b""] * 4], strict=False)
    )
    cluster_of_documents(parts.__getitem__, OWN_RULES)


@target(b"https://a:b@m:5080?ca=f&sha256=00", b"m:80", b"http://[::1]:1/")
def ganeti_addresses(data: bytes) -> None:
    """Any text as the address of a server of Ganeti; no file is read."""
    from ullage.sources.ganeti.rapi_server import parse_server

    text = data.decode("utf-8", "replace")
    if "netrc" not in text:
        parse_server(text)
