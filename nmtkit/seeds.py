"""Seeds of random draws that shall depend on some numbers and on nothing else."""

import hashlib


def seed_of(*numbers: int) -> int:
    """A number below 2^63 that depends on all of them and looks random."""
    digest = hashlib.sha256(" ".join(map(str, numbers)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
