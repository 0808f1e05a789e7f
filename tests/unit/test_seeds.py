"""Derived seeds are reproducible and different."""

import hashlib

import torch

from nmtkit.seeds import derive_seed


def test_seeds_of_different_numbers_are_all_different():
    seeds = {derive_seed(seed, number) for seed in range(50) for number in range(50)}
    assert len(seeds) == 2500
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_order_and_grouping_of_the_numbers_matter():
    assert (
        len(
            {
                derive_seed(1, 2),
                derive_seed(2, 1),
                derive_seed(12),
                derive_seed(1, 2, 0),
                derive_seed(1, -2),
            }
        )
        == 5
    )


def test_a_seed_is_the_first_63_bits_of_the_digest_of_the_numbers():
    digest = hashlib.sha256(b"7 41").hexdigest()
    assert derive_seed(7, 41) == int(digest[:16], 16) // 2


def test_torch_accepts_the_seeds():
    for number in range(100):
        torch.Generator().manual_seed(derive_seed(number))
