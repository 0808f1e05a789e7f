"""The models, each a file that reads as its paper; by the name that a config's `type` gives."""

from typing import Any, TypeAlias

from nmtkit.models.rnnsearch import RNNsearch

Model: TypeAlias = RNNsearch
"""Any of the models: an `nn.Module` that is a `TranslationModel`."""

MODELS: dict[str, type[Model]] = {"rnnsearch": RNNsearch}


def model_name(config: Any) -> str:
    """The `type` of a model's config dataclass."""
    return next(name for name, model in MODELS.items() if model.config_class is type(config))
