"""Which option of Ganeti's tools means what, and which tool takes which.

A new option is one line of OPTIONS and its name in the lists of TOOLS; the parser is in command_line.py.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ullage.service.htools.values import (
    disk_template,
    names,
    node_fields,
    number,
    priority,
    ratio,
    size,
    unsigned,
    whole,
    yes_or_no,
)


class Option(NamedTuple):
    """One option: the field that it sets, what its value is called, and what is made of it.

    `value` is "" for a switch, which sets the field to `on`; "[NAME]" may be left out and is then `on`.
    Options that `adds` may be given many times. `refused` says what to do instead.
    """

    field: str
    short: str
    long: str
    value: str
    about: str
    read: Callable[[str], Any] = str
    on: Any = True
    adds: bool = False
    completes: str = "none"
    refused: str = ""


_LUXI: Final = "ullage does not talk to Ganeti's daemons: use -t FILE"
_EXECUTE: Final = "ullage changes nothing: -C prints the commands to run"
_MONITORING: Final = "ullage does not ask the monitoring daemons: give what is used with -U FILE"

OPTIONS: Final = (
    Option("print_nodes", "p", "print-nodes", "[FIELDS]", "print the final node list", node_fields, ()),
    Option("print_instances", "", "print-instances", "", "print the final instance map"),
    Option(
        "print_commands",
        "C",
        "print-commands",
        "[FILE]",
        "print the commands that lead to the solution, or write them to a file",
        on="-",
    ),
    Option("print_moves", "", "print-moves", "", "print the moves of the instances"),
    Option("data_file", "t", "text-data", "FILE", "the cluster data file", completes="file"),
    Option(
        "rapi", "m", "master", "ADDRESS", "collect data from the remote API at this address", completes="host"
    ),
    Option("", "L", "luxi", "[SOCKET]", "not served: use -t", completes="file", refused=_LUXI),
    Option(
        "allocator_file",
        "I",
        "ialloc-src",
        "FILE",
        "an allocator request as the cluster data",
        completes="file",
    ),
    Option(
        "simulate",
        "",
        "simulate",
        "SPEC",
        "an empty cluster: alloc_policy,num_nodes,disk,ram,cpu",
        adds=True,
        completes="string",
    ),
    Option(
        "memory_ratio",
        "",
        "memory-ratio",
        "RATIO",
        "how far memory may be over-committed [from the data]",
        ratio,
        completes="float",
    ),
    Option(
        "policy_file",
        "",
        "policy",
        "FILE",
        "warn of nodes whose swap, as a policy states it, is too little",
        completes="file",
    ),
    Option("evac_mode", "E", "evac-mode", "", "only move instances away from offline and drained nodes"),
    Option(
        "restricted_migration", "", "restricted-migration", "", "disallow moves that replace the primary node"
    ),
    Option("", "X", "exec", "", "not served: -C prints the commands", refused=_EXECUTE),
    Option("first_job_group", "", "first-job-group", "", "only the first set of jobs"),
    Option("reason", "", "reason", "REASON", "the reason to pass to submitted jobs"),
    Option("group", "G", "group", "ID", "the target node group (name or UUID)", completes="onegroup"),
    Option(
        "max_length",
        "l",
        "max-length",
        "N",
        "stop after this many moves or allocations",
        whole("max solution length"),
        completes="integer",
    ),
    Option("verbose", "v", "verbose", "", "say more", on=1, adds=True),
    Option("verbose", "q", "quiet", "", "say less", on=-1, adds=True),
    Option("offline", "O", "offline", "NODE", "set node as offline", adds=True, completes="onenode"),
    Option(
        "static_node_memory_bytes",
        "",
        "static-kvm-node-memory",
        "N",
        "memory of the node itself on KVM in MiB; 0 for what the hypervisor reports",
        lambda text: whole("static node memory")(text) << 20,
        completes="integer",
    ),
    Option(
        "min_score",
        "e",
        "min-score",
        "EPSILON",
        "how close to the optimum is good enough",
        number("min score"),
        completes="float",
    ),
    Option(
        "max_cpu",
        "",
        "max-cpu",
        "RATIO",
        "most virtual cpus per cpu of a node [from the data]",
        unsigned("parsing max-cpu", "Invalid value of the max-cpu ratio, expected >0"),
        completes="float",
    ),
    Option(
        "min_disk",
        "",
        "min-disk",
        "RATIO",
        "disk that stays free on nodes, between 0 and 1 [0]",
        number("min free disk space"),
        completes="float",
    ),
    Option(
        "min_gain",
        "g",
        "min-gain",
        "DELTA",
        "the least gain of a move worth making",
        number("min gain"),
        completes="float",
    ),
    Option(
        "min_gain_limit",
        "",
        "min-gain-limit",
        "SCORE",
        "the score below which the least gain counts",
        number("min gain limit"),
        completes="float",
    ),
    Option("no_disk_moves", "", "no-disk-moves", "", "only failovers and migrations: copy no disks"),
    Option("no_instance_moves", "", "no-instance-moves", "", "only new secondary nodes: move no instance"),
    Option(
        "select_instances",
        "",
        "select-instances",
        "INSTS",
        "only move these instances",
        names,
        completes="manyinstances",
    ),
    Option(
        "exclude_instances",
        "",
        "exclude-instances",
        "INSTS",
        "never move these instances",
        names,
        completes="manyinstances",
    ),
    Option("ignore_soft_errors", "", "ignore-soft-errors", "", "ignore soft restrictions"),
    Option("load_file", "U", "dynu-file", "FILE", "what instances use, from a file", completes="file"),
    Option("ignore_dynu", "", "ignore-dynu", "", "ignore what instances use"),
    Option(
        "",
        "",
        "mond",
        "[CHOICE]",
        "not served: use -U",
        yes_or_no,
        completes="choices=yes,no",
        refused=_MONITORING,
    ),
    Option(
        "mond_file",
        "",
        "mond-data",
        "FILE",
        "data of monitoring daemons, read with --mond only",
        completes="file",
    ),
    Option("exit_on_missing_mond_data", "", "exit-on-missing-mond-data", "", "with --mond only"),
    Option("mond_xen", "", "mond-xen", "", "with --mond only"),
    Option(
        "exclusion_tags",
        "",
        "exclusion-tags",
        "TAG,...",
        "keep instances with equal tags of these families apart",
        names,
        completes="string",
    ),
    Option("save", "S", "save", "FILE", "save the cluster state, before and after, under this name"),
    Option(
        "priority",
        "",
        "priority",
        "PRIO",
        "the priority of submitted jobs",
        priority,
        completes="choices=low,normal,high",
    ),
    Option(
        "machine_readable",
        "",
        "machine-readable",
        "[CHOICE]",
        "print KEY=value lines (yes or no)",
        yes_or_no,
        completes="choices=yes,no",
    ),
    Option("no_simulation", "", "no-simulation", "", "do not simulate balancing"),
    Option(
        "capacity", "", "no-capacity-checks", "", "do not ask whether every node can be evacuated", on=False
    ),
    Option(
        "disk_template",
        "",
        "disk-template",
        "TEMPLATE",
        "the disk template of new instances",
        disk_template,
        completes="choices=diskless,file,sharedfile,plain,blockdev,drbd,rbd,ext,gluster",
    ),
    Option(
        "spindle_use",
        "",
        "spindle-use",
        "SPINDLES",
        "spindles that new instances keep busy [from the data]",
        unsigned("parsing spindle-use", "Invalid value of the spindle-use (expected >= 0)", floor=0),
        completes="float",
    ),
    Option("independent_groups", "", "independent-groups", "", "a bad group does not stop the others"),
    Option(
        "accept_existing", "", "accept-existing-errors", "", "accept nodes that fail already; just add none"
    ),
    Option(
        "standard_allocation",
        "",
        "standard-alloc",
        "STDSPEC",
        "instances of one size: disk,ram,cpu[,spindles]",
        size("standard"),
        completes="string",
    ),
    Option(
        "tiered_allocation",
        "",
        "tiered-alloc",
        "TSPEC",
        "instances that shrink: disk,ram,cpu[,spindles]",
        size("tiered"),
        completes="string",
    ),
    Option(
        "restrict_to_nodes",
        "",
        "restrict-allocation-to",
        "NODE,...",
        "allocate on these nodes only",
        names,
        completes="manynodes",
    ),
    Option("offline_maintenance", "", "offline-maintenance", "", "as if all instances were offline"),
    Option("no_headers", "", "no-headers", "", "do not show a header line"),
    Option(
        "node_tags",
        "",
        "node-tags",
        "TAG,...",
        "only nodes with one of these tags",
        names,
        completes="string",
    ),
    Option("full_evacuation", "", "full-evacuation", "", "fully evacuate the nodes to be rebooted"),
    Option("skip_non_redundant", "", "skip-non-redundant", "", "skip nodes with a non-redundant instance"),
    Option(
        "ignore_non_redundant", "", "ignore-non-redundant", "", "as if there were no non-redundant instances"
    ),
    Option("force", "f", "force", "", "go on despite warnings"),
    Option("one_step_only", "", "one-step-only", "", "only do the first step"),
    Option(
        "minimal_resources",
        "",
        "minimal-resources",
        "FACTOR",
        "standard instances for which every node must have room",
        number("minimal resources"),
        completes="float",
    ),
    Option(
        "target_resources",
        "",
        "target-resources",
        "FACTOR",
        "standard instances for which every node must have room after squeezing",
        number("target resources"),
        completes="float",
    ),
    Option("version", "V", "version", "", "show the version of the program"),
    Option("help", "h", "help", "", "show help"),
    Option("help-completion", "", "help-completion", "", "show completion info"),
)
"""Every option of every tool."""

_EVERYWHERE: Final = "memory-ratio version help help-completion"
TOOLS: Final[dict[str, tuple[str, ...]]] = {
    tool: (*listed.split(), *_EVERYWHERE.split())
    for tool, listed in {
        "hbal": """print-nodes print-instances print-commands text-data evac-mode restricted-migration master
            luxi ialloc-src exec first-job-group reason group max-length verbose quiet offline
            static-kvm-node-memory min-score max-cpu min-disk min-gain min-gain-limit no-disk-moves
            select-instances no-instance-moves ignore-soft-errors dynu-file ignore-dynu mond mond-data
            exit-on-missing-mond-data mond-xen exclusion-tags exclude-instances save priority""",
        "hspace": """print-nodes text-data disk-template spindle-use simulate master luxi ialloc-src verbose
            quiet independent-groups accept-existing-errors offline no-capacity-checks machine-readable
            max-cpu max-length min-disk standard-alloc tiered-alloc save static-kvm-node-memory""",
        "hcheck": """text-data no-disk-moves dynu-file ignore-dynu evac-mode exclude-instances exclusion-tags
            ialloc-src no-instance-moves luxi machine-readable max-cpu max-length min-disk min-gain
            min-gain-limit min-score ignore-soft-errors no-simulation offline quiet master select-instances
            no-capacity-checks verbose policy""",
        "hinfo": """print-nodes print-instances text-data master luxi ialloc-src verbose quiet offline
            ignore-dynu mond mond-data static-kvm-node-memory""",
        "hroller": """luxi master text-data ialloc-src offline offline-maintenance verbose quiet no-headers
            node-tags save group print-moves full-evacuation skip-non-redundant ignore-non-redundant force
            one-step-only static-kvm-node-memory""",
        "hsqueeze": """luxi text-data exec minimal-resources target-resources save print-commands verbose
            no-headers static-kvm-node-memory""",
        "hail": """print-nodes save text-data simulate verbose ignore-dynu ignore-soft-errors
            no-capacity-checks restrict-allocation-to mond mond-xen static-kvm-node-memory""",
    }.items()
}
"""The tools, and the options that each takes."""


def options_of(tool: str) -> list[Option]:
    """Return the options of a tool in the order in which help lists them."""
    by_name = {option.long: option for option in OPTIONS}
    return [_with_alternatives(by_name[name], TOOLS[tool]) for name in TOOLS[tool]]


def _with_alternatives(option: Option, names: tuple[str, ...]) -> Option:
    """Return an option that is refused with the alternatives that a tool with these options has."""
    if option.long != "luxi":
        return option
    remote = " or -m ADDRESS" if "master" in names else ""
    commands = "; -C prints the commands" if "print-commands" in names else ""
    about = f"{option.about} or -m" if remote else option.about
    return option._replace(about=about, refused=f"{option.refused}{remote}{commands}")
