"""The host source: what one Linux machine offers, read here (`collect`) or over ssh (`ssh`).

Start at `facts` for the records, `collect.collect` for this machine, `ssh.collect_over_ssh` for others.
Only the standard library and msgspec are imported, so that `ullage inspect` runs on a machine without numpy.
"""
