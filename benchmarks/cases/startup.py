"""How long a person waits for `ullage --help` and for a completion, against a bare Python."""

import sys
from pathlib import Path

from measure import best_process_seconds, python


def run() -> dict[str, object]:
    """Measure whole processes: CPU time of the child, best of five."""
    ullage = str(Path(sys.executable).with_name("ullage"))
    bare = best_process_seconds(python("-c", "pass"))
    shown = best_process_seconds([ullage, "--help"])
    completed = best_process_seconds(
        [ullage], COMP_WORDS="ullage st", COMP_CWORD="1", _ULLAGE_COMPLETE="bash_complete"
    )
    return {
        "bare python, process, s": bare,
        "ullage --help, process, s": shown,
        "completion, process, s": completed,
        "bars": {
            "--help against bare python": [shown / bare, "<=", 10],
            "completion against bare python": [completed / bare, "<=", 10],
        },
    }
