"""The models, one file a paper, by the name that a config's `type` gives."""

from typing import Any, TypeAlias

from nmtkit.models.cslm import CSLM
from nmtkit.models.deep_lstm import DeepLSTM
from nmtkit.models.grconv import GrConv
from nmtkit.models.phrase_rnn import PhraseRNN
from nmtkit.models.rnnenc import RNNenc
from nmtkit.models.rnnsearch import RNNsearch

Model: TypeAlias = RNNsearch | RNNenc | GrConv | DeepLSTM | CSLM
"""Any of the models: an `nn.Module` that is a `TranslationModel`."""

MODELS: dict[str, type[Model]] = {
    "rnnsearch": RNNsearch,
    "rnnenc": RNNenc,
    "phrase-rnn": PhraseRNN,
    "grconv": GrConv,
    "deep-lstm": DeepLSTM,
    "cslm": CSLM,
}


def model_name(config: Any) -> str:
    """Return the `type` of a model's config dataclass."""
    return next(name for name, model in MODELS.items() if model.config_class is type(config))
