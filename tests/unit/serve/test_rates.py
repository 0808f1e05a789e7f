"""A client may ask as often as the limit says, and is told when it may ask again."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nmtkit.serve import rates
from nmtkit.serve.errors import RequestError
from nmtkit.serve.rates import RateLimit, network_of


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "::ffff:192.0.2.7"),
        ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:bbbb:1:2:3", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("local", "local"),
    ],
)
def test_the_addresses_that_a_client_of_ipv6_has_are_one_client(address: str, network: str) -> None:
    assert network_of(address) == network


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


@given(st.integers(1, 2_000), st.lists(st.floats(0, 90), max_size=30))
@example(1, [60.85369293216969])  # refused again, as the sum of both times was rounded
def test_a_client_that_waits_as_long_as_it_is_told_is_served(per_minute, waits):
    now = 0.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nmtkit.serve.rates.time.monotonic", lambda: now)
        limit = RateLimit(per_minute)
        for wait in (0.0, *waits):
            now += wait
            for _ in range(per_minute + 1):
                try:
                    limit.check("a")
                except RequestError as error:
                    assert error.retry_after is not None
                    assert 0 < error.retry_after < 60 / per_minute + 1
                    now += error.retry_after
                    limit.check("a")
                    break
