"""From the outside to a snapshot or a delta: dumps, manifests, hosts, files, generated clusters."""
