"""Kubernetes: dumps of a cluster to a snapshot, manifests to the workloads that they ask for."""
