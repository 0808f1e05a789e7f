"""Translations of a few sentences of the dev set, to watch a training by."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from nmtkit.config import Config
from nmtkit.data.batching import read_batch
from nmtkit.data.corpus import Corpus
from nmtkit.models import Model
from nmtkit.search.beam import beam_search
from nmtkit.text.pipeline import TextPipeline
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.watcher import DevSample

SAMPLES = 5  # sentences, evenly spaced in the dev set


class DevSampler:
    """Translates always the same few sentences.

    :param data: the prepared folder.
    :param vocabularies: of source and target.
    """

    def __init__(
        self,
        data: Path,
        dev: Corpus,
        vocabularies: Sequence[Vocabulary],
        config: Config,
        device: torch.device,
    ) -> None:
        count = min(SAMPLES, len(dev))
        pairs = np.linspace(0, len(dev) - 1, count).astype(int)
        self._batch = read_batch(dev, pairs, pairs)
        self._vocabularies, self._device = vocabularies, device
        self._search = dataclasses.replace(config.search, beam=config.training.dev_beam)
        text = config.text
        languages = text.src_language, text.tgt_language
        self._pipelines = [
            TextPipeline.load(data, side, text, language)
            for side, language in zip(config.data.sides, languages, strict=True)
        ]

    @torch.inference_mode()
    def translate(self, model: Model) -> list[DevSample]:
        """Translate the sentences; the model's training mode is restored.

        A language model, which has no source, gives none.
        """
        if not model.reads_source:
            return []
        was_training = model.training
        model.eval()
        src, src_mask = self._batch.to(self._device)[:2]
        n_best = beam_search([model.for_inference()], src, src_mask, self._search, n_best=1)
        model.train(was_training)
        src_words, tgt_words = self._vocabularies
        return [
            DevSample(
                self._text(0, src_words.tokens(source[:-1])),
                self._text(1, tgt_words.tokens(reference[:-1])),
                self._text(1, tgt_words.tokens(hypotheses[0].words)),
            )
            for source, reference, hypotheses in zip(
                _ids(self._batch.src, self._batch.src_mask),
                _ids(self._batch.tgt, self._batch.tgt_mask),
                n_best,
                strict=True,
            )
        ]

    def _text(self, side: int, tokens: Sequence[str]) -> str:
        return self._pipelines[side].line(tokens)


def _ids(words: torch.Tensor, mask: torch.Tensor) -> list[list[int]]:
    """Return the ids of each sentence of a batch, without padding.

    :param words, mask: Shape: [batch, length].
    """
    return [row[kept].tolist() for row, kept in zip(words, mask, strict=True)]
