"""On Kubernetes: what is installed on a cluster, and the processes that run there."""
