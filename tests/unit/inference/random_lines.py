"""Lines of random words, some of them empty."""

import random


def random_lines(count: int) -> list[str]:
    random.seed(count)
    lengths = [random.choice([0, 1, 2, 3, 5, 9]) for _ in range(count)]
    return [" ".join(random.choices("abcdef", k=length)) for length in lengths]
