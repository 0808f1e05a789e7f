"""What `import nmtkit` does: nearly nothing, but for the sake of equal results."""

import os
import subprocess
import sys

import pytest

GRADIENT = """
import nmtkit, hashlib, torch
from nmtkit.models.rnnsearch import RNNsearch, RNNsearchConfig
torch.set_num_threads(2)
torch.manual_seed(1)
model = RNNsearch(RNNsearchConfig(128, 128, 128, 128, tied=True), 700, 1100)
src, tgt = torch.randint(2, 700, (80, 12)), torch.randint(2, 1100, (80, 13))
model.loss(src, src > 0, tgt, tgt > 0, 0.1).backward()
gradient = b"".join(p.grad.numpy().tobytes() for p in model.parameters())
print(hashlib.sha256(gradient).hexdigest())
"""


def python(code, **variables):
    environment = {key: value for key, value in os.environ.items() if key != "MKL_DYNAMIC"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**environment, **variables},
    )
    return done.stdout.strip()


@pytest.mark.parametrize(("given", "kept"), [({}, "FALSE"), ({"MKL_DYNAMIC": "TRUE"}, "TRUE")])
def test_mkl_keeps_its_threads_unless_told_otherwise(given, kept):
    assert python("import os, nmtkit; print(os.environ['MKL_DYNAMIC'])", **given) == kept


def test_two_threads_give_the_same_gradient_in_every_process():
    assert len({python(GRADIENT) for _ in range(3)}) == 1
