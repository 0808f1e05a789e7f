"""Gives the hypotheses of n-best lists new features: what models think of them; also from Python.

    from nmtkit.smt.rescorer import Rescorer
    from nmtkit.smt.nbest import read_nbest
    for entry in Rescorer.load("cslm").rescored(read_nbest("moses.100best.gz")):
        print(entry.line)

A translation model gives log p(hypothesis | source), a language model log p(hypothesis): Sutskever
et al. 2014, section 3.7; Cho et al. 2014, section 4.1.2. Each model's is a feature of its own.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from nmtkit.errors import ConfigError, DataError, ModelError
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.scorer import PairName, Score, Scorer, Totals
from nmtkit.inference.stream_batching import WINDOW_BATCHES
from nmtkit.smt.nbest import Entry, by_sentence, distinct, is_feature_name

Group = list[Entry]
"""The entries of one sentence."""


class Pair(NamedTuple):
    """A source, and the first entry that has this hypothesis."""

    source: str
    entry: Entry


MANY = 64
"""Hypotheses of a sentence from which on it pays to read once what they begin with; fewer leave a
processor too little to do at a step, and are read together with those of other sentences. By
bench/nbest.py, a tree of 32 is 1.2 times as fast with RNNsearch and 0.7 times with CSLM, one of 100
is faster with both."""

PENALTY = "WP0"
"""The feature that counts unknown words."""


class Rescorer:
    """Adds a feature for each of some models.

    :param scorers: one for each model.
    :param names: of their features; by default RNN0, RNN1, ... of translation models and CSLM0, ...
        of language models.
    :param batch_size: hypotheses scored together.
    :param count_unknown: one feature more, `WP0`: -w for a hypothesis of which the first model does
        not know w tokens (Cho et al. 2014, section 4.1: the word penalty).
    :raises ConfigError: there are not as many names as models, one of them cannot be a name, or
        one is there twice.
    """

    def __init__(
        self,
        scorers: Sequence[Scorer],
        names: Sequence[str] = (),
        batch_size: int = 64,
        count_unknown: bool = False,
    ) -> None:
        self._scorers = list(scorers)
        self.names = list(names) or _default_names([s.reads_source for s in scorers])
        _check_names(self.names, len(self._scorers))
        self._penalty = [PENALTY] if count_unknown else []
        self._window = batch_size * WINDOW_BATCHES
        self.totals = [Totals() for _ in scorers]

    @classmethod
    def load(
        cls,
        *folders: str | Path,
        names: Sequence[str] = (),
        device: str = "auto",
        batch_size: int = 64,
        count_unknown: bool = False,
    ) -> "Rescorer":
        """Open model folders.

        :raises NmtkitError: a folder lacks something, or the names do not fit.
        """
        ensembles = [Ensemble.load([folder], device) for folder in folders]
        scorers = [Scorer(one, batch_size) for one in ensembles]
        return cls(scorers, names, batch_size, count_unknown)

    @property
    def reads_source(self) -> bool:
        """Whether a model translates."""
        return any(scorer.reads_source for scorer in self._scorers)

    def rescored(
        self,
        entries: Iterable[Entry],
        sources: Sequence[str] | None = None,
        tokenized: bool = True,
        normalized: bool = False,
    ) -> Iterator[Entry]:
        """The entries in their order, each with the new features behind its own.

        What is in the list of a sentence several times is scored once. An empty hypothesis is the
        end of the sentence alone.

        :param sources: the source sentences by number, where a model translates.
        :param tokenized: hypotheses and sources are tokenised already, as Moses has them.
        :param normalized: divide log p by the tokens of the hypothesis, `</s>` counted.
        :raises DataError: a sentence is beyond the end of the sources, a list is not in order, or
            it has a feature of that name.
        :raises ModelError: a model translates, and there are no sources.
        """
        if sources is None and self.reads_source:
            raise ModelError(
                "a model that translates scores hypotheses by their source; give SRC, too"
            )
        for groups in self._windows(entries):
            lists = [_pairs(group, sources) for group in groups]
            found = iter(self._values(lists, tokenized, normalized))
            for group in groups:
                values = {text: next(found) for text in distinct(group)}
                for entry in group:
                    yield self._with_features(entry, values[entry.hypothesis])

    def summary(self) -> list[str]:
        """A sentence on each model: what the different hypotheses of the sentences cost, and how
        many of their tokens it does not know."""
        return [
            f"{name}: {totals.sentence('hypotheses')}; {totals.unknown} tokens unknown"
            for name, totals in zip(self.names, self.totals, strict=True)
        ]

    def _windows(self, entries: Iterable[Entry]) -> Iterator[list[Group]]:
        """Sentences together that have at least a window of hypotheses."""
        window: list[Group] = []
        count = 0
        for group in by_sentence(entries):
            window.append(group)
            count += len(group)
            if count >= self._window:
                yield window
                window, count = [], 0
        if window:
            yield window

    def _values(
        self, lists: Sequence[Sequence[Pair]], tokenized: bool, normalized: bool
    ) -> Iterator[list[float]]:
        """The new features of each pair."""
        columns = [_scores(scorer, lists, tokenized) for scorer in self._scorers]
        for scores in zip(*columns, strict=True):
            for totals, score in zip(self.totals, scores, strict=True):
                totals.add(score)
            values = [score.normalized if normalized else score.log_prob for score in scores]
            yield [*values, 0.0 - scores[0].unknown] if self._penalty else values

    def _with_features(self, entry: Entry, values: Sequence[float]) -> Entry:
        for name, value in zip([*self.names, *self._penalty], values, strict=True):
            entry = entry.with_feature(name, value)
        return entry


def _scores(scorer: Scorer, lists: Sequence[Sequence[Pair]], tokenized: bool) -> Iterator[Score]:
    """Of the pairs of each list; those of one list have one source."""
    few = [pair for pairs in lists if len(pairs) < MANY for pair in pairs]
    of_few = scorer.score(
        [(pair.source, pair.entry.hypothesis) for pair in few], tokenized, pair_name=_places(few)
    )
    for pairs in lists:
        if len(pairs) < MANY:
            yield from itertools.islice(of_few, len(pairs))
        else:
            texts = [pair.entry.hypothesis for pair in pairs]
            yield from scorer.score_list(pairs[0].source, texts, tokenized, _places(pairs))


def _places(pairs: Sequence[Pair]) -> PairName:
    return lambda number: pairs[number - 1].entry.where


def _pairs(group: Group, sources: Sequence[str] | None) -> list[Pair]:
    """The different hypotheses of a sentence, each with its source."""
    sentence = group[0].sentence
    if sources is not None and sentence >= len(sources):
        raise DataError(
            f"{group[0].where}: sentence {sentence}, counted from 0, is beyond the source's"
            f" {len(sources)} lines; give the text that the list was made from"
        )
    source = "" if sources is None else sources[sentence]
    first = {entry.hypothesis: entry for entry in reversed(group)}
    return [Pair(source, first[text]) for text in distinct(group)]


def _default_names(translating: Sequence[bool]) -> list[str]:
    seen: Counter[str] = Counter()
    names = []
    for kind in ("RNN" if translates else "CSLM" for translates in translating):
        names.append(f"{kind}{seen[kind]}")
        seen[kind] += 1
    return names


def _check_names(names: Sequence[str], models: int) -> None:
    if len(names) != models:
        raise ConfigError(
            f"{len(names)} feature names for {models} models; give one for each, or none"
        )
    for name in names:
        if not is_feature_name(name):
            raise ConfigError(f"a feature cannot be called '{name}'; leave out blanks, '=' and '|'")
        if names.count(name) > 1:
            raise ConfigError(f"two features would be called '{name}'; give each a name of its own")
