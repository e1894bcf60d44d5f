"""Balancing: machines with standby nodes, what nodes may take of them, and how even a cluster is."""
