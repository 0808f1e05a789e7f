"""A client may ask as often as the limit says, and is told when it may ask again."""

import pytest

from nmtkit.serve import rates
from nmtkit.serve.errors import RequestError
from nmtkit.serve.rates import RateLimit


def test_permissions_come_back_with_time(monkeypatch):
    now = 0.0
    monkeypatch.setattr("nmtkit.serve.rates.time.monotonic", lambda: now)
    limit = RateLimit(60)
    for _ in range(60):
        limit.check("a")
    with pytest.raises(RequestError) as caught:
        limit.check("a")
    assert (caught.value.status, caught.value.retry_after) == (429, 1)
    limit.check("b")
    now += 1
    limit.check("a")
    with pytest.raises(RequestError):
        limit.check("a")


def test_no_limit_and_few_clients_remembered(monkeypatch):
    monkeypatch.setattr(rates, "MAX_CLIENTS", 3)
    for _ in range(1_000):
        RateLimit(0).check("a")
    limit = RateLimit(1)
    for client in range(10):
        limit.check(client)
    assert len(limit._buckets) == 3
