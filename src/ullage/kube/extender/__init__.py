"""The extender: what kube-scheduler asks about nodes, victims and bindings, answered by the same rules."""
