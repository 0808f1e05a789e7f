"""Options of `nmtkit translate`, and their rules."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from nmtkit.cli.command import FILES, gather, group, option
from nmtkit.cli.document_options import DOCUMENT_RULES, document_options
from nmtkit.cli.rules import Rule, different_files, excludes, exclusive, needs, one_stdin
from nmtkit.cli.search_options import search_options
from nmtkit.cli.segment_options import SEGMENT_RULES, segment_options
from nmtkit.cli.shared_options import (
    FILE,
    FloatRange,
    averaging_options,
    force_option,
    json_option,
    model_run_options,
    models_option,
    output_option,
    params_option,
    tag_option,
    tokenized_option,
)
from nmtkit.cli.writers import ConfidenceFormat, Format
from nmtkit.config_ranges import MAX_BEAM

if TYPE_CHECKING:
    from nmtkit.inference.ensemble import Ensemble, SearchPrecision
    from nmtkit.inference.terms import TermsMode
    from nmtkit.inference.translator import Translator

N_BEST_HAS_SCORES = "the n-best format has the scores"

RULES: list[Rule] = [
    exclusive("--n-best", "--sample"),
    *excludes("--fast", "--quantize", "--candidates", because="it chooses them"),
    *excludes("--precision", "--fast", "--quantize", because="they choose it"),
    needs("--counts", "--sample"),
    *(needs(name, "--sample") for name in ("--temperature", "--top-k", "--top-p")),
    needs("--seed", "--sample", "--segment random", "--segment random-confidence"),
    exclusive("--counts", "--alignments", because="equal translations may differ in alignment"),
    exclusive("--scores", "--n-best", because=N_BEST_HAS_SCORES),
    exclusive("--scores", "--sample >1", because=N_BEST_HAS_SCORES),
    exclusive("--scores", "--counts", because=N_BEST_HAS_SCORES),
    exclusive("--json", "--scores", because="JSON has the scores"),
    exclusive("--json", "--counts", because="JSON lists every sample"),
    *SEGMENT_RULES,
    *excludes(
        "--segment", "--confidence", "--min-confidence", because="whole lines were calibrated"
    ),
    *excludes(
        "--sample",
        *("--confidence", "--min-confidence"),
        because="translations found by search were calibrated",
    ),
    exclusive("--min-confidence", "--n-best", because="the list has the confidences"),
    needs("--low-confidence", "--min-confidence"),
    *excludes(
        "--segment",
        "--n-best",
        "--sample",
        "--alignments",
        "--markup",
        "--protect",
        "--terms",
        "--prefix",
    ),
    *DOCUMENT_RULES,
    needs("--terms-mode", "--terms"),
    needs("--alignment-format", "--alignments"),
    *excludes(
        "--sample", "--beam", "--beam-mode", "--stop", because="samples are drawn, not searched for"
    ),
    exclusive("--sample", "--terms", because="terms are for search"),
    exclusive("--sample", "--prefix", because="prefixes are for search"),
    *excludes("--prefix", "--markup", "--protect", because="they are put back afterwards"),
    one_stdin(
        "INPUT",
        *("--prefix", "--terms", "--protect", "--replace-unk", "--candidates"),
        "--segment-lengths",
    ),
    *excludes("--sample", "--markup", "--protect", because="samples are not aligned"),
    *excludes("--tokenized", "--markup", "--protect", because="they are found in raw text"),
    *excludes("--replace-unk", "--markup", "--protect", because="unknown words are aligned, too"),
    different_files("--output", "--alignments", "--segments"),
]


@dataclass(frozen=True)
class ModelOptions:
    """The models, and what runs them; see the options of these names."""

    models: tuple[str, ...]
    params: str
    weights: list[float]
    average: str
    tag: str | None
    batch_size: int
    device: str

    def ensemble(self) -> "Ensemble":
        """Load the models."""
        from nmtkit.inference.ensemble import Ensemble

        ensemble = Ensemble.load(self.models, self.device, self.params)
        ensemble = ensemble.averaged(self.weights, self.average == "logs")
        return ensemble.with_tag(self.tag) if self.tag else ensemble


@dataclass(frozen=True)
class SpeedOptions:
    """What makes search faster; see the options of these names."""

    fast: bool
    quantize: bool
    precision: "SearchPrecision"
    candidates: str | None

    def translator(self, ensemble: "Ensemble", models: ModelOptions) -> "Translator":
        """Return a translator with these models, which are already loaded."""
        if self.fast:
            from nmtkit.inference.fast import fast_translator

            return fast_translator(ensemble, models.models, models.batch_size)
        from nmtkit.inference.translator import Translator

        translator = Translator(
            ensemble,
            batch_size=models.batch_size,
            quantize=self.quantize,
            precision=self.precision,
        )
        if not self.candidates:
            return translator
        from nmtkit.text.lexicon import Lexicon

        return translator.with_candidates(Lexicon.load(self.candidates, translator.tgt_vocab))


@dataclass(frozen=True)
class WordOptions:
    """Which words of a translation a table or a glossary chooses."""

    replace_unk: str | None
    terms: str | None
    terms_mode: "TermsMode"

    def apply(self, translator: "Translator") -> "Translator":
        """Return a translator with the same models that chooses these words."""
        if self.replace_unk:
            from nmtkit.text.lexicon import best_translations

            words = translator.ensemble.first.src_vocab
            copies = self.replace_unk == "copy"
            table = {} if copies else best_translations(self.replace_unk, words)
            translator = translator.with_replacements(table)
        return translator.with_terms(self.terms, self.terms_mode) if self.terms else translator


@dataclass(frozen=True)
class ResultOptions:
    """Which translations of a line are written, and how; see the options of these names."""

    n_best: int | None
    sample: int | None
    counts: bool
    seed: int
    temperature: float
    top_k: int
    top_p: float
    scores: bool
    as_json: bool

    @property
    def format(self) -> Format:
        """Return the format of the translations of a line."""
        if self.counts or self.as_json:  # they exclude each other
            return "counts" if self.counts else "json"
        if self.n_best is not None or (self.sample or 1) > 1:
            return "n-best"
        return "scores" if self.scores else "text"


@dataclass(frozen=True)
class ConfidenceOptions:
    """What is done with confidences; see the options of these names."""

    confidence: bool
    min_confidence: float | None
    low_confidence: str

    @property
    def are_wanted(self) -> bool:
        """Return whether translations need confidences."""
        return self.confidence or self.min_confidence is not None

    @property
    def format(self) -> ConfidenceFormat:
        """Return how confidences are written."""
        marks = self.low_confidence == "mark"
        return ConfidenceFormat(self.confidence, self.min_confidence or 0.0, marks)


GATHERED = {
    "models": ModelOptions,
    "speed": SpeedOptions,
    "words": WordOptions,
    "results": ResultOptions,
    "confidence": ConfidenceOptions,
}
"""Parameters of the command that stand for several options."""


def translate_options(function: Any) -> Any:
    """Declare all options of `nmtkit translate`.

    Most become the parameters `GATHERED`, search options `search`, segmentation options
    `segmentation`, those of files of other formats `document`.
    """
    for parameter, options in GATHERED.items():
        function = gather(parameter, options)(function)
    for add in reversed(
        (
            FILES_AND_FORMAT,
            MARKUP_AND_TERMS,
            CONFIDENCE,
            document_options,
            search_options,
            SAMPLING,
            SPEED,
            averaging_options,
            segment_options,
            model_run_options,
            force_option,
        )
    ):
        function = add(function)
    return function


FILES_AND_FORMAT = group(
    FILES,
    models_option("Model folder. Repeatable; several form an ensemble."),
    params_option,
    output_option("File of the translations."),
    option(
        "--n-best",
        type=click.IntRange(1, MAX_BEAM),
        metavar="N",
        common=True,
        help="Write the N best translations in Moses's format. There are fewer if search finds"
        " fewer. The model's beam is widened to N; a given --beam must be as large.",
    ),
    option(
        "--scores",
        is_flag=True,
        help="Write 'SCORE<TAB>TRANSLATION'. '<TAB>unfinished' follows translations that reached"
        " the maximum length.",
    ),
    json_option("Write one JSON object per line of input."),
    option(
        "--alignments",
        type=FILE,
        metavar="FILE",
        help="Write the alignment of each translation to a file.",
    ),
    option(
        "--alignment-format",
        type=click.Choice(["hard", "soft"]),
        default="hard",
        help="Format of --alignments: links 'i-j', or all attention weights as JSON.",
    ),
    tokenized_option("Input is already tokenised, and so is the output."),
    tag_option,
    option(
        "--replace-unk",
        type=FILE,
        metavar="copy|TABLE",
        help="Replace each unknown word by the source word with the highest attention weight"
        " ('copy'), or by the most probable translation of that word in a lexical table. It has"
        " no effect with --no-unk.",
    ),
)

MARKUP_AND_TERMS = group(
    FILES,
    option(
        "--markup",
        type=click.Choice(["html", "xml"]),
        common=True,
        help="Put inline markup back around its words. Entities and placeholders come back as they"
        " are.",
    ),
    option(
        "--protect",
        type=FILE,
        multiple=True,
        metavar="placeholders|FILE",
        help="Keep URLs, '%s', '{0}', file names and the like as they are, or what matches a line"
        " of FILE, a regular expression. Repeatable; --markup has 'placeholders'.",
    ),
    option(
        "--terms",
        type=FILE,
        metavar="FILE",
        common=True,
        help="Glossary whose terms each translation has.",
    ),
    option(
        "--terms-mode",
        type=click.Choice(["strict", "soft"]),
        default="strict",
        help="Have the terms in every translation ('strict'), or prefer translations that have them"
        " ('soft').",
    ),
    option(
        "--prefix",
        type=FILE,
        metavar="FILE",
        help="Begin each translation with the same line of FILE, which may end in mid-word. FILE"
        " has as many lines as INPUT.",
    ),
)

CONFIDENCE = group(
    "Confidence",
    option(
        "--confidence",
        is_flag=True,
        help="Write 'CONFIDENCE<TAB>TRANSLATION', the probability that the translation is good. It"
        " needs the calibration of 'nmtkit calibrate'.",
    ),
    option(
        "--min-confidence",
        type=FloatRange(0, 1),
        metavar="P",
        help="Leave the line of a translation empty if its confidence is below P.",
    ),
    option(
        "--low-confidence",
        type=click.Choice(["empty", "mark"]),
        default="empty",
        help="For --min-confidence: leave the line empty, or write '<TAB>low confidence' behind"
        " the translation ('mark').",
    ),
)

SAMPLING = group(
    "Sampling",
    option(
        "--sample",
        type=click.IntRange(min=1),
        metavar="N",
        help="Sample N translations of each line from the model instead of searching. Several are"
        " written in the n-best format, in the order drawn.",
    ),
    option(
        "--counts",
        is_flag=True,
        help="Write each distinct translation of --sample once with its count, the most frequent"
        " first.",
    ),
    option(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help="Seed of --sample, and of --segment random and random-confidence.",
    ),
    option(
        "--temperature",
        type=FloatRange(min=0, min_open=True),
        default=1.0,
        metavar="T",
        help="For --sample: draw from p^(1/T), normalised; below 1, probable tokens become more"
        " probable.",
    ),
    option(
        "--top-k",
        type=click.IntRange(min=0),
        default=0,
        metavar="K",
        help="For --sample: draw from the K most probable tokens (Fan et al. 2018); 0: from all.",
    ),
    option(
        "--top-p",
        type=FloatRange(0, 1, min_open=True),
        default=1.0,
        metavar="P",
        help="For --sample: draw from the most probable tokens whose probabilities sum to P"
        " (Holtzman et al. 2020).",
    ),
)

SPEED = group(
    "Speed",
    option(
        "--fast",
        is_flag=True,
        common=True,
        help="Use what 'nmtkit optimize' left. It is --quantize and --candidates, as checked.",
    ),
    option(
        "--quantize",
        is_flag=True,
        help="Use int8 matrix products, on a CPU only: where there is a GPU, add --device cpu. They"
        " are faster, with nearly the same translations.",
    ),
    option(
        "--precision",
        type=click.Choice(["auto", "float32", "bfloat16"]),
        default="auto",
        help="Type of matrix products without --quantize. auto: bfloat16 for models of at least 512"
        " units on a processor that multiplies it, else float32. bfloat16 is for a CPU only.",
    ),
    option(
        "--candidates",
        type=FILE,
        metavar="FILE",
        help="Restrict words to likely ones by a lexical table. It is faster (Jean et al. 2015;"
        " Marian calls this a shortlist). 'nmtkit align --lexicon' writes such a table, and so does"
        " Moses (lex.f2e); the most frequent words are always candidates.",
    ),
)
