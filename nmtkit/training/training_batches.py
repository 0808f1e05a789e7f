"""The batches of a training, with BPE-dropout and annotated terms if the settings ask for them."""

from collections.abc import Callable, Sequence
from pathlib import Path

from nmtkit.config import Config
from nmtkit.data.batching import Batches
from nmtkit.data.corpus import Corpus
from nmtkit.data.resampling import Resampler
from nmtkit.data.sampling import Segment
from nmtkit.data.term_augmentation import TermAugmenter, WordEnds
from nmtkit.data.word_pairs import WordPairs
from nmtkit.errors import ConfigError
from nmtkit.parallel.background import BackgroundWorker
from nmtkit.text.pipeline import TextPipeline
from nmtkit.text.subword import method_of
from nmtkit.text.subword.bpe_dropout import DropoutRequest, DropoutSide, Sentences, bpe_dropout
from nmtkit.text.term_words import TermWords
from nmtkit.text.vocabulary import Vocabulary


def build_batches(
    folder: Path,
    config: Config,
    corpus: Corpus,
    vocabularies: Sequence[Vocabulary],
    part: tuple[int, int],
    word_pairs: Callable[[], WordPairs],
    segments: Sequence[Segment] = (),
) -> Batches:
    """Return the batches of a training.

    :param folder: the model folder, with the files of BPE merges.
    :param part: rank and number of ranks.
    :param word_pairs: returns which words of the corpus belong together.
    :param segments: pairs and weight of each corpus; empty if all weights are 1.
    :raises ConfigError: the settings ask for BPE-dropout, but the text is not split by BPE.
    """
    resampler = None
    if config.data.bpe_dropout:
        worker = _dropout_worker(folder, config, vocabularies)
        resampler = Resampler(corpus, worker)
    augmenter = _term_augmenter(folder, config, vocabularies, word_pairs)
    seed = config.training.seed
    return Batches(corpus, config.data, seed, None, part, segments, resampler, augmenter)


def _term_augmenter(
    folder: Path,
    config: Config,
    vocabularies: Sequence[Vocabulary],
    word_pairs: Callable[[], WordPairs],
) -> TermAugmenter | None:
    """Return what annotates terms, or None if the settings do not ask for it."""
    words = TermWords.of(*vocabularies)
    if not config.data.terms_augment or words is None:
        return None
    src, tgt = (TextPipeline.load(folder, side, config.text) for side in ("src", "tgt"))
    ends = (
        WordEnds.of(src.word_boundaries(vocabularies[0].words)),
        WordEnds.of(tgt.word_boundaries(vocabularies[1].words)),
    )
    texts = _texts_of_words(tgt.spellings(vocabularies[1].words))
    return TermAugmenter(word_pairs(), ends, texts, words, config.data.terms_augment)


def _texts_of_words(spellings: Sequence[tuple[bytes, bool]]) -> list[str]:
    """Return the text of each target word, "" for pieces that begin a longer word.

    Pieces of SentencePiece do not say whether their word goes on, so all of them count.

    :param spellings: the text of each, and whether its word may go on.
    """
    always = all(goes_on for _, goes_on in spellings)
    return [
        text.decode("utf-8", "replace") if always or not goes_on else ""
        for text, goes_on in spellings
    ]


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
