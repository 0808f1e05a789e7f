"""Options of `nmtkit translate`, their rules and their earlier spellings."""

from typing import Any

import click

from nmtkit.cli.command import FILES, group, option
from nmtkit.cli.document_options import DOCUMENT_RULES, document_options
from nmtkit.cli.rules import Rule, different_files, excludes, exclusive, needs, one_stdin
from nmtkit.cli.search_options import RENAMED_SEARCH, search_options
from nmtkit.cli.segment_options import SEGMENT_RULES, segment_options
from nmtkit.cli.shared_options import (
    FILE,
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

N_BEST_HAS_SCORES = "the n-best format has the scores"

RULES: list[Rule] = [
    exclusive("--n-best", "--sample"),
    *excludes("--fast", "--quantize", "--candidates", because="it chooses them"),
    *excludes("--precision", "--fast", "--quantize", because="they choose it"),
    needs("--counts", "--sample"),
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
    exclusive("--sample", "--terms", because="terms are for search"),
    exclusive("--sample", "--prefix", because="prefixes are for search"),
    *excludes("--prefix", "--markup", "--protect", because="they are put back afterwards"),
    one_stdin("INPUT", "--prefix"),
    *excludes("--sample", "--markup", "--protect", because="samples are not aligned"),
    *excludes("--tokenized", "--markup", "--protect", because="they are found in raw text"),
    *excludes("--replace-unk", "--markup", "--protect", because="unknown words are aligned, too"),
    different_files("--output", "--alignments", "--segments"),
]

RENAMED = RENAMED_SEARCH


def translate_options(function: Any) -> Any:
    """Declare all options of `nmtkit translate`.

    Search options become the parameter `search`, segmentation options `segmentation`,
    those of files of other formats `document`.
    """
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
        type=click.IntRange(min=1),
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
        " ('copy'), or by the most probable translation of that word in a lexical table.",
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
        help="Begin each translation with the same line of FILE, which may end in mid-word.",
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
        type=click.FloatRange(0, 1),
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
        "--seed", type=int, default=1, metavar="N", help="Seed of --sample and --segment random."
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
        help="Use int8 matrix products. They are faster on a CPU, with nearly the same"
        " translations.",
    ),
    option(
        "--precision",
        type=click.Choice(["auto", "float32", "bfloat16"]),
        default="auto",
        help="Type of matrix products without --quantize. auto: bfloat16 for models of at least 512"
        " units on a processor that multiplies it, else float32.",
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
