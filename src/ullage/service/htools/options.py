"""What a user asks of one of Ganeti's tools, and what the tool printed."""

from fractions import Fraction
from typing import NamedTuple

from ullage.service.htools.values import Asked


class Printed(NamedTuple):
    """What a tool printed and its exit code; `in_order` are the same texts as written, errors marked True."""

    stdout: str = ""
    stderr: str = ""
    code: int = 0
    in_order: tuple[tuple[bool, str], ...] = ()


class Options(NamedTuple):
    """What a user asks of a tool, under the long names of the options.

    Sizes are bytes. `print_nodes` are the columns asked for, () for the usual ones, "+" first for more.
    """

    tool: str
    arguments: tuple[str, ...] = ()
    data_file: str | None = None
    simulate: tuple[str, ...] = ()
    allocator_file: str | None = None
    rapi: str = ""
    load_file: str | None = None
    ignore_dynu: bool = False
    memory_ratio: Fraction | None = None
    policy_file: str = ""
    static_node_memory_bytes: int = 4096 << 20
    offline: tuple[str, ...] = ()
    exclusion_tags: tuple[str, ...] = ()
    select_instances: tuple[str, ...] = ()
    exclude_instances: tuple[str, ...] = ()
    max_cpu: float | None = None
    min_disk: float = 0.0
    group: str | None = None
    verbose: int = 1
    print_nodes: tuple[str, ...] | None = None
    print_instances: bool = False
    print_commands: str | None = None
    print_moves: bool = False
    machine_readable: bool = False
    no_headers: bool = False
    save: str | None = None
    first_job_group: bool = False
    reason: str | None = None
    priority: str | None = None
    max_length: int = -1
    min_score: float = 1e-9
    min_gain: float = 1e-2
    min_gain_limit: float = 1e-1
    evac_mode: bool = False
    restricted_migration: bool = False
    no_disk_moves: bool = False
    no_instance_moves: bool = False
    ignore_soft_errors: bool = False
    no_simulation: bool = False
    capacity: bool = True
    independent_groups: bool = False
    accept_existing: bool = False
    disk_template: str | None = None
    spindle_use: int | None = None
    standard_allocation: Asked | None = None
    tiered_allocation: Asked | None = None
    restrict_to_nodes: tuple[str, ...] | None = None
    offline_maintenance: bool = False
    node_tags: tuple[str, ...] | None = None
    full_evacuation: bool = False
    skip_non_redundant: bool = False
    ignore_non_redundant: bool = False
    force: bool = False
    one_step_only: bool = False
    minimal_resources: float = 2.0
    target_resources: float = 2.0
    mond_file: str | None = None
    mond_xen: bool = False
    exit_on_missing_mond_data: bool = False
