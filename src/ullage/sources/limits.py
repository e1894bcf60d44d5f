"""What one input may cost: every bound of the readers in one record, so that no file can exhaust the host.

The hard thing: a limit must be far above any honest input (a dump of 30 000 pods is 420 MiB) and still
stop a hostile one early. A YAML bomb is therefore counted as it would be expanded, not as it is written.
"""

import msgspec

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds on reading; whatever is over one of them is an InputError that names the bound."""

    file_bytes_max: int = 4 * GIB
    """One file or standard input, after decompression."""
    files_max: int = 10_000
    """Files of one folder and the folders below it."""
    entries_max: int = 200_000
    """Names looked at in a folder and below it, files of other kinds included."""
    folder_depth_max: int = 20
    """Folders inside folders."""
    documents_max: int = 100_000
    """Documents of one input: a file, a folder or standard input."""
    depth_max: int = 100
    """Lists and mappings inside each other in YAML; JSON is bounded by its decoder at about 1000."""
    yaml_bytes_max: int = 256 * MIB
    """One YAML file: YAML is read a hundred times slower than JSON."""
    yaml_nodes_max: int = 10_000_000
    """Values of one YAML file, those behind aliases counted each time they are used."""
    yaml_aliases_max: int = 100
    """Aliases (`*name`) of one YAML document."""
    yaml_alias_nodes_max: int = 1_000_000
    """Values that the aliases of one YAML file stand for: a bomb is small as text and large as records."""
    yaml_text_characters_max: int = 16 * MIB
    """One text of a YAML file."""
    strict_bytes_max: int = 64 * MIB
    """One JSON document that is checked for duplicate keys."""


DEFAULT_LIMITS = Limits()
"""For a cluster: a dump may be large."""
ASKED_LIMITS = Limits(file_bytes_max=256 * MIB)
"""For what somebody asks about: manifests and sets of workloads."""
POLICY_LIMITS = Limits(file_bytes_max=8 * MIB)
"""For policies, which people write."""


def size_text(size_bytes: int) -> str:
    """A size as a person writes it: 4 GiB, 256 MiB, 1000 bytes."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size_bytes >= unit and size_bytes % unit == 0:
            return f"{size_bytes // unit} {name}"
    return f"{size_bytes} bytes"
