"""What the machine can do at most: float32 products of two square matrices, in GFLOP/s.

Run in a process of its own, with the same threads as what it is compared with.
"""

import argparse
import time


def rate(size: int, seconds: float, dtype: str) -> float:
    """10^9 multiplications and additions a second, of products repeated for `seconds`."""
    import torch

    left = torch.randn(size, size).to(getattr(torch, dtype))
    right = torch.randn(size, size).to(getattr(torch, dtype))
    for _ in range(3):
        left @ right
    count, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        left @ right
        count += 1
    return 2 * size**3 * count / (time.perf_counter() - started) / 1e9


def main() -> None:
    """Print the rate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2000, help="rows and columns")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long to multiply")
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"])
    parser.add_argument("--threads", type=int, required=True)
    options = parser.parse_args()
    import torch

    torch.set_num_threads(options.threads)
    print(rate(options.size, options.seconds, options.dtype))


if __name__ == "__main__":
    main()
