r"""A machine recorded as text: the bundle that script.py's script prints, read back as a Machine.

A bundle is made of tagged items. Content lines carry a mark in front, so nothing that a file or a program
prints can be taken for a tag, and joining them with newlines gives the content back byte for byte:

    ullage-host-bundle 1
    @file /proc/loadavg             a file; without content lines: it exists and could not be read
    |0.52 0.58 0.59 1/467 12345
    |
    @dir /sys/bus/pci/devices       a folder that exists; its names are those of the items below it
    @command uname -m               a command with its output, its complaints and last its status
    |x86_64
    |
    !status 0
    @size /srv/my\040disk           statvfs of a mount point: block size, blocks total, free, available
    |4096 2621440 1310720 1179648
    @end
"""

import re
from collections.abc import Mapping

import msgspec

from ullage.model.errors import InputError
from ullage.sources.host.machine import (
    CONTENT_BYTES_MAX,
    ENTRIES_MAX,
    AbsentError,
    Argv,
    FileSystemSize,
    UnavailableError,
    no_such_command,
    output_of,
    permission_denied,
)
from ullage.sources.host.mounts import unescape
from ullage.sources.host.process import Completed
from ullage.sources.host.reading import shown, whole_number

HEADER = "ullage-host-bundle 1"
BUNDLE_BYTES_MAX = 64 * 1024 * 1024
_STATUS = re.compile(r"status ([0-9]{1,3})")
_REMEDY = "record the machine again with the script of this version"


class Item(msgspec.Struct):
    """One tagged item while it is read: `content` are its | lines, `notes` its ! lines."""

    tag: str
    argument: str
    content: list[str]
    notes: list[str]


class RecordedMachine:
    """A Machine that answers from a recording; what was not recorded is absent."""

    def __init__(
        self,
        *,
        files: Mapping[str, str | None],
        folders: frozenset[str],
        commands: Mapping[str, Completed],
        sizes: Mapping[str, FileSystemSize],
    ) -> None:
        self._files = files
        self._folders = folders
        self._commands = commands
        self._sizes = sizes

    def read_text(self, path: str) -> str:
        """Return the recorded content of a file."""
        if path not in self._files:
            raise AbsentError("does not exist", where=path)
        content = self._files[path]
        if content is None:
            raise permission_denied(path)
        return _complete(content, path)

    def list_dir(self, path: str) -> tuple[str, ...]:
        """Return the names of all recorded files and folders below a folder."""
        inside = f"{path.rstrip('/')}/"
        known = (*self._files, *self._folders)
        names = {name[len(inside) :].partition("/")[0] for name in known if name.startswith(inside)}
        if not names and path not in self._folders:
            raise AbsentError("does not exist", where=path)
        return tuple(sorted(names))

    def run(self, argv: Argv) -> str:
        """Return the recorded output of a command."""
        completed = self._commands.get(" ".join(argv))
        if completed is None:
            raise no_such_command(argv)
        return _complete(output_of(argv, completed), argv[0])

    def file_system_size(self, mount_point: str) -> FileSystemSize:
        """Return the recorded size of a mounted file system."""
        if mount_point not in self._sizes:
            raise AbsentError("its size was not recorded", where=mount_point)
        return self._sizes[mount_point]


def _complete(content: str, where: str) -> str:
    """Return content that was not cut off where the script stops reading."""
    if len(content) >= CONTENT_BYTES_MAX:
        raise UnavailableError(f"{CONTENT_BYTES_MAX} bytes or more", where=where)
    return content


def parse_bundle(data: bytes) -> RecordedMachine:
    """Read a bundle; text before its first line (a login banner) is skipped, an incomplete one is refused."""
    if len(data) > BUNDLE_BYTES_MAX:
        raise InputError(f"bundle of more than {BUNDLE_BYTES_MAX} bytes", remedy=_REMEDY)
    lines = data.decode("utf-8", "replace").removesuffix("\n").split("\n")
    if HEADER not in lines:
        raise InputError(f"no line {HEADER!r} in it", where="bundle", remedy=_REMEDY)
    files: dict[str, str | None] = {}
    folders: set[str] = set()
    commands: dict[str, Completed] = {}
    sizes: dict[str, FileSystemSize] = {}
    for item in _items(lines, lines.index(HEADER) + 1):
        content = "\n".join(item.content)
        if item.tag == "file":
            files[item.argument] = content if item.content else None
        elif item.tag == "dir":
            folders.add(item.argument)
        elif item.tag == "command":
            commands[item.argument] = _completed(item, content)
        elif item.tag == "size":
            sizes[unescape(item.argument)] = _file_system_size(content, item.argument)
        else:
            raise InputError(f"unknown tag {shown(item.tag)}", where="bundle", remedy=_REMEDY)
    return RecordedMachine(files=files, folders=frozenset(folders), commands=commands, sizes=sizes)


def _items(lines: list[str], first: int) -> list[Item]:
    items: list[Item] = []
    for number, line in enumerate(lines[first:], first + 1):
        mark, rest = line[:1], line[1:]
        if line == "@end":
            return items
        if mark == "@":
            tag, _, argument = rest.partition(" ")
            items.append(Item(tag, argument, [], []))
        elif mark == "|" and items:
            items[-1].content.append(rest)
        elif mark == "!" and items:
            items[-1].notes.append(rest)
        else:
            raise InputError(f"line {number} {shown(line)} has no mark", where="bundle", remedy=_REMEDY)
        if len(items) > ENTRIES_MAX:
            raise InputError(f"more than {ENTRIES_MAX} items", where="bundle", remedy=_REMEDY)
    raise InputError("cut off: no line @end", where="bundle", remedy=_REMEDY)


def _completed(item: Item, content: str) -> Completed:
    matched = _STATUS.fullmatch(item.notes[-1]) if item.notes else None
    if matched is None:
        raise InputError(f"command {shown(item.argument)} has no status", where="bundle", remedy=_REMEDY)
    return Completed(int(matched[1]), content, "\n".join(item.notes[:-1]))


def _file_system_size(content: str, mount_point: str) -> FileSystemSize:
    where = f"bundle: size of {mount_point}"
    numbers = [whole_number(field, where=where) for field in content.split()]
    if len(numbers) != 4:
        raise InputError(f"{shown(content)} is not four numbers", where=where, remedy=_REMEDY)
    return FileSystemSize(*numbers)
