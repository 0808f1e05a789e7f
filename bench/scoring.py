"""Scores of translations by sacreBLEU, on raw text, and how they are kept."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from systems import Data
from timing import ROOT, BenchError, write_lines

KEPT_OUTPUTS = ROOT / "examples" / "kept_outputs.py"


def join_pieces(data: Data, pieces: Path, text: Path) -> Path:
    """Join a file of the target side's pieces to raw text; return its file."""
    from nmtkit.data.manifest import read_manifest, text_config
    from nmtkit.io.lines import read_lines
    from nmtkit.text.pipeline import TextPipeline

    config = text_config(read_manifest(data.prepared), data.prepared)
    pipeline = TextPipeline.load(data.prepared, "tgt", config)
    lines = (pipeline.line(line.split()) for line in read_lines(pieces))
    write_lines(text, lines)
    return text


def scores_of(translation: Path, reference: Path, language: str) -> tuple[float, float]:
    """Return chrF and BLEU of a translation of the test set.

    :raises BenchError: the translation has not a line for each reference.
    """
    from nmtkit.io.lines import read_lines

    return scores_of_lines(list(read_lines(translation)), list(read_lines(reference)), language)


def scores_of_lines(
    lines: Sequence[str], references: Sequence[str], language: str
) -> tuple[float, float]:
    """Return chrF and BLEU of lines.

    :raises BenchError: their number is not that of the references, as where a system stops at a
        line that is too long for it. sacreBLEU would score those that are there.
    """
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    if len(lines) != len(references):
        raise BenchError(f"{len(lines)} lines were translated, not {len(references)}")
    bleu = BLEU(tokenize=bleu_tokenizer(language)).corpus_score(lines, [references]).score
    return CHRF().corpus_score(lines, [references]).score, bleu


def bleu_tokenizer(language: str) -> str:
    """Return sacreBLEU's tokeniser for a language; characters for most without spaces."""
    from nmtkit.evaluation.bleu_tokenizer import is_spaced

    if is_spaced(language):
        return "13a"
    return "zh" if language == "zh" else "char"


def file_name(name: str) -> str:
    """Return a name without the signs that file names should not have."""
    return re.sub("[^a-zA-Z0-9.]+", "-", name)


def keep_command(
    folder: Path, name: str, system: str, command: str, computation: Sequence[str | Path]
) -> list[str | Path]:
    """Return the command that keeps an output with its figures.

    :param command: how the output is made.
    :param computation: how the figures are computed, such as `evaluation`.
    """
    keep: list[str | Path] = [sys.executable, KEPT_OUTPUTS, "keep", folder, "--name", name]
    return [*keep, "--system", system, "--command", command, "--", *computation]


def evaluation(translation: Path, reference: Path, language: str) -> list[str | Path]:
    """Return the words of the computation of `scores_of`."""
    from nmtkit.evaluation.bleu_tokenizer import choose_tokenizer

    words: list[str | Path] = ["evaluate", translation, reference, "-t", language]
    words += ["--measure", "sacrebleu", "--measure", "chrf"]
    # `nmtkit evaluate` has other words than `scores_of` by default.
    name = bleu_tokenizer(language)
    return words if name == choose_tokenizer(language).name else [*words, "--tokenize", name]
