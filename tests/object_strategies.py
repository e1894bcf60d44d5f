"""Hypothesis strategies for storage and for what admission looks up."""

from hypothesis import strategies as st

from constraint_strategies import (
    RESOURCE_NAMES,
    fractions,
    label_maps,
    label_selectors,
    names,
    node_selectors,
    operators,
    optional,
    requirements,
    resources,
    sizes,
    texts,
    tolerations,
    tuples_of,
)
from ullage.model.admission import (
    Autoscaler,
    DisruptionBudget,
    LimitRange,
    LimitRangeItem,
    Namespace,
    PodGroup,
    PriorityClass,
    ResourceQuota,
    RuntimeClass,
)
from ullage.model.constraints import (
    Requirement,
)
from ullage.model.storage import (
    Claim,
    PersistentVolume,
    StorageCapacity,
    StorageClass,
    StorageDriver,
    TopologyTerm,
)

namespaces = st.sampled_from(("", "ml"))
access_modes = tuples_of(st.sampled_from(("ReadWriteOnce", "ReadOnlyMany", "ReadWriteOncePod")))
volume_modes = st.sampled_from(("Filesystem", "Block"))
claims = st.builds(
    Claim,
    names,
    namespaces,
    texts,
    sizes,
    st.booleans(),
    texts,
    access_modes,
    volume_modes,
    optional(label_selectors),
    texts,
    st.booleans(),
    texts,
    texts,
)
persistent_volumes = st.builds(
    PersistentVolume,
    names,
    texts,
    sizes,
    access_modes,
    volume_modes,
    optional(node_selectors),
    label_maps,
    texts,
    texts,
    st.sampled_from(("Available", "Bound", "Released")),
)
storage_classes = st.builds(
    StorageClass,
    names,
    texts,
    st.sampled_from(("Immediate", "WaitForFirstConsumer")),
    tuples_of(st.builds(TopologyTerm, tuples_of(requirements))),
    st.booleans(),
    label_maps,
)
storage_capacities = st.builds(
    StorageCapacity, names, namespaces, texts, optional(label_selectors), sizes, optional(sizes)
)
storage_drivers = st.builds(StorageDriver, names, st.booleans())
namespace_rows = st.builds(Namespace, names, label_maps)
limit_range_items = st.builds(
    LimitRangeItem,
    st.sampled_from(("Container", "Pod", "PersistentVolumeClaim")),
    resources,
    resources,
    resources,
    resources,
    st.dictionaries(st.sampled_from(RESOURCE_NAMES), fractions, max_size=1),
)
limit_ranges = st.builds(LimitRange, names, namespaces, tuples_of(limit_range_items))
quantity_texts = st.sampled_from(("0", "500m", "1.5Gi", "3", "1e3"))
quantity_maps = st.dictionaries(
    st.sampled_from(("requests.cpu", "pods", "gold.storageclass.storage.k8s.io/requests.storage")),
    quantity_texts,
    max_size=2,
)
resource_quotas = st.builds(
    ResourceQuota,
    names,
    namespaces,
    quantity_maps,
    optional(quantity_maps),
    tuples_of(st.sampled_from(("BestEffort", "NotTerminating"))),
    tuples_of(st.builds(Requirement, st.just("PriorityClass"), operators, tuples_of(texts))),
)
priority_classes = st.builds(
    PriorityClass, names, st.integers(-(1 << 31), 1 << 31), st.booleans(), st.booleans()
)
runtime_classes = st.builds(RuntimeClass, names, resources, label_maps, tolerations)
shares = st.sampled_from(("", "0", "3", "25%"))
disruption_budgets = st.builds(
    DisruptionBudget,
    names,
    namespaces,
    optional(label_selectors),
    shares,
    shares,
    optional(st.integers(0, 100)),
)
pod_groups = st.builds(PodGroup, names, namespaces, st.integers(0, 100))
autoscalers = st.builds(
    Autoscaler,
    names,
    namespaces,
    st.sampled_from(("HorizontalPodAutoscaler", "VerticalPodAutoscaler")),
    texts,
    tuples_of(texts),
    texts,
)
OBJECT_ROWS = {
    "claims": claims,
    "volumes": persistent_volumes,
    "storage_classes": storage_classes,
    "storage_capacities": storage_capacities,
    "storage_drivers": storage_drivers,
    "namespaces": namespace_rows,
    "limit_ranges": limit_ranges,
    "resource_quotas": resource_quotas,
    "priority_classes": priority_classes,
    "runtime_classes": runtime_classes,
    "disruption_budgets": disruption_budgets,
    "pod_groups": pod_groups,
    "autoscalers": autoscalers,
}
