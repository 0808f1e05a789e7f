"""Make a trained model translate faster, and check on a dev set that it stays good.

The lexical table of candidates (Jean et al. 2015) counts links over the training text, which are
learned from all its pairs with the model's attention. With it, with 8-bit products, and with both,
the dev set is translated again. What loses more BLEU than allowed is not used; of the rest, what
takes the least processor time. A dev set that takes too short a time says nothing of it. Where no
reference has four words, so that BLEU would be 0 whatever is lost, the loss is one of chrF.
"""

import logging
import os
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

from nmtkit.errors import DataError, ModelError
from nmtkit.evaluation.bleu_tokenizer import choose_tokenizer
from nmtkit.evaluation.metrics import evaluate
from nmtkit.inference.aligner import Aligner
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.scorer import Scorer
from nmtkit.inference.side_check import refuse_swapped
from nmtkit.inference.translator import Translator
from nmtkit.io.fast_record import FastRecord, new_fast_files
from nmtkit.io.folder_files import regular_file_sha256
from nmtkit.io.lines import open_output, read_parallel
from nmtkit.model_folder import load_model
from nmtkit.models.fast.int8 import is_int8_fast
from nmtkit.progress_bar import ProgressBar
from nmtkit.text.lexicon import Lexicon, LinkCounts

log = logging.getLogger("nmtkit")

MAX_PAIRS = 100_000
"""Default number of training pairs whose links are counted, evenly spaced."""

MAX_LOSS = 0.3
"""Default for the largest loss of BLEU, or chrF, in percent."""

MAX_CHARACTERS = 1000
"""Longest line of a pair that is aligned; longer ones take much memory and link badly."""


WARM_UP_LINES = 16
"""Lines of the dev set that are translated before the time counts."""


MIN_SECONDS = 1.0
"""Processor time of a translated dev set, below which times are not compared."""


class Way(NamedTuple):
    """A way to translate faster: with 8-bit products, with candidates, or with both."""

    name: str
    quantize: bool
    candidates: bool


PLAIN = Way("neither candidates nor 8-bit products", False, False)

WAYS = (
    Way("candidates and 8-bit products", True, True),
    Way("candidates", False, True),
    Way("8-bit products", True, False),
)
"""The likely fastest first."""


class TimedTranslation(NamedTuple):
    """A translation of the dev set.

    bleu: in percent. seconds: of the processor. chrf: in percent, if BLEU says nothing.
    """

    bleu: float
    seconds: float
    chrf: float | None = None

    @property
    def score(self) -> float:
        """The figure that must not fall, in percent."""
        return self.bleu if self.chrf is None else self.chrf

    @property
    def metric(self) -> str:
        """The title of that figure."""
        return "BLEU" if self.chrf is None else "chrF"


def optimize(
    folder: str | Path,
    train: tuple[str | Path, str | Path],
    dev: tuple[str | Path, str | Path],
    max_pairs: int = MAX_PAIRS,
    max_loss: float = MAX_LOSS,
    batch_size: int = 64,
    params: str | Path = "best",
) -> FastRecord:
    """Write the lexical table and the record of a model folder, replacing earlier ones.

    :param train: source and target file of the training text, raw, or similar text.
    :param dev: source and target file of the validation set, raw.
    :param max_pairs: largest number of training pairs, evenly spaced, whose links are counted.
    :param max_loss: largest loss of BLEU in percent, sacreBLEU's on the dev set; of chrF where no
        reference has four words.
    :param params: which parameters: "best", "last", or a file; those that will translate.
    :raises ModelError: every way loses more than `max_loss`; or the model has no attention.
    :raises DataError: a file cannot be read, files differ in length, the dev set is empty, or
        source and target look swapped.
    """
    folder = Path(folder)
    model = load_model(folder, "cpu", params)
    checksum = model.metadata.sha256
    assert checksum is not None  # it has been read from a file
    for files in (train, dev):
        refuse_swapped(model, *files)
    pairs = list(read_parallel(*dev))
    if not pairs:
        raise DataError(f"{dev[0]}: the dev set is empty")
    ensemble = Ensemble((model,))
    with new_fast_files(folder) as new_files:
        table = new_files.lexicon
        write_lexicon(Aligner(Scorer(ensemble, batch_size)), train, table, max_pairs)
        lexicon = Lexicon.load(table, model.tgt_vocab, known_direction=True)
        found = {}
        for way in (PLAIN, *_usable_ways()):
            found[way] = new = _translate_dev(way, ensemble, lexicon, batch_size, pairs)
            figures = new.metric, new.score, new.seconds
            log.info("%s: with %s: dev %s %.2f in %.1f s", folder, way.name, *figures)
        best = _fastest(found, max_loss)
        if best is None:
            raise ModelError(
                f"{folder}: every way to translate faster loses more than {max_loss} {new.metric};"
                " give --train the model's training text, or a higher --max-loss"
            )
        record = _record_of(found, best, checksum, table, len(pairs))
        new_files.write_record(record)
    return record


def _record_of(
    found: Mapping[Way, TimedTranslation], best: Way, checksum: str, table: Path, pairs: int
) -> FastRecord:
    """Return the record of the way that is kept.

    :param checksum: of the parameters.
    :param table: the lexical table.
    :param pairs: of the dev set.
    """
    plain, fast = found[PLAIN], found[best]
    sha256 = regular_file_sha256(table) if best.candidates else ""
    speed = round(plain.seconds / fast.seconds, 2) if plain.seconds >= MIN_SECONDS else 0.0
    figures = plain.bleu, fast.bleu, speed, plain.chrf, fast.chrf
    return FastRecord(checksum, sha256, best.quantize, pairs, *figures)


def _usable_ways() -> list[Way]:
    """Return the ways that this processor has."""
    if is_int8_fast():
        return list(WAYS)
    log.info("this processor, with this torch, has no fast 8-bit products")
    return [way for way in WAYS if not way.quantize]


def _fastest(translations: Mapping[Way, TimedTranslation], max_loss: float) -> Way | None:
    """Return the fastest way that loses little, or PLAIN; None if all others lose too much."""
    plain = translations[PLAIN]
    good = [
        way
        for way, translation in translations.items()
        if way != PLAIN and plain.score - translation.score <= max_loss
    ]
    if not good or plain.seconds < MIN_SECONDS:
        return good[0] if good else None
    return min([PLAIN, *good], key=lambda way: translations[way].seconds)


def write_lexicon(
    aligner: Aligner, train: tuple[str | Path, str | Path], path: Path, max_pairs: int
) -> None:
    """Write the table of word translations by the model's own links.

    :raises DataError: the files have no pair with words on both sides.
    :raises ModelError: the model has no attention.
    """
    counts = LinkCounts()
    pairs = spaced_pairs(train, max_pairs)
    if not pairs:
        raise DataError(
            f"{train[0]}, {train[1]}: no pair has words on both sides; give the model's training"
            " text, or text like it"
        )
    bar = ProgressBar("align", "pairs", len(pairs))
    alignments = aligner.align(bar.run(pairs), counts=counts)
    for number, _ in zip(count(1), alignments, strict=False):
        if number % 10_000 == 0:
            log.info("%d pairs aligned", number)
    with open_output(path, force=True) as output:
        counts.write(output)


def spaced_pairs(files: tuple[str | Path, str | Path], max_pairs: int) -> list[tuple[str, str]]:
    """Read at most `max_pairs` pairs, evenly spaced, in one pass, as a file may be a pipe.

    Every second pair is dropped whenever there are too many. Long and empty ones are skipped.

    :raises DataError: a file cannot be read, or they differ in length.
    """
    kept: list[tuple[str, str]] = []
    step = 1
    for number, (src, tgt) in enumerate(read_parallel(*files)):
        if number % step == 0:
            kept.append((src, tgt))
        if len(kept) > max_pairs:
            kept, step = kept[::2], 2 * step
    return [
        (src, tgt)
        for src, tgt in kept
        if src.strip() and tgt.strip() and max(len(src), len(tgt)) <= MAX_CHARACTERS
    ]


def _translate_dev(
    way: Way,
    ensemble: Ensemble,
    lexicon: Lexicon,
    batch_size: int,
    pairs: Sequence[tuple[str, ...]],
) -> TimedTranslation:
    """Translate the dev set in a way, for sacreBLEU's figures and the time."""
    translator = Translator(ensemble, batch_size=batch_size, quantize=way.quantize)
    translator = translator.with_candidates(lexicon if way.candidates else None)
    sources = [src for src, _ in pairs]
    for _ in translator.translate(sources[:WARM_UP_LINES]):
        pass
    bar = ProgressBar("translate the dev set", "lines", len(pairs))
    start = processor_seconds()
    results = list(bar.run(translator.translate(sources), translator.lines_done.count))
    seconds = processor_seconds() - start
    hypotheses = [best[0].text for best in results]
    references = [tgt for _, tgt in pairs]
    tokenizer = choose_tokenizer(ensemble.first.config.text.tgt_language)
    metrics = ["sacrebleu"] if tokenizer.has_four_words(references) else ["sacrebleu", "chrf"]
    bleu, *chrf = evaluate(hypotheses, references, metrics=metrics, tokenizer=tokenizer)
    return TimedTranslation(bleu.value, seconds, chrf[0].value if chrf else None)


def processor_seconds() -> float:
    """Return the processor time of this process and of its forks that have ended."""
    return sum(os.times()[:4])
