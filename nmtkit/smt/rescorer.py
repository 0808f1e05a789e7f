"""Rescoring of n-best lists: models' log-probabilities as new features.

    from nmtkit.smt.rescorer import Rescorer
    from nmtkit.smt.nbest import read_nbest
    for entry in Rescorer.load("cslm").rescore(read_nbest("moses.100best.gz")):
        print(entry.line)

A translation model gives log p(hypothesis | source), as in Sutskever et al. 2014, section 3.2; a
language model log p(hypothesis), which Cho et al. 2014, section 4.1.2, use while decoding, not on
lists. Each model has its own feature, or all models as an ensemble have one, as in table 2 of
Sutskever et al.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from nmtkit.config import TextConfig
from nmtkit.errors import ConfigError, DataError, ModelError, counted
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.scorer import PairName, Score, Scorer, Totals
from nmtkit.inference.stream_batching import WINDOW_BATCHES
from nmtkit.model_folder import load_models
from nmtkit.smt.nbest import Entry, distinct_hypotheses, group_by_sentence, is_feature_name
from nmtkit.text.pair_cells import chunks

Group = list[Entry]
"""Entries of one sentence."""


class ScoringPair(NamedTuple):
    """A source sentence, and the first entry of a hypothesis."""

    source: str
    entry: Entry


MIN_TREE_SIZE = 64
"""Minimum number of hypotheses of a sentence to score as a prefix tree.

A tree computes common prefixes once. With fewer hypotheses a decoding step has too little work for
a core, so they are batched with those of other sentences. In bench/nbest.py, a tree of 32 is 1.2
times as fast as batches with RNNsearch and 0.7 times with CSLM; a tree of 100 is faster with both.
"""

WORD_PENALTY = "WP0"
"""Name of the feature that counts unknown words."""


class Rescorer:
    """Adds one feature per model or ensemble to the lines of n-best lists.

    :param scorers: one per feature, of a model or an ensemble.
    :param names: of the features; by default RNN0, RNN1, ... for translation models and CSLM0, ...
        for language models.
    :param batch_size: hypotheses scored together.
    :param count_unknown: add a feature `WP0` with the value -w for a hypothesis with w tokens that
        are unknown to the first model (Cho et al. 2014, section 4.2: the word penalty).
    :raises ConfigError: the numbers of names and features differ, or a name is invalid or repeated.
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
        self._extra_names = [WORD_PENALTY] if count_unknown else []
        _check_names(self.names, len(self._scorers), self._extra_names)
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
        params: str | Path = "best",
        ensemble: bool = False,
        weights: Sequence[float] = (),
        log_linear: bool = False,
    ) -> "Rescorer":
        """Load models from their folders.

        :param params: which parameters: "best", "last", or the file of a single model.
        :param ensemble: all models together have one feature; by default each has its own.
        :param weights, log_linear: of an ensemble, see `Ensemble.averaged`.
        :raises NmtkitError: a folder is incomplete, the names or weights are invalid, or the target
            vocabularies of an ensemble differ.
        """
        if ensemble:
            _check_one_name(names)
        models = load_models(folders, device, params)
        if ensemble:
            ensembles = [Ensemble(tuple(models)).averaged(weights, log_linear)]
        else:
            ensembles = [Ensemble((model,)) for model in models]
        scorers = [Scorer(ensemble, batch_size) for ensemble in ensembles]
        return cls(scorers, names, batch_size, count_unknown)

    @property
    def reads_source(self) -> bool:
        """Return True if at least one model is a translation model."""
        return any(scorer.reads_source for scorer in self._scorers)

    @property
    def tokenizes(self) -> bool:
        """Return True if a model's corpus was raw text, so that it tokenises text."""
        return not all(text.tokenized for text in self._texts)

    @property
    def reads_escapes(self) -> bool:
        """Return True unless a model tokenises text without escapes such as `&apos;`.

        Nothing is known of text that was tokenised before.
        """
        return all(text.tokenized or text.escape for text in self._texts)

    @property
    def _texts(self) -> list[TextConfig]:
        models = (model for scorer in self._scorers for model in scorer.ensemble.members)
        return [model.config.text for model in models]

    def rescore(
        self,
        entries: Iterable[Entry],
        sources: Sequence[str] | None = None,
        tokenized: bool = True,
        normalized: bool = False,
    ) -> Iterator[Entry]:
        """Yield the entries in their order, each with the new features after its own.

        Repeated hypotheses of a sentence are scored once. An empty hypothesis consists of `</s>`.

        :param sources: source sentences by number, for translation models.
        :param tokenized: hypotheses and sources are already tokenised, as in Moses's lists.
        :param normalized: divide log p by the number of tokens of the hypothesis, with `</s>`.
        :raises DataError: a sentence has no source, the list is unsorted, or it has a feature of
            the same name.
        :raises ModelError: a translation model is given no sources.
        """
        if sources is None and self.reads_source:
            raise ModelError(
                "a translation model scores hypotheses given their source; give SRC, too"
            )
        for groups in chunks(group_by_sentence(entries), len, self._window):
            lists = [_scoring_pairs(group, sources) for group in groups]
            features = iter(self._new_features(lists, tokenized, normalized))
            for group in groups:
                values = {text: next(features) for text in distinct_hypotheses(group)}
                for entry in group:
                    yield self._with_features(entry, values[entry.hypothesis])

    def summary(self) -> list[str]:
        """Return one line per feature with the cost and the unknown tokens of the hypotheses."""
        return [
            f"{name}: {totals.summary('hypothesis')}; {counted(totals.unknown, 'token')} unknown"
            for name, totals in zip(self.names, self.totals, strict=True)
        ]

    def _new_features(
        self, lists: Sequence[Sequence[ScoringPair]], tokenized: bool, normalized: bool
    ) -> Iterator[list[float]]:
        """Yield the new features of each pair."""
        columns = [_scores(scorer, lists, tokenized) for scorer in self._scorers]
        for scores in zip(*columns, strict=True):
            for totals, score in zip(self.totals, scores, strict=True):
                totals.add(score)
            values = [score.normalized if normalized else score.log_prob for score in scores]
            yield [*values, 0.0 - scores[0].unknown] if self._extra_names else values

    def _with_features(self, entry: Entry, values: Sequence[float]) -> Entry:
        for name, value in zip([*self.names, *self._extra_names], values, strict=True):
            entry = entry.with_feature(name, value)
        return entry


def _scores(
    scorer: Scorer, lists: Sequence[Sequence[ScoringPair]], tokenized: bool
) -> Iterator[Score]:
    """Yield the score of each pair of each list; the pairs of a list share their source."""
    batch_pairs = [pair for pairs in lists if len(pairs) < MIN_TREE_SIZE for pair in pairs]
    batched = scorer.score(
        [(pair.source, pair.entry.hypothesis) for pair in batch_pairs],
        tokenized,
        pair_name=_locations(batch_pairs),
    )
    for pairs in lists:
        if len(pairs) < MIN_TREE_SIZE:
            yield from itertools.islice(batched, len(pairs))
        else:
            texts = [pair.entry.hypothesis for pair in pairs]
            yield from scorer.score_list(pairs[0].source, texts, tokenized, _locations(pairs))


def _locations(pairs: Sequence[ScoringPair]) -> PairName:
    return lambda number: pairs[number - 1].entry.location


def _scoring_pairs(group: Group, sources: Sequence[str] | None) -> list[ScoringPair]:
    """Pair the distinct hypotheses of a sentence with their source."""
    sentence = group[0].sentence
    if sources is not None and sentence >= len(sources):
        raise DataError(
            f"{group[0].location}: sentence {sentence}, counted from 0, is beyond the source's"
            f" {counted(len(sources), 'line')}; give the text that the list was made from"
        )
    source = "" if sources is None else sources[sentence]
    first = {entry.hypothesis: entry for entry in reversed(group)}
    return [ScoringPair(source, first[text]) for text in distinct_hypotheses(group)]


def _default_names(translating: Sequence[bool]) -> list[str]:
    seen: Counter[str] = Counter()
    names = []
    for kind in ("RNN" if translates else "CSLM" for translates in translating):
        names.append(f"{kind}{seen[kind]}")
        seen[kind] += 1
    return names


def _check_one_name(names: Sequence[str]) -> None:
    if len(names) > 1:
        raise ConfigError(
            f"{len(names)} feature names for an ensemble, which is one feature; give one, or none"
        )


def _check_names(names: Sequence[str], models: int, extra: Sequence[str]) -> None:
    if len(names) != models:
        raise ConfigError(
            f"{counted(len(names), 'feature name')} for {counted(models, 'model')}; give one for"
            " each, or none"
        )
    for name in names:
        if not is_feature_name(name):
            raise ConfigError(
                f"a feature cannot be called '{name}'; remove blanks, '=', '|' and '#'"
            )
        if [*names, *extra].count(name) > 1:
            raise ConfigError(f"two features would be called '{name}'; choose different names")
