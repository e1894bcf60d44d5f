"""The tools of Ganeti as our own: the same options, the same lines, from our engine."""
