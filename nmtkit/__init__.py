"""Neural machine translation from the papers that began it: train, translate, score, align.

    from nmtkit import Translator
    for best in Translator.load("model").translate(["A man is reading."]):
        print(best[0].text)

What is named here is imported when it is first asked for, so that `import nmtkit` costs nothing.
"""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmtkit.errors import NmtkitError as NmtkitError
    from nmtkit.inference.aligner import Aligner as Aligner
    from nmtkit.inference.scorer import Scorer as Scorer
    from nmtkit.inference.translator import Translator as Translator
    from nmtkit.training.train import train as train

__version__ = "0.1.0"

# Intel's MKL takes fewer threads when the machine is busy, and sums round otherwise then: the same
# seed would not give the same model. It reads this when torch first computes, so it is set here.
os.environ.setdefault("MKL_DYNAMIC", "FALSE")

# GNU's OpenMP lets a thread that waits for another spin for milliseconds. Where something else has
# the other's core, both cores then do nothing else: training was ten times slower beside a program
# that kept one of two cores busy. Three thousand turns bridge most of what one thread does alone,
# when the cores are free: to wake a thread that sleeps takes longer than that.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")

_PUBLIC = {
    "Aligner": "nmtkit.inference.aligner",
    "NmtkitError": "nmtkit.errors",
    "Scorer": "nmtkit.inference.scorer",
    "Translator": "nmtkit.inference.translator",
    "train": "nmtkit.training.train",
}

__all__ = ["Aligner", "NmtkitError", "Scorer", "Translator", "train"]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'nmtkit' has no attribute '{name}'")
    import importlib

    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
