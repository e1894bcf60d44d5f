"""What can be a key."""

import pytest

from ullage.model.errors import InputError
from ullage.stores.protocol import KEY_CHARACTERS_MAX, checked_key


@pytest.mark.parametrize("key", ["", "k", "a key of words", "ключ", "k" * KEY_CHARACTERS_MAX])
def test_a_line_of_moderate_length_is_a_key(key):
    assert checked_key(key) == key


@pytest.mark.parametrize("key", ["k" * (KEY_CHARACTERS_MAX + 1), "a\nb", "\0", "\ud800"])
def test_what_cannot_be_kept_or_printed_is_refused(key):
    with pytest.raises(InputError, match="cannot be kept; use at most 256 printable characters"):
        checked_key(key)
