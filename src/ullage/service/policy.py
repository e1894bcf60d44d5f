"""The rules that apply: each setting with its value, its origin and its meaning; and changing them."""

import shlex
from collections.abc import Mapping, Sequence

from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.policy import PROFILE_NAMES, Effective, Policy, effective_settings
from ullage.model.resources import ResourceTypes
from ullage.model.settings import default_settings, meaning_of, rules_for
from ullage.model.verdict import Finding
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, read_types, read_whole, unknown

BUILT_IN_ORIGIN = "default"


class SettingReport(Record, frozen=True):
    """One setting as it applies somewhere; an origin of `default` means that no policy names it."""

    key: str
    value: str
    origin: str
    meaning: str


class PolicyReport(Record, frozen=True):
    """The answer to `ullage policy show`; the nearest of `layers` comes last."""

    policy: str
    target: str
    layers: tuple[str, ...]
    settings: tuple[SettingReport, ...]
    not_simulated: tuple[str, ...]


class ProfileReport(Record, frozen=True):
    """A built-in policy."""

    name: str
    description: str


class ProfileList(Record, frozen=True):
    """The answer to `ullage policy show --list`."""

    profiles: tuple[ProfileReport, ...]


class PolicyCheck(Record, frozen=True):
    """The answer to `ullage policy check`."""

    policy: str
    settings: int
    findings: tuple[Finding, ...]


def show_policy(asked: Asked, target: str = "cluster") -> Answer:
    """Answer which rules apply to the cluster, a group or a node."""
    if not asked.cluster and not asked.policy:
        raise InputError(
            "no policy is named",
            remedy="use --policy NAME|FILE or -c SOURCE; ullage policy show --list shows the built-in ones",
        )
    policy, types, snapshot = _policy_of(asked)
    return show_policy_of(policy, types, snapshot, target, asked)


def show_policy_of(
    policy: Policy,
    types: ResourceTypes,
    snapshot: Snapshot | None,
    target: str,
    asked: Asked,
    *,
    written: Sequence[str] = (),
) -> Answer:
    """Answer which rules of a policy that was read already apply somewhere, and what was just written."""
    from ullage.service.policy_page import policy_page

    group, node = _place(target, policy, snapshot)
    rules_for(policy, types, group, node)
    effective = effective_settings(policy, group, node)
    texts = {**dict.fromkeys(default_settings()), **effective}
    settings = tuple(
        SettingReport(
            key,
            default_settings()[key] if found is None else found.text,
            BUILT_IN_ORIGIN if found is None else found.origin,
            meaning_of(key),
        )
        for key, found in sorted(texts.items(), key=lambda pair: (_distance(pair[1]), pair[0]))
    )
    layers = tuple(layer.origin for layer in policy.layers)
    groupless = node and snapshot is None
    unknown_group = f"the settings of node {node}'s group (which one it is in is not known without -c)"
    left_aside = (unknown_group,) if groupless else ()
    report = PolicyReport(policy.name, target, layers, settings, left_aside)
    return Answer(
        lambda: policy_page(report, asked, written), lambda: versioned("PolicyReport", report, types)
    )


def _distance(setting: Effective | None) -> int:
    """Return how far from the user a setting was written: a file, a profile, nowhere."""
    return 2 if setting is None else int(setting.built_in)


def list_profiles() -> Answer:
    """Answer which policies are built in."""
    from ullage.service.policy_page import profiles_page
    from ullage.sources.policies import describe_profile

    report = ProfileList(tuple(ProfileReport(name, describe_profile(name)) for name in PROFILE_NAMES))
    return Answer(lambda: profiles_page(report), lambda: versioned("ProfileList", report, ResourceTypes()))


def set_policy(target: str, changes: Sequence[str], asked: Asked) -> Answer:
    """Write settings into the policy file that was named, and answer what now applies there."""
    from ullage.sources.policy_files import set_values

    if not asked.policy:
        raise InputError("no policy file is named", remedy="use --policy FILE: it is made if it is not there")
    types, inherits = read_types(asked.types), PROFILE_NAMES[0]
    snapshot = None
    if asked.cluster:
        snapshot = read_whole(asked.under_own_policy())
        types = snapshot.resource_types
        inherits = snapshot.policy.name if snapshot.policy.name in PROFILE_NAMES else inherits
    _place(target, Policy(), snapshot)
    set_values(asked.policy, target, parse_changes(changes), types, inherits=inherits)
    policy, types, snapshot = _policy_of(asked)
    return show_policy_of(policy, types, snapshot, target, asked, written=changes)


def parse_changes(changes: Sequence[str]) -> Mapping[str, str | None]:
    """Return `key=value` words as settings; `key=` removes one."""
    found: dict[str, str | None] = {}
    for change in changes:
        key, equal, value = change.partition("=")
        if not equal or not key.strip():
            raise InputError(f"{change!r} is no setting", remedy="write KEY=VALUE, or KEY= to remove one")
        if key.strip() in found:
            raise InputError(f"{key.strip()} is given twice", remedy="keep one of the two")
        found[key.strip()] = value.strip() or None
    return found


def check_policy(asked: Asked) -> Answer:
    """Answer whether a policy can be used, and whether the groups and nodes that it names exist."""
    from ullage.sources.kubernetes.policy_objects import check_objects
    from ullage.sources.policies import load_policy

    if not asked.cluster and not asked.policy:
        raise InputError("no policy is named", remedy="use --policy FILE, and -c SOURCE for its names too")
    snapshot = read_whole(asked.under_own_policy()) if asked.cluster else None
    types = read_types(asked.types) if snapshot is None else snapshot.resource_types
    if asked.policy:
        objects = check_objects(asked.policy, types, snapshot)
        if objects is not None:
            named = ", ".join(objects.names)
            then = "" if objects.findings else f"kubectl apply -f {shlex.quote(asked.policy)}"
            return _checked(PolicyCheck(named, objects.settings, objects.findings), types, asked, then)
        return check_policy_of(load_policy(asked.policy, types, checked=False), types, snapshot, asked)
    assert snapshot is not None  # noqa: S101 - one of the two is named
    return check_policy_of(snapshot.policy, types, snapshot, asked)


def check_policy_of(policy: Policy, types: ResourceTypes, snapshot: Snapshot | None, asked: Asked) -> Answer:
    """Answer whether a policy that was read already can be used with a cluster."""
    from ullage.sources.policy_files import policy_findings

    findings = tuple(policy_findings(policy, types, snapshot))
    count = sum(
        len(settings)
        for layer in policy.layers
        for settings in (layer.cluster, *layer.groups.values(), *layer.nodes.values())
    )
    report = PolicyCheck(policy.name, count, findings)
    return _checked(report, types, asked, asked.command("policy show"))


def _checked(report: PolicyCheck, types: ResourceTypes, asked: Asked, then: str) -> Answer:
    from ullage.service.policy_page import check_page

    return Answer(
        lambda: check_page(report, asked, then),
        lambda: versioned("PolicyCheck", report, types),
        not report.findings,
    )


def _policy_of(asked: Asked) -> tuple[Policy, ResourceTypes, Snapshot | None]:
    """Return the policy that is meant: of a cluster where one is named, else of its own."""
    from ullage.sources.policies import load_policy

    if asked.cluster:
        snapshot = read_whole(asked)
        return snapshot.policy, snapshot.resource_types, snapshot
    types = read_types(asked.types)
    return load_policy(asked.policy, types), types, None


def _place(target: str, policy: Policy, snapshot: Snapshot | None) -> tuple[str, str]:
    """Return the group and the node that a target means, as far as they are known."""
    kind, slash, name = target.partition("/")
    if target == "cluster":
        return "", ""
    if kind not in {"group", "node"} or not slash or not name:
        raise InputError(f"{target!r} is no target", remedy="write cluster, group/NAME or node/NAME")
    if kind == "group":
        named = {group for layer in policy.layers for group in layer.groups}
        if snapshot is not None and name not in snapshot.groups and name not in named:
            raise unknown("group", name, snapshot.groups.keys())
        return name, ""
    if snapshot is not None and name not in snapshot.nodes:
        raise unknown("node", name, snapshot.nodes.keys())
    return _group_of(name, snapshot), name


def _group_of(node: str, snapshot: Snapshot | None) -> str:
    found = snapshot.nodes.get(node) if snapshot is not None else None
    return found.group if found is not None else ""
