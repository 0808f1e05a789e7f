"""Annotated training pairs: what is annotated, that nothing else changes, and that it repeats."""

from collections.abc import Sequence

import numpy as np
import pytest

from nmtkit.config import DataConfig
from nmtkit.data import term_augmentation
from nmtkit.data.batching import Batches
from nmtkit.data.corpus import Corpus, Side
from nmtkit.data.resampling import Pool
from nmtkit.data.term_augmentation import (
    EXCHANGED,
    FREQUENT_SHARE,
    INFLECTED,
    TermAugmenter,
    WordEnds,
    _begin_alike,
)
from nmtkit.data.word_pairs import WordPairs, prior
from nmtkit.special_symbols import UNK
from nmtkit.text.subword.bpe_dropout import Sentences
from nmtkit.text.term_words import TermWords

SIZE = 300  # of each vocabulary
RARE = int(FREQUENT_SHARE * SIZE) + 1
WORDS = TermWords(SIZE)


def side(sentences: Sequence[Sequence[int]]) -> Side:
    return Side(*Sentences.of([[*sentence, 0] for sentence in sentences]))


def pool_of(pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Pool:
    corpus = Corpus(side([src for src, _ in pairs]), side([tgt for _, tgt in pairs]))
    numbers = np.arange(len(pairs))
    return Pool(corpus, numbers, numbers + 7)


def table(pairs: dict[tuple[int, int], float]) -> WordPairs:
    keys = sorted(src * SIZE + tgt for src, tgt in pairs)
    strengths = [pairs[divmod(key, SIZE)] for key in keys]
    return WordPairs(np.array(keys), np.array(strengths, np.float32), SIZE)


def same_words(words: range) -> WordPairs:
    """Return a table in which each word is translated by the word with its number."""
    return table({(word, word): 0.9 for word in words})


def augmenter(
    pairs: WordPairs,
    share: float = 1.0,
    opens: Sequence[int] = (),
    texts: Sequence[str] = ("",) * SIZE,
) -> TermAugmenter:
    """Return one where the tokens `opens` go on with the next one, in both languages."""
    ends = WordEnds.of([(word in opens, True) for word in range(SIZE)])
    return TermAugmenter(pairs, (ends, ends), texts, WORDS, share)


def sentences_of(pool: Pool) -> list[tuple[list[int], list[int]]]:
    """Return both sides of each pair, without `</s>`."""
    corpus = pool.corpus
    return [(corpus.src[i][:-1].tolist(), corpus.tgt[i][:-1].tolist()) for i in pool.indices]


def terms_of(src: Sequence[int], new: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Return the terms of a sentence, and the translations in their place.

    The words of a sentence differ, so that those which are still there divide it.
    """
    terms: list[tuple[list[int], list[int]]] = []
    rest = list(src)
    for token in new:
        if token >= WORDS.first:
            if not terms or terms[-1][0]:
                terms.append(([], []))
            terms[-1][1].append(token - WORDS.first)
            continue
        place = rest.index(token)
        if terms and not terms[-1][0]:
            terms[-1][0].extend(rest[:place])
        else:
            assert not place  # no word is lost elsewhere
        rest = rest[place + 1 :]
    if terms and not terms[-1][0]:
        terms[-1][0].extend(rest)
    else:
        assert not rest
    return terms


def random_pairs(count: int) -> list[tuple[list[int], list[int]]]:
    """Return pairs whose target has the words of the source in another order."""
    random = np.random.default_rng(3)
    pairs = []
    for _ in range(count):
        src = random.choice(np.arange(2, SIZE), random.integers(2, 12), replace=False)
        pairs.append((src.tolist(), random.permutation(src).tolist()))
    return pairs


@pytest.fixture
def no_exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all terms keep their own translation."""
    monkeypatch.setattr(term_augmentation, "EXCHANGED", 0.0)


@pytest.mark.usefixtures("no_exchange")
def test_translations_stand_in_the_place_of_terms_and_nothing_else_changes() -> None:
    pairs = random_pairs(200)
    pool = pool_of(pairs)
    annotated = augmenter(same_words(range(2, SIZE))).annotate(pool, "1 0 0")
    assert annotated.numbers.tolist() == pool.numbers.tolist()
    counts = []
    for (src, tgt), (new_src, new_tgt) in zip(pairs, sentences_of(annotated), strict=True):
        terms = terms_of(src, new_src)
        assert new_tgt == tgt
        for words, translation in terms:
            assert sorted(words) == sorted(translation)  # each word is translated by itself
            assert max(words) >= RARE
        counts.append(len(terms))
    assert max(counts) == 2 and np.mean(np.array(counts) > 0) > 0.8


def test_the_share_is_that_of_the_pairs_and_the_key_decides_which() -> None:
    pool = pool_of(random_pairs(1000))
    share = augmenter(same_words(range(2, SIZE)), 0.2)
    first, again, other = (share.annotate(pool, key) for key in ("1 0 0", "1 0 0", "1 1 0"))
    annotated = [max(src) >= WORDS.first for src, _ in sentences_of(first)]
    assert 0.15 < np.mean(annotated) < 0.25
    assert sentences_of(first) == sentences_of(again)
    assert sentences_of(first) != sentences_of(other)


def test_frequent_words_unknown_ones_and_words_without_a_link_are_no_terms() -> None:
    for word, pairs in ((RARE - 1, same_words(range(2, SIZE))), (RARE, same_words(range(2, RARE)))):
        pool = pool_of([([2, word], [word, 2])] * 20)
        found = sentences_of(augmenter(pairs).annotate(pool, "1 0 0"))
        assert all(src == [2, word] for src, _ in found)
    unknown = pool_of([([RARE, RARE + 1], [UNK, UNK])] * 20)
    known = table({(RARE, UNK): 0.9, (RARE + 1, UNK): 0.9})
    found = sentences_of(augmenter(known).annotate(unknown, "1 0 0"))
    assert all(src == [RARE, RARE + 1] for src, _ in found)


@pytest.mark.usefixtures("no_exchange")
def test_terms_are_whole_words() -> None:
    """Tokens 200 and 201 begin a word; only the second token of the target is linked to them."""
    pairs = table({(200, 220): 0.9, (202, 222): 0.9})
    pool = pool_of([([200, 150, 202], [201, 220, 222])] * 30)
    found = sentences_of(augmenter(pairs, opens=(200, 201)).annotate(pool, "1 0 0"))
    terms = [term for src, _ in found for term in terms_of([200, 150, 202], src)]
    assert {(tuple(words), tuple(translation)) for words, translation in terms} <= {
        ((200, 150), (201, 220)),
        ((202,), (222,)),
        ((200, 150, 202), (201, 220, 222)),
    }
    assert ([200, 150], [201, 220]) in terms and ([202], [222]) in terms


@pytest.mark.usefixtures("no_exchange")
def test_a_word_that_shares_its_translation_with_another_is_no_term() -> None:
    """Word 200 is linked to the first and the last target word, around that of 210."""
    pairs = table({(200, 220): 0.9, (201, 220): 0.8, (201, 221): 0.9, (200, 221): 0.1})
    split = pool_of([([200, 210, 201], [220, 230, 221])] * 30)
    both = table({(200, 220): 0.9, (210, 230): 0.9, (201, 221): 0.9})
    found = sentences_of(augmenter(both).annotate(split, "1 0 0"))
    terms = [term for src, _ in found for term in terms_of([200, 210, 201], src)]
    assert terms and all(len(words) == len(translation) for words, translation in terms)
    crossed = pool_of([([200, 210], [220, 230, 221])] * 30)
    found = sentences_of(augmenter(pairs).annotate(crossed, "1 0 0"))
    terms = [term for src, _ in found for term in terms_of([200, 210], src)]
    assert all(230 not in translation for _, translation in terms)


@pytest.mark.usefixtures("no_exchange")
def test_a_part_of_the_single_words_stands_in_another_form() -> None:
    texts = [""] * SIZE
    texts[220], texts[221], texts[222] = "rouge", "rouges", "vermeil"
    pairs = table({(200, 220): 0.9, (200, 221): 0.2, (200, 222): 0.3})
    pool = pool_of([([200], [220])] * 1000)
    found = sentences_of(augmenter(pairs, texts=texts).annotate(pool, "1 0 0"))
    translations = [[token - WORDS.first for token in src] for src, _ in found]
    assert {tuple(t) for t in translations} == {(220,), (221,)}
    assert abs(np.mean([t == [221] for t in translations]) - INFLECTED) < 0.05


def test_exchanged_terms_stand_in_both_sides_and_the_rest_stays() -> None:
    """Word w is translated by w, in the same order; so both sides change alike."""
    pairs = [([n, n + 1, n + 2, n + 3], [n, n + 1, n + 2, n + 3]) for n in range(2, SIZE - 4)]
    found = sentences_of(augmenter(same_words(range(2, SIZE))).annotate(pool_of(pairs), "1 0 0"))
    foreign = []
    for (src, _), (new_src, new_tgt) in zip(pairs, found, strict=True):
        plain = [token - WORDS.first if token >= WORDS.first else token for token in new_src]
        assert plain == new_tgt
        assert [t for t in new_src if t < WORDS.first] == [
            t for t, new in zip(new_tgt, new_src, strict=True) if new < WORDS.first
        ]
        annotated = [t - WORDS.first for t in new_src if t >= WORDS.first]
        foreign += [token not in src for token in annotated]
    assert abs(np.mean(foreign) - EXCHANGED) < 0.1


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("rouge", "rouges", True),
        ("Haus", "Hauses", True),
        ("Haus", "Häuser", False),
        ("est", "es", False),
        ("", "", False),
        ("international", "internal", False),
    ],
)
def test_forms_of_a_word_begin_alike(one: str, other: str, alike: bool) -> None:
    assert _begin_alike(one, other) == _begin_alike(other, one) == alike


@pytest.mark.usefixtures("no_exchange")
def test_batches_have_other_terms_in_each_epoch_and_resume_exactly() -> None:
    pairs = random_pairs(60)
    corpus = pool_of(pairs).corpus
    config = DataConfig(
        max_length=20, batch_size=40, batch_unit="tokens", sort_pool=3, shuffle="every-epoch"
    )
    terms = augmenter(same_words(range(2, SIZE)), 0.5)
    batches = Batches(corpus, config, 3, augmenter=terms)
    stream, positions, drawn = iter(batches), [batches.position], []
    epochs: dict[int, dict[int, list[int]]] = {0: {}, 1: {}}
    while (epoch := batches.position.epoch) < 2:
        drawn.append(next(stream))
        positions.append(batches.position)
        for line, src, mask in zip(drawn[-1].lines, drawn[-1].src, drawn[-1].src_mask, strict=True):
            epochs[epoch][line] = src[mask][:-1].tolist()
    for of_epoch in epochs.values():
        assert sorted(of_epoch) == list(range(1, 61))
        found = [terms_of(pairs[line - 1][0], src) for line, src in of_epoch.items()]
        assert 20 < sum(map(bool, found)) < 40
    assert epochs[0] != epochs[1]
    for number, position in enumerate(positions[:-1]):
        resumed = Batches(corpus, config, 3, position, augmenter=terms)
        for one, other in zip(drawn[number : number + 3], resumed, strict=False):
            assert one.lines == other.lines and one.src.equal(other.src)


@pytest.mark.parametrize("seed", range(9))
def test_words_are_linked_if_each_is_the_best_of_the_other(seed: int) -> None:
    random = np.random.default_rng(seed)
    src, tgt = np.array([200, 201, 202, 203, 0]), np.array([220, 221, 222, 0])
    pairs = {(x, y): float(random.random()) for x in src for y in tgt if random.random() < 0.7}
    priors = prior(len(src), len(tgt))
    weights = np.array(
        [
            [pairs.get((x, y), 0.0) * priors[i, j] for j, x in enumerate(src[:-1])]
            for i, y in enumerate(tgt[:-1])
        ]
    )
    links = augmenter(table(pairs))._links(src, tgt, np.arange(4), np.arange(3))
    for (i, j), is_linked in np.ndenumerate(links):
        own = weights[i, j]
        assert is_linked == (own > 0 and own == max(weights[i]) == max(weights[:, j]))


@pytest.mark.usefixtures("no_exchange")
def test_words_that_share_a_target_word_are_terms_together_alone() -> None:
    """Tokens 220 and 221 are one word; a source word is linked to each of them."""
    pairs = table({(200, 220): 0.9, (201, 221): 0.9, (202, 222): 0.9})
    src = [200, 201, 202]
    pool = pool_of([(src, [220, 221, 222])] * 60)
    found = sentences_of(augmenter(pairs, opens=(220,)).annotate(pool, "1 0 0"))
    terms = {(tuple(words), tuple(new)) for line, _ in found for words, new in terms_of(src, line)}
    assert terms == {
        ((200, 201), (220, 221)),
        ((202,), (222,)),
        ((200, 201, 202), (220, 221, 222)),
    }
