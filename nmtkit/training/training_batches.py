"""The batches of a training, with BPE-dropout if the settings ask for it."""

from collections.abc import Sequence
from pathlib import Path

from nmtkit.config import Config
from nmtkit.data.batching import Batches
from nmtkit.data.corpus import Corpus
from nmtkit.data.resampling import Resampler
from nmtkit.data.sampling import Segment
from nmtkit.errors import ConfigError
from nmtkit.parallel.background import BackgroundWorker
from nmtkit.text.subword import method_of
from nmtkit.text.subword.bpe_dropout import DropoutRequest, DropoutSide, Sentences, bpe_dropout
from nmtkit.text.vocabulary import Vocabulary


def build_batches(
    folder: Path,
    config: Config,
    corpus: Corpus,
    vocabularies: Sequence[Vocabulary],
    part: tuple[int, int],
    segments: Sequence[Segment] = (),
) -> Batches:
    """Return the batches of a training.

    :param folder: the model folder, with the files of BPE merges.
    :param part: rank and number of ranks.
    :param segments: pairs and weight of each corpus; empty if all weights are 1.
    :raises ConfigError: the settings ask for BPE-dropout, but the text is not split by BPE.
    """
    resampler = None
    if config.data.bpe_dropout:
        worker = _dropout_worker(folder, config, vocabularies)
        resampler = Resampler(corpus, worker)
    seed = config.training.seed
    return Batches(corpus, config.data, seed, None, part, segments, resampler)


def _dropout_worker(
    folder: Path, config: Config, vocabularies: Sequence[Vocabulary]
) -> BackgroundWorker[DropoutRequest, tuple[Sentences, Sentences]]:
    """Start the process that draws segmentations."""
    text = config.text
    if text.subwords == "none" or method_of(folder, "src") != "bpe":
        raise ConfigError(
            "data.bpe_dropout: the text is not split by BPE; prepare it with --bpe, or set"
            " data.bpe_dropout to 0"
        )
    sides = [
        DropoutSide(folder / f"bpe.{side}", vocabulary.words, text.glossaries, unsplit=text.tags)
        for side, vocabulary in zip(("src", "tgt"), vocabularies, strict=True)
    ]
    return BackgroundWorker(bpe_dropout, sides, config.data.bpe_dropout)
