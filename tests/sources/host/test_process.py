import os
import sys

import pytest

from ullage.model.errors import InputError
from ullage.sources.host.process import run_bounded


def run(code, *, timeout_seconds=20, stdout_bytes_max=1_000_000, stdin=b""):
    return run_bounded(
        (sys.executable, "-S", "-c", code),
        environment=dict(os.environ),
        timeout_seconds=timeout_seconds,
        stdout_bytes_max=stdout_bytes_max,
        stdin=stdin,
    )


def test_status_and_both_outputs_are_kept():
    completed = run("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert (completed.status, completed.stdout, completed.stderr) == (3, "out\n", "err\n")


def test_standard_input_reaches_the_program_and_ends():
    assert run("import sys; print(len(sys.stdin.read()))", stdin=b"x" * 200_000).stdout == "200000\n"
    assert run("import sys; print(len(sys.stdin.read()))").stdout == "0\n"


def test_both_pipes_are_drained_together():
    completed = run(
        "import sys; [(sys.stderr.write('e' * 4096), sys.stdout.write('o' * 4096)) for _ in range(100)]"
    )
    assert len(completed.stdout) == 409_600
    assert len(completed.stderr) == 65_536


def test_a_program_that_does_not_end_is_killed():
    with pytest.raises(InputError, match=r"no answer within 0\.3 s"):
        run("import time; time.sleep(60)", timeout_seconds=0.3)


def test_a_program_that_closes_its_pipes_and_stays_is_killed_too():
    with pytest.raises(InputError, match=r"no answer within 0\.5 s"):
        run("import os, time; os.close(1); os.close(2); time.sleep(60)", timeout_seconds=0.5)


def test_a_program_that_prints_without_end_is_stopped():
    with pytest.raises(InputError, match="more than 100000 bytes of output"):
        run("while True: print('x' * 1000)", stdout_bytes_max=100_000)


def test_bytes_that_are_no_text_are_replaced():
    assert run(r"import os; os.write(1, b'a\xffb')").stdout == "a\ufffdb"


def test_a_program_that_cannot_be_started_is_bad_input(tmp_path):
    with pytest.raises(InputError, match="cannot be run"):
        run_bounded((str(tmp_path),), environment={}, timeout_seconds=1, stdout_bytes_max=1)
