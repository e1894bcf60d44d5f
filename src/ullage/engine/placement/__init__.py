"""Where workloads go: what fits on which node, and why not."""
