"""Hypothesis strategies for commands on a small fleet, so small that they meet on everything."""

import msgspec
from hypothesis import strategies as st

from engine.ledger.ledgers import MIB, capacity, drive, group
from ullage.engine.ledger.shape import flaw
from ullage.model.disk_plan import DiskRequest
from ullage.model.ledger import (
    VOLUME_SPACE,
    WHOLE_DRIVE,
    Bind,
    Expire,
    Extend,
    Hold,
    Pause,
    Refuse,
    Release,
    Reserve,
    Resize,
    Supply,
    Together,
    is_disk,
    node_of,
)
from ullage.model.resources import Resources

FLEET = (
    capacity("node/a", cpu=4, memory=4),
    capacity("node/b", cpu=4, memory=4),
    capacity("quota/q", "memory", cpu=6),
    drive("a", "d1", 30 * MIB),
    drive("a", "d2", 60 * MIB),
    drive("a", "s1", 30 * MIB, "SSD"),
    drive("b", "d1", 40 * MIB),
    group("b", "vg", 24 * MIB),
)
OTHERS = (
    capacity("node/a", cpu=2),
    capacity("node/b", cpu=6, memory=2),
    capacity("quota/q", cpu=2),
    drive("a", "d1", 60 * MIB),
    drive("b", "d2", 30 * MIB),
    group("b", "vg", 12 * MIB),
    capacity("drive/a/d2"),
)
NAMES = tuple(sorted({each.name for each in (*FLEET, *OTHERS)}))

names = st.sampled_from(tuple(f"r{number}" for number in range(8)))
requests = st.sampled_from(("web", "database"))
places = st.sampled_from(NAMES)
nodes = st.sampled_from((("a",), ("b",), ("a", "b"), ("b", "a"), ("a", "x")))
compute = st.dictionaries(st.sampled_from(("cpu", "memory")), st.integers(0, 3), max_size=2).map(Resources)
amounts = st.one_of(
    compute,
    st.integers(0, 40).map(lambda size: Resources({VOLUME_SPACE: size * MIB})),
    st.just(Resources({WHOLE_DRIVE: 1, VOLUME_SPACE: 28 * MIB})),
)
claims = st.sampled_from(("", "", "shop/data", "shop/other"))
shared_holds = st.builds(
    Hold,
    requests,
    st.sampled_from(tuple(name for name in NAMES if is_disk(name))),
    st.integers(1, 40).map(lambda size: Resources({VOLUME_SPACE: size * MIB})),
    claims,
)
holds = st.one_of(st.builds(Hold, requests, places, amounts), shared_holds)
volumes = st.builds(
    DiskRequest,
    name=st.sampled_from(("v1", "v2")),
    storage_class=st.sampled_from(("HDD", "HDDLVG", "HDDLVG", "SSDLVG", "ANY")),
    size_bytes=st.integers(1, 40).map(lambda size: size * MIB),
    claim=claims,
)
lifetimes = st.integers(1, 12)


@st.composite
def _reserves(draw):
    return Reserve(
        draw(names),
        draw(st.sampled_from(("team", "other"))),
        draw(lifetimes),
        holds=tuple(draw(hold_lists)),
        nodes=draw(nodes),
        requests=draw(compute),
        volumes=tuple(draw(volume_lists)),
        mode=draw(modes),
        few_drives=draw(st.sampled_from((True, True, True, False))),
        copies=draw(st.sampled_from((1, 1, 1, 2))),
    )


hold_lists = st.lists(holds, max_size=2, unique_by=lambda each: (each.request, each.capacity))
volume_lists = st.lists(volumes, max_size=2, unique_by=lambda each: each.name)
modes = st.sampled_from(("compat", "compat", "exact", "zos"))
supplied = st.lists(st.sampled_from((*FLEET, *OTHERS)), max_size=2, unique_by=lambda each: each.name)

reserves = _reserves()
"""Reservations of anything; all times are from now on, see `at`."""
shares = st.builds(
    Reserve,
    names,
    st.just("team"),
    lifetimes,
    nodes=nodes,
    volumes=st.builds(
        DiskRequest,
        st.just("v1"),
        st.sampled_from(("HDDLVG", "SSDLVG")),
        st.integers(1, 16).map(lambda size: size * MIB),
    ).map(lambda each: (each,)),
    mode=st.just("compat"),
    waits=st.booleans(),
    lets_pass=st.booleans(),
)
"""Reservations of one small logical volume, which wait for each other."""
singles = st.one_of(
    reserves,
    shares,
    st.builds(Bind, names, st.sampled_from(("", "a", "b"))),
    st.builds(Release, names, st.sampled_from(((), (), ("web",)))),
    st.builds(Extend, names, st.integers(0, 12)),
    st.just(Expire()),
    st.builds(Pause, names, st.booleans()),
    st.builds(Resize, names, requests, places, amounts),
    st.builds(Refuse, names, st.just("team"), requests, st.just("refused elsewhere")),
    st.builds(Supply, supplied.map(tuple)),
    st.builds(Supply, gone=st.lists(places, max_size=1).map(tuple)),
)
"""Every command that stands alone."""
judged = singles.filter(lambda command: not flaw(command))
"""Those that have no flaw in themselves."""
waiters = reserves.map(lambda each: msgspec.structs.replace(each, waits=True))
"""Reservations that wait for room."""
commands = st.one_of(
    singles,
    singles,
    singles,
    waiters,
    st.builds(Together, st.lists(singles, min_size=1, max_size=4).map(tuple), line_last=st.booleans()),
)
"""Every command."""


@st.composite
def _changes(draw):
    """What may become of an entry that stands: a function of the entry."""
    kind = draw(st.sampled_from(("bind", "bind there", "release", "part", "extend", "pause", "resize")))
    seconds, resources, paused = draw(lifetimes), draw(amounts), draw(st.booleans())

    def change(entry):
        return {
            "bind": Bind(entry.reservation),
            "bind there": Bind(entry.reservation, node_of(entry.capacity)),
            "release": Release(entry.reservation),
            "part": Release(entry.reservation, (entry.request,)),
            "extend": Extend(entry.reservation, seconds),
            "pause": Pause(entry.reservation, paused),
            "resize": Resize(entry.reservation, entry.request, entry.capacity or "node/a", resources),
        }[kind]

    return change


changes = _changes()


def at(command, now):
    """Return a command with its times counted from now."""
    if isinstance(command, Together):
        return msgspec.structs.replace(command, commands=tuple(at(each, now) for each in command.commands))
    if isinstance(command, Reserve | Extend):
        return msgspec.structs.replace(command, expires_seconds=now + command.expires_seconds)
    return command
