"""Ullage: how much room a cluster has, who may use it, where things go and what breaks."""

__version__ = "0.1.0"
