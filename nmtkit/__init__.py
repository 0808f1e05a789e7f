"""Neural machine translation from the papers that began it: train, translate, score, align.

    from nmtkit import Translator
    for translations in Translator.load("model").translate(["A man is reading."], beam=5):
        print(translations[0].text)

Public names are imported on first use, so that `import nmtkit` costs nothing.
"""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmtkit.errors import ConfigError as ConfigError
    from nmtkit.errors import DataError as DataError
    from nmtkit.errors import ModelError as ModelError
    from nmtkit.errors import NmtkitError as NmtkitError
    from nmtkit.errors import OutputError as OutputError
    from nmtkit.evaluation.metrics import evaluate as evaluate
    from nmtkit.inference.aligner import Aligner as Aligner
    from nmtkit.inference.alternatives import Alternative as Alternative
    from nmtkit.inference.document import translate_document as translate_document
    from nmtkit.inference.embedder import Embedder as Embedder
    from nmtkit.inference.markup_translator import MarkupTranslator as MarkupTranslator
    from nmtkit.inference.scorer import Scorer as Scorer
    from nmtkit.inference.segmenter import Segmenter as Segmenter
    from nmtkit.inference.translator import Translator as Translator
    from nmtkit.integrity.check import check as check
    from nmtkit.preprocessing.api import build_shortlist as build_shortlist
    from nmtkit.preprocessing.api import prepare as prepare
    from nmtkit.preprocessing.api import select as select
    from nmtkit.preprocessing.corpora import TrainingCorpus as TrainingCorpus
    from nmtkit.text.glossary import Glossary as Glossary
    from nmtkit.text.glossary import Term as Term
    from nmtkit.training.adaptation.adapt import adapt as adapt
    from nmtkit.training.adaptation.report import LossRefused as LossRefused
    from nmtkit.training.calibrate import calibrate as calibrate
    from nmtkit.training.train import train as train

__version__ = "0.2.0"

# Intel's MKL uses fewer threads when the machine is busy, and sums are then rounded differently;
# the same seed would not give the same model. It reads this when torch first computes.
os.environ.setdefault("MKL_DYNAMIC", "FALSE")


def _has_intel_processor(cpuinfo: str = "/proc/cpuinfo") -> bool:
    """Return True if Linux says so in this file, in which each processor begins with its maker."""
    try:
        with open(cpuinfo, encoding="utf-8", errors="replace") as lines:
            return "GenuineIntel" in next((line for line in lines if "vendor_id" in line), "")
    except OSError:
        return False


# On Intel's processors MKL's sums also depend on the number of threads, and one process and three
# wrote other last digits. For another maker's processors this might choose slower instructions.
if _has_intel_processor():
    os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")

# GNU's OpenMP lets a waiting thread spin for milliseconds. If another program occupies the core
# that it waits for, both cores do nothing else: training was ten times slower beside a program that
# kept one of two cores busy. Three thousand turns cover most of what one thread does alone when the
# cores are free; waking a sleeping thread takes longer than that.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")

_PUBLIC = {
    "Aligner": "nmtkit.inference.aligner",
    "Alternative": "nmtkit.inference.alternatives",
    "ConfigError": "nmtkit.errors",
    "DataError": "nmtkit.errors",
    "Embedder": "nmtkit.inference.embedder",
    "Glossary": "nmtkit.text.glossary",
    "LossRefused": "nmtkit.training.adaptation.report",
    "MarkupTranslator": "nmtkit.inference.markup_translator",
    "ModelError": "nmtkit.errors",
    "NmtkitError": "nmtkit.errors",
    "OutputError": "nmtkit.errors",
    "Scorer": "nmtkit.inference.scorer",
    "Segmenter": "nmtkit.inference.segmenter",
    "Term": "nmtkit.text.glossary",
    "TrainingCorpus": "nmtkit.preprocessing.corpora",
    "Translator": "nmtkit.inference.translator",
    "adapt": "nmtkit.training.adaptation.adapt",
    "build_shortlist": "nmtkit.preprocessing.api",
    "calibrate": "nmtkit.training.calibrate",
    "check": "nmtkit.integrity.check",
    "evaluate": "nmtkit.evaluation.metrics",
    "prepare": "nmtkit.preprocessing.api",
    "select": "nmtkit.preprocessing.api",
    "train": "nmtkit.training.train",
    "translate_document": "nmtkit.inference.document",
}
"""Public name -> the module that defines it."""

__all__ = [
    "Aligner",
    "Alternative",
    "ConfigError",
    "DataError",
    "Embedder",
    "Glossary",
    "LossRefused",
    "MarkupTranslator",
    "ModelError",
    "NmtkitError",
    "OutputError",
    "Scorer",
    "Segmenter",
    "Term",
    "TrainingCorpus",
    "Translator",
    "adapt",
    "build_shortlist",
    "calibrate",
    "check",
    "evaluate",
    "prepare",
    "select",
    "train",
    "translate_document",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'nmtkit' has no attribute '{name}'")
    import importlib

    from nmtkit.posix import check_platform

    check_platform()
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted([*globals(), *_PUBLIC])
