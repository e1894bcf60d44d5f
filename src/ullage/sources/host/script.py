r"""The script that records a machine which has a POSIX shell and nothing of ours.

It prints the bundle that recorded.py reads, writes no file and changes nothing. What it records is not
listed here: it is the sum of what the probes say they read, so a probe and its recording cannot drift apart.
The body is one function that is read whole before it runs, so nothing it starts can swallow the rest of the
script, and a script cut off on its way does nothing.
"""

import shlex

from ullage.sources.host import cgroup, cpu, disks, ganeti, gpus, lvm, memory, mounts, pressure, system
from ullage.sources.host.machine import (
    COMMAND_SECONDS_MAX,
    CONTENT_BYTES_MAX,
    SYSTEM_PROGRAM_FOLDERS,
)
from ullage.sources.host.recorded import HEADER

FILES = tuple(
    dict.fromkeys((*system.FILES, *cpu.FILES, *memory.FILES, *pressure.FILES, *cgroup.FILES, *mounts.FILES))
)
COMMANDS = (
    *system.COMMANDS,
    *cpu.COMMANDS,
    *ganeti.COMMANDS,
    *disks.COMMANDS,
    *lvm.COMMANDS,
    *gpus.COMMANDS,
)
_MOUNTS_SIZED_MAX = 512

_FUNCTIONS = r"""
content() {
    { head -c "$content_bytes_max"; echo; } | sed 's/^/|/'
}

record_file() {
    [ -f "$1" ] || return 0
    printf '@file %s\n' "$1"
    [ -r "$1" ] && content < "$1"
}

# The output goes straight out over 4; complaints and the status are kept over 3 and follow it.
record_command() {
    command -v "$1" > /dev/null 2>&1 || return 0
    printf '@command %s\n' "$*"
    {
        notes=$(
            {
                {
                    {
                        $limited "$@" < /dev/null 2>&3 3>&- 4>&-
                        status=$?
                        printf '\nstatus %s\n' "$status" >&3
                    } | content >&4
                } 3>&1
            } | tail -c 4096
        )
    } 4>&1
    printf '%s\n' "$notes" | sed 's/^/!/'
}

record_huge_pages() {
    [ -d "$huge_pages" ] || return 0
    printf '@dir %s\n' "$huge_pages"
    for folder in "$huge_pages"/*; do
        for name in $huge_pages_counters; do record_file "$folder/$name"; done
    done
}

record_display_devices() {
    [ -d "$pci" ] || return 0
    printf '@dir %s\n' "$pci"
    for folder in "$pci"/*; do
        class=
        [ -r "$folder/class" ] && read -r class < "$folder/class"
        case $class in
            0x03* | 0x12*) for name in $pci_files; do record_file "$folder/$name"; done ;;
        esac
    done
}

record_group() {
    folder=$1 relative=$2
    while :; do
        for name in $limit_files; do record_file "$folder$relative/$name"; done
        [ -n "$relative" ] || return 0
        relative=${relative%/*}
    done
}

record_groups() {
    while IFS=: read -r _ controllers path; do
        case ,$controllers, in *,memory,* | *,cpu,* | ,,) ;; *) continue ;; esac
        root=${1%/}
        case $path/ in "$root"/*) relative=${path#"$root"} ;; *) relative= ;; esac
        record_group "${2%/}" "${relative%/}"
    done < /proc/self/cgroup
}

record_size() {
    path=$1
    case $path in
        *\\*) path=$(printf '%b' "$(printf '%s' "$path" | sed 's/\\\([0-7][0-7][0-7]\)/\\0\1/g')") ;;
    esac
    numbers=$($limited stat -f -c '%S %b %f %a' "$path" 2> /dev/null < /dev/null) || return 0
    printf '@size %s\n|%s\n' "$1" "$numbers"
}

record_mounts() {
    [ -r /proc/self/mountinfo ] || return 0
    sized=0
    while read -r _ _ _ root point _ rest; do
        rest=" $rest"
        rest=${rest#* - }
        case $rest in
            "cgroup "* | "cgroup2 "*) [ -r /proc/self/cgroup ] && record_groups "$root" "$point" ;;
            zfs\ * | bcachefs\ * | *\ /dev/*)
                sized=$((sized + 1))
                [ "$sized" -le "$mounts_sized_max" ] && record_size "$point"
                ;;
        esac
    done < /proc/self/mountinfo
}
"""


def remote_script() -> str:
    """Return the whole script, for `sh -s` on its standard input."""
    settings = {
        "content_bytes_max": str(CONTENT_BYTES_MAX),
        "mounts_sized_max": str(_MOUNTS_SIZED_MAX),
        "huge_pages": memory.HUGE_PAGES_FOLDER,
        "huge_pages_counters": " ".join(memory.HUGE_PAGES_COUNTERS),
        "pci": gpus.PCI_FOLDER,
        "pci_files": " ".join(gpus.PCI_FILES),
        "limit_files": " ".join(cgroup.LIMIT_FILES),
    }
    body = (
        "LC_ALL=C LVM_SUPPRESS_FD_WARNINGS=1 PATH=$PATH:" + SYSTEM_PROGRAM_FOLDERS,
        "export LC_ALL LVM_SUPPRESS_FD_WARNINGS PATH",
        *(f"{name}={shlex.quote(value)}" for name, value in settings.items()),
        "limited=",
        f"command -v timeout > /dev/null 2>&1 && limited='timeout {COMMAND_SECONDS_MAX}'",
        f"echo {shlex.quote(HEADER)}",
        *(f"record_file {shlex.quote(path)}" for path in FILES),
        "record_huge_pages",
        "record_display_devices",
        "record_mounts",
        *(f"record_command {shlex.join(argv)}" for argv in COMMANDS),
        "echo @end",
    )
    lines = "".join(f"    {line}\n" for line in body)
    return f"set -u\n{_FUNCTIONS}\nmain() {{\n{lines}}}\n\nmain < /dev/null\n"
