"""Scores of translations by sacreBLEU, on raw text."""

from collections.abc import Sequence
from pathlib import Path

from systems import Data
from timing import BenchError


def join_pieces(data: Data, pieces: Path, text: Path) -> Path:
    """Join a file of the target side's pieces to raw text; return its file."""
    from nmtkit.data.manifest import read_manifest, text_config
    from nmtkit.io.lines import read_lines
    from nmtkit.text.pipeline import TextPipeline

    config = text_config(read_manifest(data.prepared), data.prepared)
    pipeline = TextPipeline.load(data.prepared, "tgt", config)
    lines = (pipeline.line(line.split()) for line in read_lines(pieces))
    text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
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
