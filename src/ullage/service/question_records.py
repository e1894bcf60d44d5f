"""The parameters of every question, as records: the same options as on the command line, and their defaults.

Left out are options about the terminal, and those that name files or clusters: what a file would say is sent
along, and which cluster is meant says the address.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Text = Annotated[str, Meta(max_length=1000)]
Texts = Annotated[tuple[Text, ...], Meta(max_length=1000)]
Places = Annotated[tuple[Text, ...], Meta(max_length=1_000_000)]
"""Of all nodes of a plan: in an address there are fewer."""
Replicas = Annotated[int, Meta(ge=0)]
Seconds = Annotated[int, Meta(ge=0)]
Placement = Annotated[
    Literal["spread", "pack", "balanced", "preferences"] | None,
    Meta(description="How nodes are chosen; else the policy says."),
]
Exact = Annotated[
    int,
    Meta(
        ge=0,
        le=3600,
        description="Seconds to search for another placement of what is refused, or a proof; 0: not at all.",
    ),
]
RunMin = Annotated[
    Seconds | None,
    Meta(description="Nobody is evicted before it ran for so many seconds; else the policy's quota-run-min."),
]
Shape = Annotated[Text, Meta(description="One workload, as cpu=4,memory=8Gi.")]
Count = Annotated[Replicas | None, Meta(description="This many of each workload.")]
PodTemplate = Annotated[
    Text,
    Meta(description="Where kinds that are not built in keep their pod template, as spec.template."),
]


Used = Annotated[
    Literal["recorded"] | None,
    Meta(description="What is really used is told beside, as it was recorded here."),
]


class Parameters(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What a question may be told."""


class OfCluster(Parameters, frozen=True, kw_only=True):
    """What every question about a cluster may be told."""

    policy: Annotated[
        Literal["", "kubernetes", "ganeti", "htools", "zos", "nos", "csi-baremetal"],
        Meta(description="A built-in profile in place of the cluster's own; a policy may be sent instead."),
    ] = ""
    namespace: Annotated[Text, Meta(description="The namespace that is meant.")] = ""
    selector: Annotated[Text, Meta(description="Only nodes with these labels.")] = ""


class Status(OfCluster, frozen=True, kw_only=True):
    """How full a cluster is."""

    by: Annotated[
        Literal["finding", "resource", "node", "group", "domain", "quota", "device", "drive", "workload"]
        | None,
        Meta(description="Lists all workloads where it is `workload`; else only this part of a page."),
    ] = None
    usage: Used = None


class _Placed(OfCluster, frozen=True, kw_only=True):
    """How workloads are placed."""

    replicas: Count = None
    atomic: Annotated[bool, Meta(description="All or none of them.")] = False
    pod_template: PodTemplate = ""
    placement: Placement = None
    seed: Annotated[
        Annotated[int, Meta(ge=0)] | None, Meta(description="Decide ties by this seed, not by name.")
    ] = None
    exact_seconds: Exact = 2
    run_min_seconds: RunMin = None


class Fit(_Placed, frozen=True, kw_only=True):
    """Whether workloads fit."""

    shape: Shape = ""


class Plan(_Placed, frozen=True, kw_only=True):
    """What fits, to be held; workloads are sent along, or those that wait are meant."""

    hold_seconds: Annotated[
        Annotated[int, Meta(ge=1, le=316_224_000)] | None,
        Meta(
            description="For how long it is held unless it is bound, else an hour; what is held already too."
        ),
    ] = None
    waits: Annotated[bool, Meta(description="What does not fit waits in line for room.")] = False
    on_nodes: Annotated[
        Places, Meta(description="Nodes on which workloads go and on no others, each as NAMESPACE/NAME=NODE.")
    ] = ()


class Headroom(OfCluster, frozen=True, kw_only=True):
    """How many more fit."""

    shapes: Annotated[Texts, Meta(description="Shapes, as cpu=4,memory=8Gi.")] = msgspec.field(
        default=(), name="shape"
    )
    together: Annotated[bool, Meta(description="Count whole sets of all of them.")] = False
    tiered: Annotated[
        bool, Meta(description="Shrink a shape, or the largest of a Ganeti policy, until nothing fits.")
    ] = False
    placement: Placement = None
    pod_template: PodTemplate = ""


class Check(OfCluster, frozen=True, kw_only=True):
    """What is wrong, and what breaks."""

    lose: Annotated[Texts, Meta(description="What is lost together: node/N, domain/D or drive/UUID.")] = ()
    nodes_lost: Annotated[
        Annotated[int, Meta(ge=0, le=3)] | None,
        Meta(description="Any so many nodes are lost; 0 asks about no loss."),
    ] = None
    no_balance: Annotated[bool, Meta(description="Do not look at what balancing machines would mend.")] = (
        False
    )
    placement: Placement = None
    exact_seconds: Exact = 2
    usage: Used = None


class Balance(OfCluster, frozen=True, kw_only=True):
    """What to move."""

    drain: Annotated[Texts, Meta(description="Nodes to empty.")] = ()
    squeeze: Annotated[bool, Meta(description="Which nodes could be switched off.")] = False
    rolling: Annotated[bool, Meta(description="Turns of nodes to be maintained at the same time.")] = False
    moves_max: Annotated[int, Meta(ge=0, le=10_000, description="At most so many moves.")] = 200
    gain_min: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(description="What a move must gain; else a tenth of a node's share of all that is uneven."),
    ] = None
    weights: Annotated[Texts, Meta(description="How much terms of the score count, as TERM=NUMBER.")] = (
        msgspec.field(default=(), name="weight")
    )
    no_disk_moves: Annotated[
        bool, Meta(description="Copy no disks: workloads only change to their standbys.")
    ] = False
    groups: Annotated[Texts, Meta(description="Only these groups.")] = msgspec.field(default=(), name="group")
    by_load: Annotated[
        bool, Meta(description="Count memory that is really in use too, by 5 x (memory-ratio - 1).")
    ] = False
    usage: Annotated[
        Literal["recorded"] | None,
        Meta(description="What is in use is what was recorded here, whatever nodes themselves report."),
    ] = None
    placement: Placement = None


class AdviseRatio(OfCluster, frozen=True, kw_only=True):
    """How far memory can be over-committed, by what was recorded of its use."""

    risk: Annotated[float, Meta(ge=1e-6, le=0.5, description="The share of node-time that may be over.")] = (
        0.001
    )
    with_swap: Annotated[bool, Meta(description="Advise by memory and swap together.")] = False
    groups: Annotated[Texts, Meta(description="Only these groups.")] = msgspec.field(default=(), name="group")
    seed: Annotated[int, Meta(ge=0, description="By which nodes are composed.")] = 1


class Buy(OfCluster, frozen=True, kw_only=True):
    """What to buy; the catalog is sent along."""

    shape: Shape = ""
    replicas: Count = None
    nodes_lost: Annotated[int, Meta(ge=0, le=3, description="Buy so that any so many nodes may fail.")] = 0
    pod_template: PodTemplate = ""
    exact_seconds: Annotated[int, Meta(ge=1, le=3600, description="How long each search may take.")] = 10


class Forecast(OfCluster, frozen=True, kw_only=True):
    """When room runs out, from what the ledger has recorded."""

    horizon_days: Annotated[int, Meta(ge=1, le=730, description="How far to look ahead.")] = 90
    within_days: Annotated[
        int, Meta(ge=0, le=730, description="The answer is no if something is likely to run out so soon.")
    ] = 30
    level: Annotated[Text, Meta(description="How probable intervals are to be, 0.5 to 0.999.")] = "0.9"
    growth: Annotated[Text, Meta(description="This growth in place of what was seen, as 5%/month.")] = ""
    by: Annotated[
        Literal["resource", "quota", "drives", "workload"] | None,
        Meta(description="Only these; else all but workloads."),
    ] = None


class AdviseRequests(OfCluster, frozen=True, kw_only=True):
    """What workloads should ask for, by what the ledger has recorded."""

    workloads: Annotated[Texts, Meta(description="Only these, as KIND/NAME.")] = ()
    cpu_percentile: Annotated[
        float, Meta(ge=1, le=100, description="CPU that is enough so many per cent of the time.")
    ] = 95
    memory_margin: Annotated[
        float, Meta(ge=0, le=1000, description="Memory above the most that was used, in per cent.")
    ] = 15
    days_min: Annotated[
        float, Meta(ge=0, le=3660, description="Advise nothing for what was observed for less time.")
    ] = msgspec.field(default=7, name="minDays")
    saving_min: Annotated[
        float, Meta(ge=0, le=100, description="Lower no request by less of it, in per cent.")
    ] = msgspec.field(default=10, name="minSaving")
    only_growth: Annotated[bool, Meta(description="Only what must grow.")] = False
    cpu_limits: Annotated[Literal["keep", "remove"], Meta(description="What becomes of CPU limits.")] = "keep"
    shape: Annotated[Text, Meta(description="Count the room before and after in this.")] = "cpu=1,memory=4Gi"
    patches: Annotated[bool, Meta(description="Answer with patches for kubectl instead.")] = msgspec.field(
        default=False, name="patch"
    )


class Explain(OfCluster, frozen=True, kw_only=True):
    """What stands behind something."""

    subject: Annotated[Text, Meta(description="node/N, pod/NAMESPACE/P, quota/Q or resource/R.")]
    resource: Annotated[Text, Meta(description="Of a node, only this resource.")] = ""
    usage: Used = None


class QuotaRisk(OfCluster, frozen=True, kw_only=True):
    """Who is evicted when owners claim."""

    subject: Annotated[Text, Meta(description="One workload, as pod/NAMESPACE/NAME.")] = ""


class QuotaReplay(OfCluster, frozen=True, kw_only=True):
    """What would have come of a trace, which is sent along, under other quotas."""

    quota_mode: Annotated[Literal["nos", "fair"] | None, Meta(description="Another quota mode.")] = None
    run_min_seconds: RunMin = None
    every_seconds: Annotated[
        int, Meta(ge=1, description="How many seconds snapshots of a record are apart.")
    ] = 300


class DisksList(OfCluster, frozen=True, kw_only=True):
    """What disks have."""

    subject: Annotated[Text, Meta(description="Only the disks of node/NAME.")] = ""


class DisksFragmentation(OfCluster, frozen=True, kw_only=True):
    """What of the free space can be had."""

    sizes: Annotated[Texts, Meta(description="Sizes of volumes, as 100Gi or HDDLVG=100Gi.")] = msgspec.field(
        default=(), name="size"
    )


class PolicyShow(OfCluster, frozen=True, kw_only=True):
    """Which rules apply."""

    target: Annotated[Text, Meta(description="cluster, group/NAME or node/NAME.")] = "cluster"
    wants_list: Annotated[bool, Meta(description="List the built-in policies instead.")] = msgspec.field(
        default=False, name="list"
    )


class LedgerShow(Parameters, frozen=True, kw_only=True):
    """What is promised."""

    owner: Annotated[Text, Meta(description="Only what is promised to this owner.")] = ""
    capacity: Annotated[Text, Meta(description="Only of this capacity, as node/n1.")] = ""
    state: Annotated[
        Literal["waiting", "reserved", "bound"] | None, Meta(description="Only what is in this state.")
    ] = None
    revision: Annotated[Annotated[int, Meta(ge=0)] | None, Meta(description="As it was after this step.")] = (
        msgspec.field(default=None, name="at")
    )


class LedgerHistory(Parameters, frozen=True, kw_only=True):
    """What has happened."""

    subject: Annotated[Text, Meta(description="reservation/R, owner/O or capacity/C.")] = ""
    after: Annotated[int, Meta(ge=0, description="Only the steps after this one.")] = 0


class LedgerExplain(Parameters, frozen=True, kw_only=True):
    """What one step was."""

    revision: Annotated[int, Meta(ge=1, description="The revision that the step made.")]


class LedgerVerify(Parameters, frozen=True, kw_only=True):
    """Whether the ledger can be believed, beside what the cluster has now."""

    policy: Annotated[
        Literal["", "kubernetes", "ganeti", "htools", "zos", "nos", "csi-baremetal"],
        Meta(description="A built-in profile in place of the cluster's own; a policy may be sent instead."),
    ] = ""


class UsageShow(OfCluster, frozen=True, kw_only=True):
    """Who uses what, by what the ledger has recorded."""

    subject: Annotated[Text, Meta(description="Only this one, as node/n1.")] = ""
    by: Annotated[
        Literal["node", "pod", "container", "workload", "namespace", "group", "quota", "drives", "cluster"]
        | None,
        Meta(description="Only subjects of this kind; else nodes and workloads."),
    ] = None


class UsageReport(OfCluster, frozen=True, kw_only=True):
    """What tenants consumed; price lists and readings of counters may be sent along."""

    period: Annotated[
        Literal["hour", "day", "week", "month"],
        Meta(description="The periods of UTC that are told apart; weeks begin on Monday."),
    ] = "month"
    by: Annotated[Text, Meta(description="Who is a tenant: namespace, quota or label:KEY.")] = "namespace"
    begin: Annotated[
        Text, Meta(description="From when on, as 2026-03 or 2026-03-14; else from the first observation on.")
    ] = msgspec.field(default="", name="from")
    end: Annotated[Text, Meta(description="Until when, which is not part of it.")] = msgspec.field(
        default="", name="to"
    )
    gap_seconds: Annotated[
        int, Meta(ge=300, le=86_400, description="What lies between observations further apart is estimated.")
    ] = 3600
    with_billing: Annotated[
        bool, Meta(description="Also billing_cu, billing_su and billing_nu, without a price too.")
    ] = msgspec.field(default=False, name="billingUnits")


class Schema(Parameters, frozen=True, kw_only=True):
    """The JSON Schema of our documents."""

    kind: Annotated[Text, Meta(description="Of which kind; without one, which there are.")] = ""
