"""Settings: frozen dataclasses, made of TOML tables (`config_text.py`), each key checked.

A recipe is a TOML file with the sections `[model]`, `[data]`, `[training]`, `[search]`; the
key `base` names another recipe whose settings it starts from. A model folder's `config.toml`
has the section `[text]` besides, which says how the model's text was prepared.
"""

import dataclasses
import difflib
import math
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar

from nmtkit.errors import ConfigError

FORMAT = 1
"""Version of the model folder's layout; raised when older versions could not read it."""

Settings = TypeVar("Settings")
Lengths = TypeVar("Lengths", bound=Any)
"""A number or a tensor of them."""


@dataclass(frozen=True)
class TextConfig:
    """How raw lines become tokens and tokens lines again.

    bpe: "joint" was learned on both sides together, "separate" on each side alone.
    """

    src_language: str = "en"
    tgt_language: str = "fr"
    tokenized: bool = False
    hyphens: bool = False
    escape: bool = False
    bpe: Literal["none", "joint", "separate"] = "none"


@dataclass(frozen=True)
class DataConfig:
    """Which pairs are trained on, and how batches are drawn from them (Bahdanau et al. 2015, B.2).

    max_length: a pair is left out when either side has more tokens, `</s>` not counted.
    batch_size, batch_unit: pairs in a batch, or target positions in it, padding counted.
    pool: so many batches are read together, sorted by length, and cut into batches.
    order: in which the batches of a pool are used.
    shuffle: the corpus is put in a random order once for all epochs, or anew for each.
    swap_sides: the model translates the other way: the prepared folder's target is its source.
    """

    max_length: int = 50
    batch_size: int = 80
    batch_unit: Literal["sentences", "tokens"] = "sentences"
    pool: int = 20
    order: Literal["ascending", "random"] = "ascending"
    shuffle: Literal["once", "every-epoch"] = "once"
    swap_sides: bool = False

    @property
    def sides(self) -> tuple[str, str]:
        """What the model's source and its target are called in the prepared folder."""
        return ("tgt", "src") if self.swap_sides else ("src", "tgt")


@dataclass(frozen=True)
class TrainingConfig:
    """How the parameters are learned.

    cost: what the gradient is of: the sum of -log p over the batch (GroundHog), that sum divided
        by the sentences of the batch, or by its target tokens.
    clip_norm: the gradient is rescaled to this L2 norm when longer; 0: never.
    accumulate: batches whose gradients are joined in one update.
    precision: in which products of matrices are computed; parameters, states, softmax and the
        optimizer are float32 either way. bfloat16 pays on a GPU and on processors that multiply
        it (avx512_bf16, amx_bf16), and is slower on others.
    validate_every: updates between two validations.
    validate_epochs: epochs between two validations, parts counted by the pool, instead of
        `validate_every`; 0: as that says.
    patience: validations without a new best after which training stops; 0: never.
    stop_on: the dev figure that counts: cost per token, or BLEU.
    dev_bleu, dev_beam: measure BLEU on the dev set at each validation, with this beam.
    max_epochs: training ends after so many, parts counted by the pool; 0: never.
    decay, decay_patience: after so many validations without a new best dev cost, the learning
        rate is multiplied by `decay`; patience 0: never.
    decay_after, decay_every: when so many epochs are over it is besides, and then again every so
        many; 0: never (Sutskever et al. 2014 halve it after 5, and every half epoch from then on).
    warmup: updates over which the learning rate rises to its value in a straight line.
    cooldown: updates before `max_updates` over which it falls to 0 in a straight line.
    max_skipped: updates in a row whose cost or gradient is not finite, after which training stops;
        each of them leaves the parameters as they are.
    average: `params.best` is the mean of the last so many checkpoints up to the best one.
    keep: checkpoints kept in the folder.
    """

    seed: int = 1
    optimizer: Literal["adadelta", "adam", "sgd"] = "adadelta"
    learning_rate: float = 1.0
    rho: float = 0.95
    epsilon: float = 1e-6
    cost: Literal["batch-sum", "sentence-mean", "token-mean"] = "batch-sum"
    clip_norm: float = 1.0
    label_smoothing: float = 0.0
    accumulate: int = 1
    precision: Literal["float32", "bfloat16"] = "float32"
    max_updates: int = 0
    max_epochs: float = 0.0
    validate_every: int = 1000
    validate_epochs: float = 0.0
    patience: int = 0
    stop_on: Literal["cost", "bleu"] = "cost"
    dev_bleu: bool = True
    dev_beam: int = 5
    decay: float = 0.5
    decay_patience: int = 0
    decay_after: float = 0.0
    decay_every: float = 0.5
    warmup: int = 0
    cooldown: int = 0
    max_skipped: int = 10
    average: int = 1
    keep: int = 3


@dataclass(frozen=True)
class SearchConfig:
    """How translations are looked for.

    beam: hypotheses kept a sentence.
    rule: "shrinking": a finished hypothesis leaves the beam, which is one narrower from then on,
        until it is 0 (the papers); "bounded": the beam keeps its width, and search stops when no
        unfinished hypothesis can beat the n best finished ones any more.
    length_penalty, penalty: a hypothesis is ranked by score / length^length_penalty, `</s>` being
        counted; 1: mean log-probability of a word (RNNsearch), 0: plain log-probability
        (Sutskever). "wu": by score / ((5 + length) / 6)^length_penalty (Wu et al. 2016, eq. (14)).
    coverage_penalty: so many times is added what is missing of the source in the alignments of the
        hypothesis (`search/coverage.py`); 0: nothing is. It decides among the finished hypotheses
        of a beam.
    forbid_unk: never choose `<unk>`.
    max_length_ratio: search ends after this many times the source length in steps (at least 10).
    min_length_ratio: no translation is shorter than this many times the source length, `</s>`
        counted in both (0.5 in GroundHog's batch use).
    """

    beam: int = 12
    rule: Literal["shrinking", "bounded"] = "shrinking"
    length_penalty: float = 1.0
    penalty: Literal["power", "wu"] = "power"
    coverage_penalty: float = 0.0
    forbid_unk: bool = False
    max_length_ratio: float = 3.0
    min_length_ratio: float = 0.0

    def length_divisor(self, lengths: Lengths) -> Lengths:
        """What scores of hypotheses so long, `</s>` counted, are divided by to rank them."""
        base: Any = (5 + lengths) / 6 if self.penalty == "wu" else lengths
        divisor: Lengths = base**self.length_penalty
        return divisor


@dataclass(frozen=True)
class Config:
    """All settings of one trained model. `model` is the config dataclass of its model file."""

    model: Any
    data: DataConfig = field(default_factory=DataConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    text: TextConfig = field(default_factory=TextConfig)


class Range(NamedTuple):
    """Numbers that a setting may have, and how a message calls them."""

    words: str
    holds: Callable[[Any], bool]


AT_LEAST_ONE = Range("at least 1", lambda value: value >= 1)
SIZE = Range("from 1 to 1,000,000", lambda value: 1 <= value <= 1_000_000)
DEPTH = Range("from 1 to 100", lambda value: 1 <= value <= 100)
NOT_NEGATIVE = Range("at least 0", lambda value: 0 <= value < math.inf)
POSITIVE = Range("above 0", lambda value: 0 < value < math.inf)
SHARE = Range("in [0, 1)", lambda value: 0 <= value < 1)
FRACTION = Range("above 0 and below 1", lambda value: 0 < value < 1)

RANGES: dict[str, Range] = {
    "model.dropout": SHARE,
    "model.output_rank": Range("from 0 to 1,000,000", lambda value: 0 <= value <= 1_000_000),
    "model.layers": DEPTH,
    "model.context": DEPTH,
    "data.max_length": AT_LEAST_ONE,
    "data.batch_size": AT_LEAST_ONE,
    "data.pool": AT_LEAST_ONE,
    "training.seed": NOT_NEGATIVE,
    "training.learning_rate": POSITIVE,
    "training.rho": FRACTION,
    "training.epsilon": POSITIVE,
    "training.clip_norm": NOT_NEGATIVE,
    "training.label_smoothing": SHARE,
    "training.accumulate": AT_LEAST_ONE,
    "training.max_updates": NOT_NEGATIVE,
    "training.max_epochs": NOT_NEGATIVE,
    "training.validate_every": AT_LEAST_ONE,
    "training.validate_epochs": NOT_NEGATIVE,
    "training.patience": NOT_NEGATIVE,
    "training.dev_beam": AT_LEAST_ONE,
    "training.decay": POSITIVE,
    "training.decay_patience": NOT_NEGATIVE,
    "training.decay_after": NOT_NEGATIVE,
    "training.decay_every": POSITIVE,
    "training.warmup": NOT_NEGATIVE,
    "training.cooldown": NOT_NEGATIVE,
    "training.max_skipped": AT_LEAST_ONE,
    "training.average": AT_LEAST_ONE,
    "training.keep": AT_LEAST_ONE,
    "search.beam": AT_LEAST_ONE,
    "search.length_penalty": NOT_NEGATIVE,
    "search.coverage_penalty": NOT_NEGATIVE,
    "search.max_length_ratio": POSITIVE,
    "search.min_length_ratio": NOT_NEGATIVE,
}

SECTIONS: dict[str, type[Any]] = {
    "data": DataConfig,
    "training": TrainingConfig,
    "search": SearchConfig,
    "text": TextConfig,
}


def settings_from(cls: type[Settings], table: Mapping[str, Any], where: str) -> Settings:
    """Make a settings dataclass from a TOML table.

    :param where: file and section, for messages.
    :raises ConfigError: a key that does not exist (the nearest is named) or a value of wrong type.
    """
    hints = typing.get_type_hints(cls)
    names = [f.name for f in dataclasses.fields(cls)]  # type: ignore[arg-type]
    for key in table:
        if key not in names:
            raise ConfigError(f"{where}: there is no setting '{key}'; {nearest(key, names)}")
    values = {key: _checked(value, hints[key], f"{where}.{key}") for key, value in table.items()}
    return cls(**values)


def nearest(key: str, names: Iterable[str]) -> str:
    """What to tell who has named something that is not among the names."""
    names = list(names)
    near = difflib.get_close_matches(key, names, n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else f"known are: {', '.join(sorted(names))}"


def _checked(value: Any, kind: Any, where: str) -> Any:
    if typing.get_origin(kind) is Literal:
        choices = typing.get_args(kind)
        if value not in choices:
            raise ConfigError(f"{where}: {value!r} is not one of {', '.join(map(str, choices))}")
        return value
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value) if abs(value) < 1 << 63 else math.inf  # what no setting may be
    if not isinstance(kind, types.UnionType) and type(value) is not kind:
        raise ConfigError(f"{where}: expected {kind.__name__}, not {value!r}")
    return value


def config_from(table: Mapping[str, Any], where: str) -> Config:
    """Make a `Config` from a whole TOML document.

    :raises ConfigError: an unknown section or key, a wrong type, an unknown model.
    """
    from nmtkit.models import MODELS  # torch is imported only where a model is used

    for key in table:
        if key not in {*SECTIONS, "model", "format"}:
            known = nearest(key, [*SECTIONS, "model"])
            raise ConfigError(f"{where}: there is no section '{key}'; {known}")
        if key != "format" and not isinstance(table[key], dict):
            raise ConfigError(f"{where}: '{key}' must be a section, [{key}], not a value")
    model = dict(table.get("model", {}))
    name = model.pop("type", "rnnsearch")
    if not isinstance(name, str) or name not in MODELS:
        raise ConfigError(f"{where}: there is no model '{name}'; {nearest(str(name), MODELS)}")
    sections = {
        key: settings_from(cls, table.get(key, {}), f"{where}: {key}")
        for key, cls in SECTIONS.items()
    }
    model_config = settings_from(MODELS[name].config_class, model, f"{where}: model")
    config = Config(model=model_config, **sections)
    _check_ranges(config, where)
    return config


def _check_ranges(config: Config, where: str) -> None:
    """Refuse values that cannot mean anything, before any work is done."""
    for key, value in _flat(config):
        allowed = RANGES.get(key)
        if allowed is None and key.startswith("model.") and type(value) is int:
            allowed = SIZE  # every whole number of a model is one
        if allowed is not None and not allowed.holds(value):
            raise ConfigError(f"{where}: {key} must be {allowed.words}, not {value}")
    if config.training.stop_on == "bleu" and not config.training.dev_bleu:
        raise ConfigError(f"{where}: training.stop_on = 'bleu' needs training.dev_bleu = true")
    if config.training.cooldown and not config.training.max_updates:
        raise ConfigError(f"{where}: training.cooldown needs training.max_updates, its end")


def _flat(config: Config) -> Iterator[tuple[str, Any]]:
    """Every setting as "section.key" and value."""
    for section in ("model", *SECTIONS):
        settings = getattr(config, section)
        for item in dataclasses.fields(settings):
            yield f"{section}.{item.name}", getattr(settings, item.name)
