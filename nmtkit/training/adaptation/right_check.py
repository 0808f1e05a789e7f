"""Whether few corrections come out right already, while a model is fine-tuned on them."""

import logging
import time
from collections.abc import Sequence

import torch

from nmtkit.data.batching import validation_batches
from nmtkit.data.corpus import Corpus
from nmtkit.special_symbols import UNK
from nmtkit.text.pipeline import TextPipeline
from nmtkit.training.adaptation.examiner import Examiner
from nmtkit.training.adaptation.fine_tuning import FineTuner
from nmtkit.training.validation import VALIDATION_BATCH_SIZE, validate

log = logging.getLogger("nmtkit")

CHECK_SHARE = 0.2
"""Share of the time that may be spent in checks."""

HOPEFUL_COST = 0.5
"""Cost per token, natural log, above which translating is not tried: a word is surely wrong."""


def right_lines(
    translations: Sequence[str], references: Sequence[str], text: TextPipeline
) -> list[bool]:
    """Return which translations are their references, or what these are after a round trip.

    :param text: pipeline of the target, which may write some spacing in its own way.
    """
    return [
        translation.strip() in (reference.strip(), _round_trip(reference, text))
        for translation, reference in zip(translations, references, strict=True)
    ]


def _round_trip(line: str, text: TextPipeline) -> str:
    return text.line(text.tokens(line, names=[])).strip()


class RightCheck:
    """Looks now and then whether all corrections come out right that the model can write."""

    def __init__(
        self, tuner: FineTuner, corpus: Corpus, examiner: Examiner, text: TextPipeline
    ) -> None:
        """Look at nothing yet.

        :param corpus: the corrections, which are the first test set of the examiner.
        :param text: pipeline of the target.
        """
        self._tuner = tuner
        self._batches = list(validation_batches(corpus, VALIDATION_BATCH_SIZE))
        written = [(batch.tgt != UNK).all(1) for batch in self._batches]
        self._writable = int(torch.cat(written).sum())
        self._examiner = examiner
        self._text = text
        self._device = next(tuner.model.parameters()).device
        self._seconds = 0.0  # of the last check
        self._end = time.monotonic()

    def done(self) -> bool:
        """Return whether these come out right; False while it is too early to look again."""
        start = time.monotonic()
        if (start - self._end) * CHECK_SHARE < self._seconds:
            return False
        is_done = self._is_hopeful() and self._all_right()
        self._end = time.monotonic()
        self._seconds = self._end - start
        return is_done

    def _is_hopeful(self) -> bool:
        with torch.no_grad():
            cost = validate(self._tuner.model, self._batches, self._device, None).cost_per_token
        log.debug("update %d: cost of the corrections %.3f", self._tuner.updates, cost)
        return cost < HOPEFUL_COST

    def _all_right(self) -> bool:
        test_set = self._examiner.sets[0]
        parameters = self._tuner.parameters()
        translations = self._examiner.translate_lines(test_set.sources, parameters)
        right = sum(right_lines(translations, test_set.references, self._text))
        log.info(
            "update %d: %d of %d corrections come out right",
            self._tuner.updates,
            right,
            len(translations),
        )
        return right >= self._writable
