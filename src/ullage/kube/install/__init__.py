"""What `ullage kube install` puts on a cluster: made as plain objects first, applied afterwards."""
