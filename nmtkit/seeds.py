"""Seeds of random draws that depend on given numbers and on nothing else."""

import hashlib


def derive_seed(*numbers: int) -> int:
    """Return a pseudo-random number below 2^63 that depends on all given numbers."""
    digest = hashlib.sha256(" ".join(map(str, numbers)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
