"""Requests: every kind is part of what an allocator may be asked."""

from typing import get_args

from ullage.engine.balance import requests


def test_every_kind_of_request_may_be_asked():
    kinds = {
        each for each in vars(requests).values() if issubclass(type(each), type) and issubclass(each, tuple)
    }
    assert kinds - {requests.Wanted} == set(get_args(requests.Request))
