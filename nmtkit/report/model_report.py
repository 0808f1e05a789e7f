"""Comparison of models on a test set, with everything that a report shows; also from Python.

    from nmtkit.report.model_report import ReportSettings, build_report

    report = build_report(["rnnsearch", "rnnenc"], ("test.en", "test.fr"), ReportSettings())
    print(report.comparison.whole.figures["BLEU (multi-bleu)"])

The figures equal those of `nmtkit evaluate` for the same files: the papers' BLEU on tokenised text,
other metrics on raw text, intervals and p-values by bootstrap; chrF is first if spaces do not
separate the words of the target language. `evaluation_commands` returns the commands.
"""

import logging
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import nmtkit
from nmtkit.config import TextConfig
from nmtkit.errors import ConfigError, DataError, counted
from nmtkit.evaluation.comparison import Comparison
from nmtkit.evaluation.significance import SAMPLES
from nmtkit.evaluation.sufficient_statistics import sentence_chrf
from nmtkit.evaluation.text_checks import looks_tokenized
from nmtkit.evaluation.text_warnings import form_warnings
from nmtkit.evaluation.translation_errors import SentenceErrors
from nmtkit.inference.confidence.estimator import usable_calibration
from nmtkit.inference.side_check import swapped_sides
from nmtkit.inference.translation import Translation
from nmtkit.inference.translator import Translator
from nmtkit.inference.word_alignment import Alignment
from nmtkit.io.inputs import HashedFile
from nmtkit.io.lines import read_parallel
from nmtkit.model_folder import LoadedModel, shared_parameters
from nmtkit.progress_bar import ProgressBar
from nmtkit.report.lines import TokenizedLine, align_shown_words, split_text, tokenized_line
from nmtkit.report.metric_texts import MetricTexts, bucket_metric, compare_systems
from nmtkit.report.model_card import ModelCard, describe_file, describe_model
from nmtkit.report.output_errors import output_errors
from nmtkit.special_symbols import UNK, UNK_WORD

log = logging.getLogger("nmtkit")


@dataclass(frozen=True)
class ReportSettings:
    """Settings of a report.

    tokenized: the files are tokenised already, and translations are shown tokenised.
    n_best: length of the n-best lists, at most the beam size.
    samples: number of bootstrap samples.
    search: changes to each model's `SearchConfig`.
    systems: further systems: name and file of translations.
    params: which parameters: "best", "last", or the file of a single model.
    """

    tokenized: bool = False
    n_best: int = 5
    samples: int = SAMPLES
    search: Mapping[str, Any] = field(default_factory=dict)
    systems: tuple[tuple[str, str], ...] = ()
    batch_size: int = 64
    device: str = "auto"
    params: str = "best"


@dataclass(frozen=True)
class SystemOutput:
    """One system's translation of one sentence.

    line: the translation.
    best: the translation with its scores, without alignments; None for a system without a model.
    alignment: word alignment, if the system has alignments.
    alternatives: the n-best list without its first entry.
    unknown: the model does not know a token of the source.
    """

    line: TokenizedLine
    best: Translation | None = None
    alignment: Alignment | None = None
    alternatives: tuple[Translation, ...] = ()
    unknown: bool = False


@dataclass(frozen=True)
class ModelReport:
    """Everything that a report shows.

    version: version of nmtkit.
    files: source and reference; checksums: their SHA-256.
    text: text settings of the test set; tokenized: True if it was tokenised already.
    comparison: all metrics on the whole test set; by_bucket: one metric, also by bucket.
    left_out: sentences that say which buckets are missing, and why.
    cautions: why figures may not be what they seem, such as files in two forms.
    sources, references: one entry per line.
    outputs: one per line, by system name; sentence_scores: likewise, in percent; errors: likewise.
    """

    version: str
    model_cards: tuple[ModelCard, ...]
    files: tuple[str, str]
    checksums: Mapping[str, str]
    text: TextConfig
    tokenized: bool
    samples: int
    comparison: Comparison
    by_bucket: Comparison
    left_out: tuple[str, ...]
    cautions: tuple[str, ...]
    sources: list[TokenizedLine]
    references: list[TokenizedLine]
    outputs: Mapping[str, list[SystemOutput]]
    sentence_scores: Mapping[str, list[float]]
    errors: Mapping[str, list[SentenceErrors]]


def build_report(
    folders: Sequence[str | Path], test: tuple[str | Path, str | Path], settings: ReportSettings
) -> ModelReport:
    """Translate a test set with each model and evaluate the translations.

    :param folders: Model folders, at least one.
    :param test: Source and reference files.
    :raises ConfigError: The models differ in languages or text settings.
    :raises DataError: Files differ in their number of lines or cannot be read.
    :raises ModelError: A folder holds no translation model.
    """
    names = _names(folders, [name for name, _ in settings.systems])
    files = (str(test[0]), str(test[1]))
    columns, checksums = _columns([*files, *(path for _, path in settings.systems)])
    if len(folders) > 1:
        shared_parameters(settings.params)
    models = [_TranslatingModel.load(folder, settings) for folder in folders]
    text = _common_text([model.model for model in models], names)
    tokenized = settings.tokenized or text.tokenized
    swapped = swapped_sides(models[0].model, files, columns[0], columns[1], tokenized)
    cautions = [
        *([swapped] if swapped else []),
        *_form_cautions(files[1], columns, settings, tokenized),
    ]
    for caution in cautions:
        log.warning("%s", caution)
    test_text = MetricTexts(models[0].model, text, tokenized)
    outputs: dict[str, list[SystemOutput]] = {}
    cards = []
    for name, folder, model in zip(names, folders, models, strict=False):
        log.info("%s: translating %s", name, counted(len(columns[0]), "sentence"))
        bar = ProgressBar(f"translate by {name}", "sentences", len(columns[0]))
        found = model.outputs(columns[0], tokenized)
        outputs[name] = list(bar.run(found, model.translator.lines_done.count))
        cards.append(model.card(name, folder))
    for (name, path), lines in zip(settings.systems, columns[2:], strict=True):
        outputs[name] = [SystemOutput(test_text.target(line)) for line in lines]
        cards.append(describe_file(name, path, checksums[path]))
    log.info("evaluating")
    texts = {
        name: [output.line.text for output in translations]
        for name, translations in outputs.items()
    }
    overall, by_bucket, left_out = compare_systems(texts, columns, test_text, settings.samples)
    sources = [test_text.source(line) for line in columns[0]]
    references = [test_text.target(line) for line in columns[1]]
    return ModelReport(
        version=nmtkit.__version__,
        model_cards=tuple(cards),
        files=files,
        checksums={name: checksums[name] for name in files},
        text=text,
        tokenized=tokenized,
        samples=settings.samples,
        comparison=overall,
        by_bucket=by_bucket,
        left_out=left_out,
        cautions=tuple(cautions),
        sources=sources,
        references=references,
        outputs=outputs,
        sentence_scores={
            name: sentence_chrf(lines, columns[1], test_text.protocol.detokenize)
            for name, lines in texts.items()
        },
        errors={
            name: output_errors(sources, references, translations)
            for name, translations in outputs.items()
        },
    )


def _names(folders: Sequence[str | Path], other_systems: Sequence[str]) -> list[str]:
    """Return the names of all systems; models are called by folder name, or by path if ambiguous.

    :raises ConfigError: Two systems have the same name, or there is no model.
    """
    if not folders:
        raise ConfigError("a report needs a model; name a model folder")
    short = [Path(os.path.realpath(folder)).name for folder in folders]
    names = short if len(set(short)) == len(short) else [str(folder) for folder in folders]
    names = [*names, *other_systems]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise ConfigError(f"two systems are called '{name}'; give each its own name")
    return names


def _columns(paths: Sequence[str]) -> tuple[list[list[str]], dict[str, str]]:
    """Return the lines of each file, and the SHA-256 of each file by its path.

    :raises DataError: The files are empty or differ in their number of lines.
    """
    with ExitStack() as stack:
        files = [stack.enter_context(HashedFile(path)) for path in paths]
        columns = [list(column) for column in zip(*read_parallel(*files), strict=True)]
        if not columns:
            raise DataError(f"{paths[0]}: is empty; a report needs sentences")
        return columns, {str(file): file.sha256() for file in files}


def _form_cautions(
    reference: str, columns: Sequence[Sequence[str]], settings: ReportSettings, tokenized: bool
) -> Iterator[str]:
    """Yield warnings about files that are not in the form in which they are compared.

    :param reference: file. columns: lines of source, reference, and further systems.
    """
    _, references, *systems = columns
    if not tokenized and looks_tokenized(references):
        yield f"{reference} looks tokenised; if it is, add --tokenized"
    for (_, path), lines in zip(settings.systems, systems, strict=True):
        yield from form_warnings(lines, references, (path, reference))


def _common_text(models: Sequence[LoadedModel], names: Sequence[str]) -> TextConfig:
    """Return the text settings of all models; raise ConfigError if they differ."""
    first = models[0].config.text
    for name, model in zip(names[1:], models[1:], strict=False):
        for key in ("src_language", "tgt_language", "tokenized"):
            expected, actual = getattr(first, key), getattr(model.config.text, key)
            if expected != actual:
                raise ConfigError(
                    f"{names[0]} has text.{key} = {expected!r}, {name} has {actual!r}; compare only"
                    " models with equal text settings"
                )
    return first


class _TranslatingModel:
    """A model of the report that translates the test set."""

    def __init__(self, translator: Translator, n_best: int) -> None:
        self.translator = translator
        self.model = translator.ensemble.first
        self.n_best = min(n_best, translator.search.beam)
        self.aligns = translator.ensemble.has_attention

    @classmethod
    def load(cls, folder: str | Path, settings: ReportSettings) -> "_TranslatingModel":
        translator = Translator.load(
            folder,
            device=settings.device,
            batch_size=settings.batch_size,
            params=settings.params,
        )
        translator = translator.with_search(**settings.search)
        record = usable_calibration(translator.ensemble, folder)
        if record is not None and not record.reverse:
            translator = translator.with_confidence(folder=folder)
        return cls(translator, settings.n_best)

    def outputs(self, lines: Sequence[str], tokenized: bool) -> Iterator[SystemOutput]:
        """Yield the n-best list of each line; only the best keeps its alignment, to save memory."""
        src, tgt = self.model.src_text, self.model.tgt_text
        translations = self.translator.translate(lines, self.n_best, tokenized, self.aligns)
        for source, n_best in zip(lines, translations, strict=True):
            best, *alternatives = (replace(t, alignment=None, word_alignment=None) for t in n_best)
            alignment = n_best[0].word_alignment if self.aligns else None
            if tokenized:
                line = tokenized_line(best.text, self.model.config.text.escape)
            else:
                line = split_text(best.text, tgt.join(best.named_tokens)[0], tgt)
                alignment = alignment and align_shown_words(
                    alignment, (source, best.text), (src, tgt)
                )
            unknown = UNK in self.model.src_vocab.ids(best.src_tokens) or UNK_WORD in best.tokens
            yield SystemOutput(line, best, alignment, tuple(alternatives), unknown)

    def card(self, name: str, folder: str | Path) -> ModelCard:
        return describe_model(name, folder, self.model, self.translator.search, self.aligns)


def evaluation_commands(report: ModelReport) -> list[str]:
    """Return the commands that print the report's figures, given translations as `NAME.hyp`."""
    names = [card.name for card in report.model_cards]
    source, reference = report.files
    text, bootstrap = report.text, ["--bootstrap", str(report.samples)]
    hypotheses = [f"{name.replace('/', '_')}.hyp" for name in names]
    command = ["nmtkit", "evaluate", hypotheses[0], reference, "--name", names[0]]
    for name, file in zip(names[1:], hypotheses[1:], strict=True):
        command += ["--system", name, file]
    hyphens = ["--hyphens"] if text.hyphens and not report.tokenized else []
    tokenized = ["--tokenized"] if report.tokenized else []
    command += [*tokenized, "-t", text.tgt_language, *hyphens, *bootstrap]
    raw = [] if report.tokenized else ["-s", text.src_language]
    commands = [command]
    for by in dict.fromkeys(entry.bucketing.by for entry in report.by_bucket.buckets):
        vocabulary = (
            [] if by == "length" else ["--src-vocab", f"{report.model_cards[0].source}/vocab.src"]
        )
        parts = [
            "--measure",
            bucket_metric(text),
            "--by",
            by,
            "--source",
            source,
            *raw,
            *vocabulary,
        ]
        commands.append([*command, *parts])
    return [shlex.join(words) for words in commands]
