"""Measure the machine's ceiling: products of two square matrices, in GFLOP/s.

Products use torch's default library, or with --onednn oneDNN, which is faster on some processors.
Rates are by wall clock and by processor time, which is steadier on a busy machine. Run this in a
separate process, with as many threads as the program to compare with.
"""

import argparse
import time


def rates(size: int, seconds: float, dtype: str, onednn: bool) -> tuple[float, float]:
    """Return GFLOP/s (multiplications and additions) by wall clock and by processor time.

    Products are repeated for `seconds`.
    """
    import torch

    left = torch.randn(size, size).to(getattr(torch, dtype))
    right = torch.randn(size, size).to(getattr(torch, dtype))

    def multiply() -> None:
        if onednn:
            torch.ops.mkldnn._linear_pointwise(left, right.t(), None, "none", [], "")
        else:
            left @ right

    for _ in range(3):
        multiply()
    count, started, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - started < seconds:
        multiply()
        count += 1
    gflop = 2 * size**3 * count / 1e9
    return gflop / (time.perf_counter() - started), gflop / (time.process_time() - cpu)


def main() -> None:
    """Print the two rates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=2000, help="rows and columns")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long to multiply")
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"])
    parser.add_argument("--onednn", action="store_true")
    parser.add_argument("--threads", type=int, required=True)
    options = parser.parse_args()
    import torch

    torch.set_num_threads(options.threads)
    print(*rates(options.size, options.seconds, options.dtype, options.onednn))


if __name__ == "__main__":
    main()
