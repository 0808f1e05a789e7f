"""Puts models side by side on a test set, with all that a report tells of them; also from Python.

    from nmtkit.report.model_report import Settings, gather

    found = gather(["rnnsearch", "rnnenc"], ("test.en", "test.fr"), Settings())
    print(found.comparison.whole.figures["BLEU (multi-bleu)"])

The figures are those of `nmtkit evaluate` for the same files: the papers' BLEU of tokenised text,
the other measures of raw text, intervals and p-values by its bootstrap. `commands_of` gives its
commands.
"""

import logging
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import nmtkit
from nmtkit.config import TextConfig
from nmtkit.errors import ConfigError, DataError
from nmtkit.evaluation.buckets import Bucketing, EvaluationSet
from nmtkit.evaluation.comparison import Comparison, ComparisonConfig, compare
from nmtkit.evaluation.retokenize import moses_detokenizer, moses_tokenizer
from nmtkit.evaluation.significance import SAMPLES
from nmtkit.evaluation.sufficient_statistics import collect_statistics
from nmtkit.evaluation.text_checks import looks_tokenized
from nmtkit.inference.aligner import Alignment, pieces_of_words
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.translation import Translation
from nmtkit.inference.translator import Translator
from nmtkit.io.lines import STANDARD, file_sha256, read_parallel
from nmtkit.model_folder import LoadedModel
from nmtkit.report.model_card import ModelCard, card_of_file, card_of_model
from nmtkit.special_symbols import BOS
from nmtkit.text.detokenizer import unescaped

log = logging.getLogger("nmtkit")

QUALITY = "chrF"
"""The measure of single sentences: BLEU is 0 where no four words in a row are right."""

PARTS = "bleu"
"""The measure of parts of the test set, by the name that `evaluate --measure` knows."""


@dataclass(frozen=True)
class Settings:
    """How a report is made.

    tokenized: the files are tokenised already, and so are the translations that are shown.
    n_best: translations shown of each sentence; fewer where the beam holds fewer.
    samples: of the bootstrap.
    search: changes to each model's `SearchConfig`.
    systems: more systems, as names and files of their translations.
    """

    tokenized: bool = False
    n_best: int = 5
    samples: int = SAMPLES
    search: Mapping[str, Any] = field(default_factory=dict)
    systems: tuple[tuple[str, str], ...] = ()
    batch_size: int = 64
    device: str = "auto"


@dataclass(frozen=True)
class Line:
    """A sentence as text and as the words that the text is made of."""

    text: str
    words: list[str]


@dataclass(frozen=True)
class Output:
    """What one system made of one sentence.

    line: its translation.
    best: the same as the model gave it, without alignments; None for translations made elsewhere.
    alignment: between words, where the system aligns.
    others: the n-best list behind the best.
    """

    line: Line
    best: Translation | None = None
    alignment: Alignment | None = None
    others: tuple[Translation, ...] = ()


@dataclass(frozen=True)
class ModelReport:
    """All that a report tells.

    version: of nmtkit.
    files: the source and the reference. checksums: their SHA-256, as far as they are files.
    text: how text of the test set is read. tokenized: whether it was tokenised before.
    comparison: of the whole test set. parts: the same by one measure, with strata.
    left_out: what strata could not be made, and why.
    sources, references: line by line.
    outputs: of each system, by its name, line by line; qualities: likewise, in percent.
    """

    version: str
    accounts: tuple[ModelCard, ...]
    files: tuple[str, str]
    checksums: Mapping[str, str]
    text: TextConfig
    tokenized: bool
    samples: int
    comparison: Comparison
    parts: Comparison
    left_out: tuple[str, ...]
    sources: list[Line]
    references: list[Line]
    outputs: Mapping[str, list[Output]]
    qualities: Mapping[str, list[float]]


def gather(
    folders: Sequence[str | Path], test: tuple[str | Path, str | Path], settings: Settings
) -> ModelReport:
    """Translate a test set with each model, and measure.

    :param folders: model folders, at least one.
    :param test: the source, and its translation by people.
    :raises ConfigError: the models are not of the same languages and form of text.
    :raises DataError: files differ in their number of lines, or cannot be read.
    :raises ModelError: a folder is none of a model that translates.
    """
    names = _names(folders, [name for name, _ in settings.systems])
    files = (str(test[0]), str(test[1]))
    columns = _columns([*files, *(path for _, path in settings.systems)])
    voices = [_Voice.load(folder, settings) for folder in folders]
    text = _common_text([voice.model for voice in voices], names)
    tokenized = settings.tokenized or text.tokenized
    if not tokenized and looks_tokenized(columns[1]):
        log.warning("%s reads as if tokenised; add --tokenized", files[1])
    form = _Form(voices[0].model, text, tokenized)
    outputs: dict[str, list[Output]] = {}
    accounts = []
    for name, folder, voice in zip(names, folders, voices, strict=False):
        log.info("%s: translating %d sentences", name, len(columns[0]))
        outputs[name] = list(voice.outputs(columns[0], tokenized))
        accounts.append(voice.account(name, folder))
    for (name, path), lines in zip(settings.systems, columns[2:], strict=True):
        outputs[name] = [Output(form.target(line)) for line in lines]
        accounts.append(card_of_file(name, path))
    log.info("measuring")
    texts = {name: [output.line.text for output in of] for name, of in outputs.items()}
    whole, parts, left_out = _compared(texts, columns, form, settings.samples)
    return ModelReport(
        version=nmtkit.__version__,
        accounts=tuple(accounts),
        files=files,
        checksums={name: file_sha256(name) for name in files if name != STANDARD},
        text=text,
        tokenized=tokenized,
        samples=settings.samples,
        comparison=whole,
        parts=parts,
        left_out=left_out,
        sources=[form.source(line) for line in columns[0]],
        references=[form.target(line) for line in columns[1]],
        outputs=outputs,
        qualities={name: form.qualities(of, columns[1]) for name, of in texts.items()},
    )


def _names(folders: Sequence[str | Path], others: Sequence[str]) -> list[str]:
    """What systems are called: models by their folders' names, or where these are alike, by paths.

    :raises ConfigError: two have the same name.
    """
    if not folders:
        raise ConfigError("a report is of a model; name a model folder")
    short = [Path(folder).resolve().name for folder in folders]
    names = short if len(set(short)) == len(short) else [str(folder) for folder in folders]
    names = [*names, *others]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise ConfigError(f"two systems are called '{name}'; give each its own name")
    return names


def _columns(files: Sequence[str]) -> list[list[str]]:
    """The lines of each file.

    :raises DataError: there are none, or not as many in each.
    """
    columns = [list(column) for column in zip(*read_parallel(*files), strict=True)]
    if not columns:
        raise DataError(f"{files[0]}: is empty; a report needs sentences")
    return columns


def _common_text(models: Sequence[LoadedModel], names: Sequence[str]) -> TextConfig:
    """How the test set's text is read: as the first model's; the others' must go with it."""
    first = models[0].config.text
    for name, model in zip(names[1:], models[1:], strict=False):
        other = model.config.text
        for key in ("src_language", "tgt_language", "tokenized"):
            ours, theirs = getattr(first, key), getattr(other, key)
            if ours != theirs:
                raise ConfigError(
                    f"{names[0]} has text.{key} = {ours!r}, {name} has {theirs!r}; a report is of"
                    " models that translate the same text"
                )
    return first


class _Voice:
    """One model, translating."""

    def __init__(self, translator: Translator, n_best: int) -> None:
        self.translator = translator
        self.model = translator.ensemble.first
        self.n_best = min(n_best, translator.search.beam)
        self.aligns = _aligns(translator.ensemble)

    @classmethod
    def load(cls, folder: str | Path, settings: Settings) -> "_Voice":
        translator = Translator.load(
            folder, device=settings.device, batch_size=settings.batch_size
        ).with_search(**settings.search)
        return cls(translator, settings.n_best)

    def outputs(self, lines: Sequence[str], tokenized: bool) -> Iterator[Output]:
        """The best of each line, and what is told of the others; their alignments are let go."""
        text = self.model.config.text
        for found in self.translator.translate(lines, self.n_best, tokenized, self.aligns):
            best, *others = (replace(t, alignment=None, word_alignment=None) for t in found)
            words, _ = pieces_of_words(best.tokens, text.bpe != "none")
            line = _line(best.text, " ".join(words), text)
            alignment = found[0].word_alignment if self.aligns else None
            yield Output(line, best, alignment, tuple(others))

    def account(self, name: str, folder: str | Path) -> ModelCard:
        return card_of_model(name, folder, self.model, self.translator.search, self.aligns)


def _aligns(ensemble: Ensemble) -> bool:
    """Whether the model has alignments: its first step over a sentence without words tells."""
    (encoded,), _ = ensemble.encode([[[]]])
    (model,) = ensemble.models
    begin = torch.full((1, 1), BOS, device=ensemble.first.device)
    with torch.inference_mode():
        step = model.step(begin, model.initial_state(encoded), encoded)
    return step.alignment is not None


class _Form:
    """The form of the test set's text: how it is read, shown and measured."""

    def __init__(self, model: LoadedModel, text: TextConfig, tokenized: bool) -> None:
        self.model, self.text, self.tokenized = model, text, tokenized
        languages = text.src_language, text.tgt_language
        src, tgt = (None if tokenized else moses_tokenizer(of, text.hyphens) for of in languages)
        self.measured = ComparisonConfig(
            tokenize=tgt,
            detokenize=moses_detokenizer(text.tgt_language) if tokenized else None,
            tokenize_source=src,
        )

    @property
    def no_words(self) -> str:
        """Why strata by unknown words and by rank cannot be made; empty where they can."""
        if self.text.bpe != "none":
            return "its shortlist holds pieces of words (BPE)"
        if self.text.escape and not self.tokenized:
            return "its shortlist holds escaped words (text.escape), the text has others"
        return ""

    def source(self, line: str) -> Line:
        return _line(line, self.model.src_text.words(line, self.tokenized), self.text)

    def target(self, line: str) -> Line:
        return _line(line, self.model.tgt_text.words(line, self.tokenized), self.text)

    def qualities(self, lines: Sequence[str], references: Sequence[str]) -> list[float]:
        """`QUALITY` of each sentence alone, in percent."""
        rewriting = self.measured.detokenize
        (counts,) = collect_statistics(lines, references, detokenize=rewriting, metrics=["chrf"])
        return [counts.figure(np.array([number])) for number in range(len(lines))]


def _line(text: str, words: str, settings: TextConfig) -> Line:
    """A line with words that read as the text does."""
    found = [word for word in words.split(" ") if word]
    if settings.escape:
        found = [unescaped(word) for word in found]
    return Line(text, ["-" if word == "@-@" else word for word in found])


def _compared(
    systems: Mapping[str, Sequence[str]],
    columns: Sequence[Sequence[str]],
    form: _Form,
    samples: int,
) -> tuple[Comparison, Comparison, tuple[str, ...]]:
    """The whole by all measures; the whole and its parts by one; and what parts there are not."""
    by: tuple[str, ...] = ("length", "unknown", "rank")
    left_out: tuple[str, ...] = ()
    if form.no_words:
        by, left_out = by[:1], (f"By unknown words and by rank: {form.no_words}.",)
    texts = EvaluationSet(columns[1], columns[0], form.model.src_vocab)
    protocol = replace(form.measured, samples=samples)
    divided = replace(protocol, metrics=(PARTS,), bucketings=tuple(Bucketing(name) for name in by))
    return compare(systems, texts, protocol), compare(systems, texts, divided), left_out


def commands_of(report: ModelReport) -> list[str]:
    """The commands that print the report's figures, given its translations as `NAME.hyp`."""
    names = [account.name for account in report.accounts]
    source, reference = report.files
    text, bootstrap = report.text, ["--bootstrap", str(report.samples)]
    hypotheses = [f"{name.replace('/', '_')}.hyp" for name in names]
    command = ["nmtkit", "evaluate", hypotheses[0], reference, "--name", names[0]]
    for name, file in zip(names[1:], hypotheses[1:], strict=True):
        command += ["--system", name, file]
    hyphens = ["--hyphens"] if text.hyphens and not report.tokenized else []
    kind = "--detokenize" if report.tokenized else "--tokenize"
    command += [kind, text.tgt_language, *hyphens, *bootstrap]
    raw = [] if report.tokenized else ["--tokenize-source", text.src_language]
    commands = [command]
    for by in dict.fromkeys(level.bucketing.by for level in report.parts.buckets):
        vocabulary = (
            [] if by == "length" else ["--src-vocab", f"{report.accounts[0].source}/vocab.src"]
        )
        parts = ["--measure", PARTS, "--by", by, "--source", source, *raw, *vocabulary]
        commands.append([*command, *parts])
    return [shlex.join(words) for words in commands]
