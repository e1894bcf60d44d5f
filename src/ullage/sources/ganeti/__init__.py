"""Ganeti clusters: the text format of its tools, its remote interface, and clusters that are made up."""
