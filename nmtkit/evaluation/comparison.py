"""Systems side by side: figures, intervals, p-values, of a whole test set and of its strata.

The first system is an equal of the others: every pair of systems is compared. P-values are not
corrected for the number of pairs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from nmtkit.errors import DataError
from nmtkit.evaluation.buckets import Bucket, Bucketing, Indices, Texts, divide, known, of_words
from nmtkit.evaluation.metrics import NAMES, Measure, Rewriting, check_lines
from nmtkit.evaluation.significance import SEED, Interval, interval, p_value, sample_sums
from nmtkit.evaluation.sufficient_statistics import Counts, Sums, count, extended

Counted = Mapping[str, Sequence[Counts]]
"""Of each system, by its name: its measures, the same in the same order."""


@dataclass(frozen=True)
class Protocol:
    """How systems are compared.

    tokenize, detokenize: make the text that measures need, see `bleu.evaluate`.
    tokenize_source: for a raw source.
    measures: of `counts.MEASURES`; all where empty.
    samples: of the bootstrap, for intervals and p-values; 0 for none of these.
    seed: of its samples.
    no_unknown: only sentences without unknown word in source and reference.
    words: only sentences whose source and reference both have so many words, from and to.
    divisions: what strata are told of besides.
    """

    tokenize: Rewriting | None = None
    detokenize: Rewriting | None = None
    tokenize_source: Rewriting | None = None
    measures: tuple[str, ...] = ()
    samples: int = 0
    seed: int = SEED
    no_unknown: bool = False
    words: tuple[int, int] | None = None
    divisions: tuple[Bucketing, ...] = ()


@dataclass(frozen=True)
class Figure:
    """One measure of one system; the interval where the bootstrap was asked for."""

    value: float
    interval: Interval | None


@dataclass(frozen=True)
class Pair:
    """Two systems by one measure.

    difference: the second's figure less the first's.
    p: how probable one so large is where both are equally good (`bootstrap.p_value`).
    """

    first: str
    second: str
    measure: str
    difference: float
    p: float


@dataclass(frozen=True)
class Result:
    """What was found on some sentences.

    figures: by measure, then by system; none where there are no sentences.
    pairs: every two systems by every measure; none without a bootstrap.
    """

    sentences: int
    figures: Mapping[str, Mapping[str, Figure]]
    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class BucketResult:
    """One stratum and what was found on it."""

    division: Bucketing
    stratum: Bucket
    result: Result


@dataclass(frozen=True)
class Comparison:
    """What was found.

    lines: of the files; the whole has fewer where only some were asked for.
    measures: of each system, by its name, with signatures and parts.
    """

    lines: int
    measures: Mapping[str, tuple[Measure, ...]]
    whole: Result
    levels: tuple[BucketResult, ...]


def compare(
    systems: Mapping[str, Sequence[str]],
    texts: Texts,
    protocol: Protocol,
    names: Mapping[str, str] | None = None,
) -> Comparison:
    """Measure systems on the same sentences.

    :param systems: translations by each, by its name; one line for each reference.
    :param texts: translations by people in the form of the systems', and for strata the source.
    :param names: what errors call the lines of a system, and those of the references under the
        key "", for example their files.
    :raises DataError: a system has more or fewer lines than the references, or none is left, of
        all or for the strata.
    :raises ConfigError: strata need a text or a vocabulary that is not there.
    """
    names = {**{name: name for name in systems}, "": NAMES[1], **(names or {})}
    for name, hypotheses in systems.items():
        check_lines(hypotheses, texts.reference, (names[name], names[""]))
    tokens = texts.rewritten(protocol.tokenize_source, protocol.tokenize)
    chosen = _chosen(tokens, protocol)
    tokens, references = tokens.part(chosen), texts.part(chosen).reference
    divided = [(division, _divided(division, tokens)) for division in protocol.divisions]
    counted = {
        name: _counted([hypotheses[i] for i in chosen], references, protocol)
        for name, hypotheses in systems.items()
    }
    everything = np.arange(len(chosen))
    return Comparison(
        lines=len(texts.reference),
        measures={name: tuple(c.measure for c in counts) for name, counts in counted.items()},
        whole=measure(counted, everything, protocol.samples, protocol.seed),
        levels=tuple(
            BucketResult(division, stratum, _of_stratum(counted, division, stratum, protocol))
            for division, strata in divided
            for stratum in strata
        ),
    )


def measure(counted: Counted, sentences: Indices, samples: int, seed: int = SEED) -> Result:
    """All measures of all systems on some sentences.

    :param samples: of the bootstrap; 0 for none.
    """
    systems = list(counted)
    if not len(sentences):
        return Result(0, {}, ())
    drawn = _on_samples(counted, sentences, samples, seed)
    figures: dict[str, dict[str, Figure]] = {}
    pairs = []
    for number, counts in enumerate(counted[systems[0]]):
        name = counts.measure.name
        of = {system: counted[system][number].of(sentences) for system in systems}
        figures[name] = {
            system: Figure(of[system], interval(drawn[system][number]) if samples else None)
            for system in systems
        }
        for first, second in combinations(systems, 2) if samples else ():
            difference = of[second] - of[first]
            p = p_value(drawn[first][number], drawn[second][number], difference)
            pairs.append(Pair(first, second, name, difference, p))
    return Result(len(sentences), figures, tuple(pairs))


def _on_samples(
    counted: Counted, sentences: Indices, samples: int, seed: int
) -> dict[str, list[NDArray[np.float64]]]:
    """Every figure on every sample, the same samples for all: by system, then by measure."""
    if not samples:
        return {}
    blocks = [c.numbers[sentences] for counts in counted.values() for c in counts]
    sums = sample_sums(np.hstack(blocks), samples, seed)
    ends = np.cumsum([block.shape[1] for block in blocks])[:-1]
    parts: list[Sums] = np.split(sums, ends, axis=1)[::-1]
    return {name: [c.figures(parts.pop()) for c in counts] for name, counts in counted.items()}


def _of_stratum(
    counted: Counted, division: Bucketing, stratum: Bucket, protocol: Protocol
) -> Result:
    """Windows have no intervals: there are too many, each nearly the one before."""
    samples = 0 if division.moves else protocol.samples
    return measure(counted, stratum.sentences, samples, protocol.seed)


def _chosen(texts: Texts, protocol: Protocol) -> Indices:
    """The sentences that are asked for."""
    chosen = np.arange(len(texts.reference))
    if protocol.no_unknown:
        chosen = np.intersect1d(chosen, known(texts))
    if protocol.words:
        chosen = np.intersect1d(chosen, of_words(texts, *protocol.words))
    if not len(chosen):
        raise DataError(
            f"none of the {len(texts.reference)} sentences is such as asked for; ask for more"
            " words, allow unknown ones, or see whether the vocabularies fit the text"
        )
    return chosen


def _divided(division: Bucketing, texts: Texts) -> list[Bucket]:
    strata = divide(division, texts)
    if not strata:
        raise DataError(
            f"no sentence belongs to any part by {division.by} of {division.of}; divide by the"
            " words of one side, or leave blank lines out"
        )
    return strata


def _counted(
    hypotheses: Sequence[str], references: Sequence[str], protocol: Protocol
) -> tuple[Counts, ...]:
    """The counts of one system, whose signatures tell what was done with it."""
    added: dict[str, object] = {}
    if protocol.samples:
        added |= {"bs": protocol.samples, "seed": protocol.seed}
    subset = ["no-unk"] if protocol.no_unknown else []
    if protocol.words:
        subset.append("words-{}-{}".format(*protocol.words))
    if subset:
        added["subset"] = ",".join(subset)
    counted = count(
        hypotheses,
        references,
        tokenize=protocol.tokenize,
        detokenize=protocol.detokenize,
        measures=protocol.measures,
    )
    return tuple(
        replace(c, measure=replace(c.measure, signature=extended(c.measure.signature, added)))
        for c in counted
    )
