"""Tiny models with random parameters and the words a, b, c, ..."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from nmtkit.model_folder import LoadedModel

MakeModel = Callable[..., "LoadedModel"]


@pytest.fixture
def make_model() -> MakeModel:
    """Return a function: `make_model(seed, src="abc", tgt="xyz")` makes a model of these words.

    It is an RNNsearch, or with `sizes` another model. With `bpe`, words are split by its merges,
    and the pieces should be in src and tgt. `tags` may stand before source lines, and
    placeholders stand for `names`, and symbols for `markup`.
    """
    import torch

    from nmtkit.config import Config, SearchConfig, TextConfig
    from nmtkit.model_folder import LoadedModel
    from nmtkit.models import MODELS, model_name
    from nmtkit.models.rnnsearch import RNNsearchConfig
    from nmtkit.special_symbols import EOS_WORD, UNK_WORD
    from nmtkit.text.pipeline import TextPipeline
    from nmtkit.text.subword.bpe import BPE
    from nmtkit.text.vocabulary import Vocabulary

    small = RNNsearchConfig(embedding=6, hidden=8, align=5, maxout=4)

    def make(
        seed: int,
        src: str = "abcde",
        tgt: str = "vwxyz",
        bpe: BPE | None = None,
        search: SearchConfig | None = None,
        sizes: Any = small,
        tags: tuple[str, ...] = (),
        names: Any = None,
        markup: Any = "none",
    ) -> LoadedModel:
        torch.manual_seed(seed)
        words = [
            Vocabulary([EOS_WORD, UNK_WORD, *(side.split() if " " in side else side)])
            for side in (src, tgt)
        ]
        model = MODELS[model_name(sizes)](sizes, len(words[0]), len(words[1]))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.uniform_(-1, 1)
            model.b_y[0] += 3  # so that most sentences end
        model.eval().requires_grad_(False)
        text = TextConfig(
            subwords="joint" if bpe else "none",
            tags=tags,
            copy_names=names is not None,
            markup=markup,
        )
        config = Config(sizes, search=search or SearchConfig(beam=4), text=text)
        pipelines = [
            TextPipeline("en", text, bpe, tags, names=names),
            TextPipeline("fr", text, bpe),
        ]
        return LoadedModel(
            model, config, words[0], words[1], pipelines[0], pipelines[1], torch.device("cpu")
        )

    return make
