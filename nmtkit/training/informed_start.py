"""What a training knows about its words before the first update, if its settings ask for it.

Frequencies of target words become the output bias. Word pairs, which are learned from the corpus in
seconds, guide the attention, and place source embeddings near those of their translations. Source
words that stand for target words have the embeddings of these throughout.
"""

import logging
from collections.abc import Callable, Sequence

import torch
from torch.optim import Optimizer

from nmtkit.config import Config, TrainingConfig
from nmtkit.data.corpus import Corpus
from nmtkit.data.word_pairs import WordPairs
from nmtkit.errors import ConfigError
from nmtkit.models import Model
from nmtkit.models.attention_guide import AttentionGuide
from nmtkit.models.lexical_initialisation import lexical_embeddings
from nmtkit.progress_bar import ProgressBar
from nmtkit.text.term_words import TermWords
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.gradient import Gradient

log = logging.getLogger("nmtkit")


def check_informed_start(model: Model, config: Config) -> None:
    """Raise ConfigError if the model has nothing that the settings would inform."""
    training = config.training
    if training.guided_alignment and not model.has_attention:
        raise ConfigError(
            "training.guided_alignment: this model has no attention to guide; set it to 0"
        )
    if training.init_source_embeddings and not model.reads_source:
        raise ConfigError(
            "training.init_source_embeddings: a language model reads no source; set it to false"
        )
    if config.data.terms_augment and not model.reads_source:
        raise ConfigError(
            "data.terms_augment: a language model reads no source, which would have the terms; set"
            " it to 0"
        )


def learn_word_pairs(corpus: Corpus, vocabularies: Sequence[Vocabulary]) -> WordPairs:
    """Learn which words of a corpus belong together.

    :param vocabularies: source and target.
    :raises DataError: the corpus is damaged.
    """
    with ProgressBar("learn which words translate each other", ""):
        pairs = WordPairs.estimate(corpus, len(vocabularies[1]))
    log.info("%s pairs of words that translate each other", f"{len(pairs.keys):,}")
    words = TermWords.of(*vocabularies)
    return pairs if words is None else pairs.with_term_words(words)


@torch.no_grad()
def inform_start(
    model: Model,
    gradient: Gradient,
    word_pairs: Callable[[], WordPairs],
    words: Vocabulary,
    config: TrainingConfig,
) -> None:
    """Initialise parameters, and guide the attention, as the settings ask.

    :param gradient: computes the gradients of the model.
    :param word_pairs: returns which words of the corpus belong together.
    :param words: target words, with their counts.
    :raises DataError: the corpus is damaged.
    """
    if config.init_output_bias:
        model.init_output_bias(words.counts)
    if not (config.guided_alignment or config.init_source_embeddings):
        return
    pairs = word_pairs()
    device = model.E_y.device
    keys, strengths = (torch.from_numpy(column).to(device) for column in pairs[:2])
    if config.init_source_embeddings:
        parameters = dict(model.named_parameters())
        E_x, E_y = parameters["E_x"], parameters["E_y"]
        E_x.copy_(lexical_embeddings(E_x, E_y, keys, strengths))
    if config.guided_alignment and len(keys):
        gradient.guide_attention(AttentionGuide(keys, strengths, len(words)))


def tie_term_words(model: Model, optimizer: Optimizer, words: TermWords) -> None:
    """Give source words that stand for target words the embeddings of these, and their gradient.

    Each of them is rare in the training data, most are never met; so all are learned as one.
    """
    parameters = dict(model.named_parameters())
    E_x, E_y = parameters["E_x"], parameters["E_y"]

    def add_gradient(*_: object) -> None:
        if E_x.grad is not None and E_y.grad is not None:
            E_y.grad += E_x.grad[words.first :]

    @torch.no_grad()
    def copy(*_: object) -> None:
        E_x[words.first :] = E_y

    copy()
    optimizer.register_step_pre_hook(add_gradient)
    optimizer.register_step_post_hook(copy)
