"""SacreBLEU's metrics as sufficient statistics.

Only this module and `bleu_tokenizer.py` import sacreBLEU.

SacreBLEU computes its own bootstrap from sums of sentence statistics, but through two private
methods, `PRIVATE_METHODS`. Using them gives its exact figures for any part of a test set. A version
without these methods is refused with a message, and `test_sacrebleu_adapter.py` fails.

SacreBLEU and numpy are imported at first use, so that listing the metrics does not wait for them.
"""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nmtkit.errors import NmtkitError
from nmtkit.evaluation.bleu_tokenizer import loading

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Statistics = NDArray[np.float64]

PRIVATE_METHODS = ("_extract_corpus_statistics", "_compute_score_from_stats")
"""Private methods of sacreBLEU's metrics that this module uses."""

TESTED_VERSION = "2.6.0"
"""The version of sacreBLEU that the tests use."""


@dataclass(frozen=True)
class SacrebleuMetric:
    """One metric of sacreBLEU with fixed options.

    class_name: BLEU, CHRF or TER.
    options: arguments of its constructor.
    max_score: highest possible figure; rounding may give 100.00000000000004.
    """

    class_name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    max_score: float = 100.0

    @cached_property
    def metric(self) -> Any:
        """SacreBLEU's metric object, set to one reference, which its signature states.

        :raises NmtkitError: its tokeniser is not installed.
        """
        module = importlib.import_module(f"sacrebleu.metrics.{self.class_name.lower()}")
        options = dict(self.options)
        if "tokenize" in options:
            with loading(options["tokenize"]) as options["tokenize"]:
                metric = getattr(module, self.class_name)(**options)
        else:
            metric = getattr(module, self.class_name)(**options)
        metric.num_refs = 1
        return metric

    def statistics(self, hypotheses: Sequence[str], *references: Sequence[str]) -> "Statistics":
        """Extract the sufficient statistics of each sentence. Shape: [sentences, statistics].

        :param references: one set of references or more.
        :raises NmtkitError: the installed sacreBLEU has no such method, or the metric's tokeniser
            is not installed.
        """
        import numpy as np

        from nmtkit.progress_bar import ProgressBar

        extract = self._private(PRIVATE_METHODS[0])
        with ProgressBar(f"measure {self.class_name}", "sentences", len(hypotheses)) as bar:
            rows = extract(bar.track(hypotheses), list(references))
        extracted = np.array(rows, dtype=np.float64)
        self.metric.num_refs = 1  # sacreBLEU keeps the number of these references
        return extracted

    def score(self, sums: "Statistics") -> Any:
        """Return sacreBLEU's result object for summed statistics. Shape: [statistics].

        :raises NmtkitError: the installed sacreBLEU has no such method.
        """
        return self._private(PRIVATE_METHODS[1])(sums.tolist())

    def figures(self, sums: "Statistics") -> "Statistics":
        """Compute figures in percent from sums of statistics, [..., statistics] to [...]."""
        import numpy as np

        compute = self._private(PRIVATE_METHODS[1])
        rows: list[Any] = sums.reshape(-1, sums.shape[-1]).tolist()
        scores = [min(compute(row).score, self.max_score) for row in rows]
        return np.array(scores, dtype=np.float64).reshape(sums.shape[:-1])

    def signature(self, fields: Mapping[str, str]) -> str:
        """Return sacreBLEU's signature with these fields set."""
        signature = self.metric.get_signature()
        for key, value in fields.items():
            signature.update(key, value)
        return str(signature)

    def _private(self, name: str) -> Any:
        method = getattr(self.metric, name, None)
        if method is None:
            version = importlib.import_module("sacrebleu").__version__
            raise NmtkitError(
                f"sacreBLEU {version} has no {self.class_name}.{name}, which nmtkit calls; install"
                f" the version that nmtkit is tested with: pip install sacrebleu=={TESTED_VERSION}"
            )
        return method


def multi_bleu_result(
    correct: Sequence[int], total: Sequence[int], hypothesis_length: int, reference_length: int
) -> Any:
    """Return sacreBLEU's result object for unsmoothed BLEU from summed n-gram counts.

    :param correct: matching n-grams, n = 1 to 4.
    :param total: n-grams of the hypotheses, n = 1 to 4.
    """
    bleu = importlib.import_module("sacrebleu.metrics.bleu").BLEU
    return bleu.compute_bleu(
        list(correct), list(total), hypothesis_length, reference_length, smooth_method="none"
    )
