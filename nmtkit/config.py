"""Settings: frozen dataclasses built from TOML tables (`config_io.py`), with all keys checked.

A recipe is a TOML file with the sections `[model]`, `[data]`, `[training]` and `[search]`; its
key `base` names another recipe to start from. A model folder's `config.toml` also has the section
`[text]`, which describes how the model's text was prepared.
"""

import dataclasses
import difflib
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict, TypeVar

from nmtkit.config_ranges import LAYER_SIZE, RANGES
from nmtkit.errors import ConfigError
from nmtkit.text_config import Side as Side
from nmtkit.text_config import TextConfig as TextConfig
from nmtkit.value_types import check_range, check_type

FORMAT = 3
"""Version of the model folder's layout; raised when older versions of nmtkit cannot read it. All
versions up to it can be read.

2: settings have the names of nmtkit 0.2 (`RENAMED_SETTINGS`). 3: there are settings that nmtkit 0.2
does not know.
"""

Settings = TypeVar("Settings")


@dataclass(frozen=True)
class DataConfig:
    """Selection of training pairs, and batching (Bahdanau et al. 2015, B.2).

    max_length: skip pairs with more tokens on either side, `</s>` not counted.
    batch_size: size of a batch, counted in `batch_unit`.
    batch_unit: "sentences": sentence pairs; "tokens": target positions, padding counted.
    sort_pool: number of batches that are read together, sorted by length, and cut into batches.
    order: order in which the batches of a pool are used.
    shuffle: shuffle the corpus once for all epochs, or again for each epoch.
    bpe_dropout: probability with which each BPE merge is left out in the training data, drawn anew
        whenever a pair is used (Provilkov et al. 2020: 0.1); 0: never.
    swap_sides: train the opposite direction: the prepared folder's target becomes the source.
    terms_augment: share of the training pairs in which translations stand instead of some source
        words (Dinu et al. 2019), as `translate --terms` then writes them; 0: none.
    """

    max_length: int = 50
    batch_size: int = 80
    batch_unit: Literal["sentences", "tokens"] = "sentences"
    sort_pool: int = 20
    order: Literal["ascending", "random"] = "ascending"
    shuffle: Literal["once", "every-epoch"] = "once"
    bpe_dropout: float = 0.0
    swap_sides: bool = False
    terms_augment: float = 0.0

    @property
    def sides(self) -> tuple[Side, Side]:
        """Names that the prepared folder gives to the model's source and target side."""
        return ("tgt", "src") if self.swap_sides else ("src", "tgt")


@dataclass(frozen=True)
class TrainingConfig:
    """Optimization, validation, early stopping and checkpoints.

    seed: seed of the initial parameters, the order of the corpus and dropout.
    optimizer: Adadelta (Zeiler 2012), Adam (Kingma and Ba 2015) or plain SGD.
    learning_rate: factor of each step; 1 is Adadelta as published.
    rho: decay rate of Adadelta's running means.
    epsilon: constant in the denominator of Adadelta and Adam.
    loss_reduction: "batch-sum": sum of -log p over the batch (GroundHog); "sentence-mean",
        "token-mean": that sum divided by the batch's sentences, or by its target tokens.
    clip_norm: rescale the gradient to this L2 norm if it is longer; 0: never.
    label_smoothing: share of the target probability that is spread over all words
        (Szegedy et al. 2016); 0: none.
    softmax_samples: train with a softmax over this many words drawn for each batch, and the batch's
        own (Jean et al. 2015), until `cooldown` or `schedule` has lowered the learning rate to a
        quarter; 0: all words.
    curriculum_updates: number of updates over which the length of sentences grows, from that of the
        shortest tenth to all (Platanios et al. 2019); batches whose target sentences are longer on
        average are skipped, which counts as reading them. 0: all from the beginning.
    init_output_bias: begin with the log frequency of each target word as its output bias, not 0. It
        has no effect with `--from`.
    init_source_embeddings: begin with source embeddings near those of their translations, which are
        learned from the corpus when the training starts. It has no effect with `--from`.
    guided_alignment: weight of a cost of attention that differs from the links of word pairs, which
        are learned from the corpus when the training starts (Chen et al. 2016); 0: none.
    guided_updates: number of updates over which that weight falls linearly to 0; 0: it stays.
    gradient_accumulation: number of batches whose gradients are summed for one update.
    batch_parts: on the CPU, split the pairs of each batch in this many parts, whose gradients are
        computed at the same time by as many processes, which divide the threads; 1: off. This is
        faster for small models. Another number gives another model, as dropout and the words of
        `softmax_samples` are drawn for each part.
    precision: type of matrix products; parameters, states, softmax and optimizer stay float32.
        bfloat16 is faster on a GPU and on processors with avx512_bf16 or amx_bf16 only.
    cuda_graphs: on a GPU by CUDA, record the kernels of each shape of batch and start them
        together. Batches are padded to fewer shapes for it, which changes sums in their last
        digits. It has no effect on batches of drawn words, nor on grConv.
    max_updates: stop training after this many updates; 0: never.
    validate_every: number of updates between two validations.
    validate_epochs: number of epochs between two validations, counted in whole sort pools; 0: use
        `validate_every`.
    patience: stop training after this many validations without a new best; 0: never.
    early_stopping_metric: dev figure by which the best parameters are chosen: cost per token, BLEU
        or chrF.
    dev_bleu: measure BLEU on the dev set at each validation; also chrF if spaces do not separate
        the words of the target language.
    dev_beam: beam size for translating the dev set.
    max_epochs: stop training after this many epochs, counted in whole sort pools; 0: never.
    lr_decay: factor by which the learning rate decays.
    lr_decay_patience: decay the learning rate after this many validations without a new best dev
        cost; 0: never.
    lr_decay_after: also decay the learning rate after this many epochs; 0: never (Sutskever et al.
        2014: 5).
    lr_decay_every: number of epochs between two decays after `lr_decay_after` (Sutskever et al.
        2014: 0.5).
    warmup: number of updates over which the learning rate rises linearly to its value.
    cooldown: number of updates before `max_updates` over which the learning rate falls
        linearly to 0.
    time_limit: stop training after this many seconds, over all runs and with the validation at its
        end; 0: never. `schedule` gets the updates that fit into it on this machine.
    cooldown_share: share of `time_limit` at its end over which the learning rate falls linearly to
        0, after a checkpoint from which a training with a higher limit goes on; with `--updates`
        that share of the updates. Without either it has no effect.
    schedule: further factors of the learning rate, "updates:factor", linear between points; the
        last one ends the training. `time_limit` adds points when they are known; with them, and
        without it, a training is repeated exactly. `--updates` replaces one that ends elsewhere.
    max_nonfinite: stop training after this many consecutive updates without finite cost and
        gradient; such updates leave the parameters unchanged.
    average_checkpoints: number of last checkpoints whose mean is validated and saved.
    keep_checkpoints: number of checkpoints to keep in the folder, besides more that
        `average_checkpoints` needs.
    """

    seed: int = 1
    optimizer: Literal["adadelta", "adam", "sgd"] = "adadelta"
    learning_rate: float = 1.0
    rho: float = 0.95
    epsilon: float = 1e-6
    loss_reduction: Literal["batch-sum", "sentence-mean", "token-mean"] = "batch-sum"
    clip_norm: float = 1.0
    label_smoothing: float = 0.0
    softmax_samples: int = 0
    curriculum_updates: int = 0
    init_output_bias: bool = False
    init_source_embeddings: bool = False
    guided_alignment: float = 0.0
    guided_updates: int = 0
    gradient_accumulation: int = 1
    batch_parts: int = 1
    precision: Literal["float32", "bfloat16"] = "float32"
    cuda_graphs: bool = True
    max_updates: int = 0
    max_epochs: float = 0.0
    validate_every: int = 1000
    validate_epochs: float = 0.0
    patience: int = 0
    early_stopping_metric: Literal["cost", "bleu", "chrf"] = "cost"
    dev_bleu: bool = True
    dev_beam: int = 5
    lr_decay: float = 0.5
    lr_decay_patience: int = 0
    lr_decay_after: float = 0.0
    lr_decay_every: float = 0.5
    warmup: int = 0
    cooldown: int = 0
    time_limit: float = 0.0
    cooldown_share: float = 0.0
    schedule: tuple[str, ...] = ()
    max_nonfinite: int = 10
    average_checkpoints: int = 1
    keep_checkpoints: int = 3


@dataclass(frozen=True)
class SearchConfig:
    """Settings of beam search.

    beam: beam size, the number of hypotheses kept for each sentence.
    beam_mode: "shrinking": a finished hypothesis leaves the beam, which becomes one narrower;
        search stops when it is empty (Cho et al. 2014b). "bounded": the beam keeps its width.
    stop: search of a sentence also stops when no unfinished hypothesis can still rank among the n
        best. "early": can, if it is finished soon, at about the expected length; "exact": can, if
        all words up to the maximum length cost nothing, which is late with a length penalty.
    length_penalty: exponent of the length in the ranking of hypotheses, `</s>` counted; 1: mean
        log-probability per token (Cho et al. 2014b), 0: plain log-probability (Sutskever et al.
        2014).
    penalty: what a score is divided by. "power": length^length_penalty; "wu":
        ((5 + length) / 6)^length_penalty (Wu et al. 2016, eq. (14)).
    coverage_penalty: weight of the coverage penalty, by which finished hypotheses that leave source
        words unaligned rank lower (`search/coverage.py`); 0: off. With `penalty` "power" it is
        added to a score before the division, with "wu" after it (Wu et al. 2016: 0.2, with a
        `length_penalty` of 0.2).
    forbid_unk: never choose `<unk>`.
    no_repeat_ngram: N; no translation has the same N tokens twice (Paulus et al. 2018), but for
        what `search/repeats.py` says; 0: off.
    max_length_ratio: maximum length of a translation, as a multiple of the source length; the limit
        is at least 10 tokens.
    min_length_ratio: a translation is longer than this multiple of the source length; both include
        `</s>` (0.5 in GroundHog's `sample()`). It is at most `max_length_ratio`.
    """

    beam: int = 12
    beam_mode: Literal["shrinking", "bounded"] = "shrinking"
    stop: Literal["early", "exact"] = "early"
    length_penalty: float = 1.0
    penalty: Literal["power", "wu"] = "power"
    coverage_penalty: float = 0.0
    forbid_unk: bool = False
    no_repeat_ngram: int = 0
    max_length_ratio: float = 3.0
    min_length_ratio: float = 0.0


class SearchSettings(TypedDict, total=False):
    """The fields of `SearchConfig` as keyword arguments."""

    beam: int
    beam_mode: Literal["shrinking", "bounded"]
    stop: Literal["early", "exact"]
    length_penalty: float
    penalty: Literal["power", "wu"]
    coverage_penalty: float
    forbid_unk: bool
    no_repeat_ngram: int
    max_length_ratio: float
    min_length_ratio: float


@dataclass(frozen=True)
class Config:
    """All settings of one trained model. `model` is the config dataclass of its model file."""

    model: Any
    data: DataConfig = field(default_factory=DataConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    text: TextConfig = field(default_factory=TextConfig)


SECTIONS: dict[str, type[Any]] = {
    "data": DataConfig,
    "training": TrainingConfig,
    "search": SearchConfig,
    "text": TextConfig,
}

RENAMED_SETTINGS = {
    "model.output_rank": "model.softmax_rank",
    "model.reading": "model.decoder_variant",
    "data.pool": "data.sort_pool",
    "training.accumulate": "training.gradient_accumulation",
    "training.average": "training.average_checkpoints",
    "training.cost": "training.loss_reduction",
    "training.decay": "training.lr_decay",
    "training.decay_after": "training.lr_decay_after",
    "training.decay_every": "training.lr_decay_every",
    "training.decay_patience": "training.lr_decay_patience",
    "training.keep": "training.keep_checkpoints",
    "training.max_skipped": "training.max_nonfinite",
    "training.stop_on": "training.early_stopping_metric",
    "search.rule": "search.beam_mode",
    "text.bpe": "text.subwords",
}
"""Setting names of nmtkit 0.1, which are still accepted -> their names today."""

FOREIGN_SETTINGS = {
    "training.dropout": "model.dropout",
    "training.early_stopping": "training.patience",
    "training.valid_freq": "training.validate_every",
}
"""Setting names of other toolkits, which are refused -> their names here."""


def rename_settings(table: Mapping[str, Any], where: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Replace the setting names of nmtkit 0.1 in a TOML document.

    :param where: the file, for messages.
    :return: the document with today's names, and the entries of `RENAMED_SETTINGS` that were used.
    :raises ConfigError: a setting is given under both names.
    """
    result, used = dict(table), {}
    for old, new in RENAMED_SETTINGS.items():
        section, old_key = old.split(".")
        new_key = new.split(".")[1]
        settings = result.get(section)
        if not isinstance(settings, dict) or old_key not in settings:
            continue
        if new_key in settings:
            raise ConfigError(
                f"{where}: {old} and {new} are the same setting; remove {old}, the old name"
            )
        result[section] = {new_key if k == old_key else k: v for k, v in settings.items()}
        used[old] = new
    return result, used


def parse_section(cls: type[Settings], table: Mapping[str, Any], where: str) -> Settings:
    """Build a settings dataclass from a TOML table.

    :param where: file and section, for messages.
    :raises ConfigError: a key does not exist (the message names the nearest), or a value has the
        wrong type.
    """
    hints = typing.get_type_hints(cls)
    names = [f.name for f in dataclasses.fields(cls)]  # type: ignore[arg-type]
    for key in table:
        if key not in names:
            section = where.rpartition(": ")[2]
            known = _suggest_setting(f"{section}.{key}", names)
            raise ConfigError(f"{where}: there is no setting '{key}'; {known}")
    values = {key: check_type(value, hints[key], f"{where}.{key}") for key, value in table.items()}
    return cls(**values)


def _suggest_setting(unknown: str, names: Iterable[str]) -> str:
    """Return the end of a message about an unknown setting.

    It names the setting that other toolkits call so, or that of the same name in another section.

    :param unknown: "section.key".
    :param names: the keys of the section.
    """
    key = unknown.partition(".")[2]
    sections = (name for name, cls in SECTIONS.items() if key in typing.get_type_hints(cls))
    elsewhere = next((f"{section}.{key}" for section in sections), None)
    setting = FOREIGN_SETTINGS.get(unknown, elsewhere)
    return f"did you mean '{setting}'?" if setting else suggest_name(key, names)


def suggest_name(unknown: str, names: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest name, or all names."""
    names = list(names)
    matches = difflib.get_close_matches(unknown, names, n=1, cutoff=0.6)
    return f"did you mean '{matches[0]}'?" if matches else f"known are: {', '.join(sorted(names))}"


def parse_config(table: Mapping[str, Any], where: str) -> Config:
    """Build a `Config` from a TOML document, with old or new names of settings.

    :param where: the file, for messages.
    :raises ConfigError: an unknown section, key or model, a wrong type, a value out of range.
    """
    from nmtkit.models import MODELS  # torch is imported only where a model is used

    table, _ = rename_settings(table, where)
    for key in table:
        if key not in {*SECTIONS, "model", "format"}:
            known = suggest_name(key, [*SECTIONS, "model"])
            raise ConfigError(f"{where}: there is no section '{key}'; {known}")
        if key != "format" and not isinstance(table[key], dict):
            raise ConfigError(f"{where}: '{key}' must be a section, [{key}], not a value")
    model = dict(table.get("model", {}))
    name = model.pop("type", "rnnsearch")
    if not isinstance(name, str) or name not in MODELS:
        raise ConfigError(f"{where}: there is no model '{name}'; {suggest_name(str(name), MODELS)}")
    sections = {
        key: parse_section(cls, table.get(key, {}), f"{where}: {key}")
        for key, cls in SECTIONS.items()
    }
    model_config = parse_section(MODELS[name].config_class, model, f"{where}: model")
    config = Config(model=model_config, **sections)
    _check_ranges(config, where)
    return config


def _check_ranges(config: Config, where: str) -> None:
    """Raise ConfigError for settings that are out of range or contradict each other."""
    for key, value in _flatten(config):
        allowed = RANGES.get(key)
        if allowed is None and key.startswith("model.") and type(value) is int:
            allowed = LAYER_SIZE
        if allowed is not None:
            check_range(value, allowed, f"{where}: {key}")
    if config.training.early_stopping_metric == "bleu" and not config.training.dev_bleu:
        raise ConfigError(
            f"{where}: training.early_stopping_metric = 'bleu' needs training.dev_bleu = true"
        )
    if config.search.min_length_ratio > config.search.max_length_ratio:
        raise ConfigError(
            f"{where}: search.min_length_ratio must be at most search.max_length_ratio,"
            f" {config.search.max_length_ratio:g}, not {config.search.min_length_ratio:g}"
        )
    if config.training.cooldown and not config.training.max_updates:
        raise ConfigError(
            f"{where}: training.cooldown needs training.max_updates, where it ends; for a training"
            " that --updates or --time ends set training.cooldown_share"
        )


def _flatten(config: Config) -> Iterator[tuple[str, Any]]:
    """Yield every setting as "section.key" and value."""
    for section in ("model", *SECTIONS):
        settings = getattr(config, section)
        for item in dataclasses.fields(settings):
            yield f"{section}.{item.name}", getattr(settings, item.name)
