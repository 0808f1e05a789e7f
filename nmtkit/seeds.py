"""Seeds of random numbers, derived from numbers such as a seed and a line's number."""

import hashlib


def derive_seed(*numbers: int) -> int:
    """Return a pseudo-random number below 2^63 that depends on all the given numbers alone."""
    digest = hashlib.sha256(" ".join(map(str, numbers)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
