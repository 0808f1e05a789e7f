"""Alignments of the translations that search returns."""

import pytest
import torch

from nmtkit.config import SearchConfig
from nmtkit.data.batch import pad
from nmtkit.search.alignments import with_alignments
from nmtkit.search.beam import beam_search


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_alignment_of_an_ensemble_is_the_mean_of_the_models(prefix_model, sources, count):
    models = [prefix_model(seed, words=7) for seed in range(count)]
    (src, mask), lengths = pad(sources), torch.tensor(list(map(len, sources)))
    found = beam_search(models, src, mask, SearchConfig(beam=3), 2)
    encoded = [model.encode(src, mask) for model in models]
    aligned = with_alignments(models, encoded, lengths, found)
    for source, hypotheses in zip(sources, aligned, strict=True):
        for h in hypotheses:
            each = [m.score(*pad([source]), *pad([h.ids])).alignment[0] for m in models]
            assert h.alignment is not None
            torch.testing.assert_close(h.alignment, torch.stack(each).mean(0))
