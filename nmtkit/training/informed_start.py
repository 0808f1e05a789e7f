"""What a training knows about its words before the first update, if its settings ask for it.

Frequencies of target words become the output bias. Word pairs, which are learned from the corpus in
seconds, guide the attention, and place source embeddings near those of their translations. Source
words that stand for target words have the embeddings of these throughout.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
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


@dataclass(frozen=True)
class InformedStart:
    """What a training knows of its words, as its settings ask.

    word_pairs: returns which words of the corpus belong together; called only where that is needed.
    words: target words, with their counts. term_words: source words that stand for them, or None.
    """

    config: TrainingConfig
    word_pairs: Callable[[], WordPairs]
    words: Vocabulary
    term_words: TermWords | None = None

    @torch.no_grad()
    def initialise(self, model: Model) -> None:
        """Initialise the parameters of a training that begins.

        :raises DataError: the corpus is damaged.
        """
        if self.config.init_output_bias:
            model.init_output_bias(self.words.counts)
        if self.config.init_source_embeddings:
            parameters = dict(model.named_parameters())
            E_x, E_y = parameters["E_x"], parameters["E_y"]
            E_x.copy_(lexical_embeddings(E_x, E_y, *self._pairs_on(E_y.device)))

    def accompany(self, gradient: Gradient) -> None:
        """Guide the attention, and tie term words, in all updates that follow.

        :param gradient: computes the gradients of the model.
        :raises DataError: the corpus is damaged.
        """
        if self.term_words is not None:
            tie_term_words(gradient.model, gradient.optimizer, self.term_words)
        if self.config.guided_alignment:
            keys, strengths = self._pairs_on(gradient.device)
            if len(keys):
                gradient.guide_attention(AttentionGuide(keys, strengths, len(self.words)))

    def _pairs_on(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Return keys and strengths of the word pairs."""
        pairs = self.word_pairs()
        return torch.from_numpy(pairs.keys).to(device), torch.from_numpy(pairs.strengths).to(device)


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
