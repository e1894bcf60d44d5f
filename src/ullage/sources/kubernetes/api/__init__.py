"""The Kubernetes API for processes that stay: requests by the thousand, and watches that never end."""
