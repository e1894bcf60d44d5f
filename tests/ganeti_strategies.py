"""Hypothesis strategies for the records of Ganeti that a snapshot may hold."""

from typing import get_args

from hypothesis import strategies as st

from constraint_strategies import fractions, names, optional, sizes, texts, tuples_of
from ullage.model.ganeti import (
    AllocationPolicy,
    Disk,
    DiskTemplate,
    GanetiGroup,
    GanetiNode,
    Instance,
    InstancePolicy,
    Size,
    Status,
)

free_sizes = st.integers(-(1 << 40), 1 << 40)
disk_templates = st.sampled_from(get_args(DiskTemplate))
ganeti_sizes = st.builds(Size, sizes, sizes, sizes, sizes)
ganeti_policies = st.builds(
    InstancePolicy,
    ganeti_sizes,
    tuples_of(st.tuples(ganeti_sizes, ganeti_sizes), 2),
    tuples_of(disk_templates),
    fractions,
    fractions,
    optional(fractions),
)
ganeti_groups = st.builds(
    GanetiGroup, names, texts, st.sampled_from(get_args(AllocationPolicy)), policy=optional(ganeti_policies)
)
ganeti_nodes = st.builds(
    GanetiNode,
    names,
    texts,
    memory_bytes=sizes,
    memory_free_bytes=free_sizes,
    disk_free_bytes=free_sizes,
    cpu_speed=fractions,
    master=st.booleans(),
    spindles_free=free_sizes,
    tags=tuples_of(texts),
)
ganeti_instances = st.builds(
    Instance,
    names,
    sizes,
    tuples_of(st.builds(Disk, st.integers(0, 1 << 50), optional(sizes))),
    sizes,
    status=st.sampled_from(get_args(Status)),
    template=disk_templates,
    tags=tuples_of(texts),
    forthcoming=st.booleans(),
    disk_bytes=optional(sizes),
)
