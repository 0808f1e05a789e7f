"""The models, one file per paper, in a registry by the `type` of their config."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from nmtkit.models.cslm import CSLM
    from nmtkit.models.deep_lstm import DeepLSTM
    from nmtkit.models.grconv import GrConv
    from nmtkit.models.rnnenc import RNNenc
    from nmtkit.models.rnnsearch import RNNsearch

Model: TypeAlias = "RNNsearch | RNNenc | GrConv | DeepLSTM | CSLM"
"""Any of the models: an `nn.Module` that is a `TranslationModel`."""


class LazyModels(Mapping[str, type[Model]]):
    """Model classes by name; a model's file is imported when its class is first looked up.

    Translating with one model does not pay for importing the others.
    """

    def __init__(self, classes: dict[str, str]) -> None:
        """Take the name of each model with its class as `module:Class`."""
        self._classes = classes

    def __getitem__(self, name: str) -> type[Model]:
        """Import and return a model's class."""
        module, _, class_name = self._classes[name].partition(":")
        model: type[Model] = getattr(import_module(module), class_name)
        return model

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._classes)

    def __len__(self) -> int:
        """Return the number of models."""
        return len(self._classes)

    def name_of(self, config: Any) -> str:
        """Return the name of the model whose file defines the class of `config`."""
        module = type(config).__module__
        return next(name for name, cls in self._classes.items() if cls.startswith(f"{module}:"))


MODELS = LazyModels(
    {
        "rnnsearch": "nmtkit.models.rnnsearch:RNNsearch",
        "rnnenc": "nmtkit.models.rnnenc:RNNenc",
        "phrase-rnn": "nmtkit.models.phrase_rnn:PhraseRNN",
        "grconv": "nmtkit.models.grconv:GrConv",
        "deep-lstm": "nmtkit.models.deep_lstm:DeepLSTM",
        "cslm": "nmtkit.models.cslm:CSLM",
    }
)


def model_name(config: Any) -> str:
    """Return the `type` of a model's config dataclass."""
    return MODELS.name_of(config)
