"""Measure the machine's ceiling: products of two square matrices, in GFLOP/s.

Products use torch's default library, or with --onednn oneDNN, which is faster on some processors.
`bench/gpu.py` measures a GPU's ceiling with the same function.
Rates are by wall clock and by processor time, which is steadier on a busy machine. Run this in a
separate process, with as many threads as the program to compare with.
"""

import argparse
import time

TOGETHER = 10
"""Products on a GPU between two waits."""


def rates(
    size: int, seconds: float, dtype: str, onednn: bool = False, device: str = "cpu"
) -> tuple[float, float]:
    """Return GFLOP/s (multiplications and additions) by wall clock and by processor time.

    Products are repeated for `seconds`; on a GPU a few at a time, which are then waited for.
    """
    import torch

    left = torch.randn(size, size, device=device).to(getattr(torch, dtype))
    right = torch.randn(size, size, device=device).to(getattr(torch, dtype))
    together = 1 if device == "cpu" else TOGETHER

    def multiply() -> None:
        for _ in range(together):
            if onednn:
                torch.ops.mkldnn._linear_pointwise(left, right.t(), None, "none", [], "")
            else:
                left @ right
        if device != "cpu":
            torch.accelerator.synchronize()

    for _ in range(3):
        multiply()
    count, started, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - started < seconds:
        multiply()
        count += together
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
