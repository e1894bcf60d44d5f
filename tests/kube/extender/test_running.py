"""The extender as a process: what it cannot start with is said in one line."""

import pytest

from plane.certificate import self_signed
from ullage.kube.extender.running import Listening
from ullage.model.errors import InputError


def test_without_a_certificate_tls_is_not_spoken():
    assert Listening().context() is None


def test_with_a_certificate_it_is(tmp_path):
    both = tmp_path / "both.pem"
    both.write_bytes(self_signed())
    assert Listening(certificate=str(both), key=str(both)).context() is not None


def test_a_certificate_that_cannot_be_used_is_named(tmp_path):
    with pytest.raises(InputError, match="--tls-certificate"):
        Listening(certificate=str(tmp_path / "absent.pem"), key=str(tmp_path / "absent.pem")).context()
