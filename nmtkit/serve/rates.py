"""Limits on how often a client may ask."""

import math
import time
from collections import OrderedDict
from collections.abc import Hashable
from ipaddress import IPv4Address, IPv6Address, ip_address

from nmtkit.serve.errors import RequestError

MAX_CLIENTS = 10_000
"""Clients that are remembered; the one that has asked least recently is forgotten."""

ROUNDING = 1e-6
"""Share of a permission that may be missing: sums of times are rounded."""


def network_of(address: str) -> str:
    """Return the network that a client has by its address: with IPv6 it has 2^64 addresses."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv4Address) or found.ipv4_mapped is not None:
        return address
    return f"{IPv6Address(int(found) >> 64 << 64)}/64"


class RateLimit:
    """A bucket of permissions for each client, which fills steadily.

    :param per_minute: requests of a client; 0: no limit.
    """

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def check(self, client: Hashable) -> None:
        """Count a request.

        :raises RequestError: the client has asked too often; it says when to ask again.
        """
        if not self._per_minute:
            return
        now = time.monotonic()
        tokens, seen = self._buckets.pop(client, (float(self._per_minute), now))
        tokens = min(self._per_minute, tokens + (now - seen) * self._per_minute / 60)
        allowed = tokens >= 1 - ROUNDING
        self._buckets[client] = (tokens - allowed, now)
        if len(self._buckets) > MAX_CLIENTS:
            self._buckets.popitem(last=False)
        if not allowed:
            seconds = math.ceil((1 - tokens) * 60 / self._per_minute)
            sentence = f"more than {self._per_minute} requests per minute; wait {seconds} s"
            raise RequestError(429, sentence, seconds)
