"""Translation of lines of text with a trained model or an ensemble; also from Python.

    from nmtkit import Translator
    for translations in Translator.load("model").translate(["A man is reading."], beam=5):
        print(translations[0].text, translations[0].score)

Lines are read in windows, sorted by length, searched in batches, and put back in order: there is
one result for each line, and it does not depend on the other lines. If torch may use several CPU
cores, each core searches for a share of the lines.
"""

import dataclasses
import functools
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from nmtkit.config import SearchConfig, SearchSettings, parse_section, rename_settings
from nmtkit.config_io import warn_of_old_names
from nmtkit.errors import ModelError
from nmtkit.inference.ensemble import CandidateLists, Ensemble, SearchPrecision, one_thread_if
from nmtkit.inference.stream_batching import WINDOW_BATCHES, LinesDone, windows_with_prefixes
from nmtkit.inference.translation import Translation
from nmtkit.inference.window_loop import Find, translate_windows
from nmtkit.inference.window_search import WindowSearch
from nmtkit.parallel.process_group import SINGLE_PROCESS, ProcessGroup
from nmtkit.search.search_settings import check_settings
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.value_types import NaturalInt, PositiveInt, check_arguments, check_type

if TYPE_CHECKING:
    from nmtkit.inference.alternatives import Alternative, AlternativesFinder
    from nmtkit.inference.confidence.estimator import FeatureReader
    from nmtkit.inference.prefixes import PrefixFinder
    from nmtkit.inference.scorer import Scorer
    from nmtkit.inference.target_words import TargetWords
    from nmtkit.inference.term_likelihood import TermLikelihood
    from nmtkit.inference.terms import TermFinder, TermsMode
    from nmtkit.text.glossary import Glossary

log = logging.getLogger("nmtkit")

SAMPLES_TOGETHER = 16
"""Samples of a line beyond which fewer lines are read and searched together."""


class Translator:
    """Translates with one model, or with several that have the same target vocabulary.

    :param ensemble: the models.
    :param search: search settings; by default those in the first model's config.
    :param batch_size: sentences searched together; see `sentences_per_batch`.
    :param quantize: use int8 matrix products: faster on a CPU, nearly the same translations.
    :param precision: type of matrix products without `quantize`; "auto": bfloat16 for models of at
        least 512 units on a processor that multiplies it, else float32.
    :param candidates: words that each translation may use, all by default; probabilities and scores
        are then those of a softmax over these words.
    :raises ConfigError: `quantize` is set and a model is not on a CPU.
    :raises ModelError: all models are language models, which read no source.
    lines_done: counts the lines that are searched, before their translations are yielded.
    """

    @check_arguments
    def __init__(
        self,
        ensemble: Ensemble,
        search: SearchConfig | None = None,
        batch_size: PositiveInt = 64,
        quantize: bool = False,
        candidates: CandidateLists | None = None,
        precision: SearchPrecision = "auto",
    ) -> None:
        if not ensemble.reads_source:
            raise ModelError(
                "a language model does not translate; use it beside a model that does, or in"
                " 'nmtkit score'"
            )
        self._ensemble = ensemble.for_inference("int8" if quantize else precision)
        self.search = ensemble.first.config.search if search is None else search
        self._beam_is_given = search is not None
        self._batch_size = batch_size
        self._candidates = candidates
        self._replacements: Mapping[str, str] | None = None
        self._terms: TermFinder | None = None
        self._confidence: FeatureReader | None = None
        self.lines_done = LinesDone()
        # made once for all translators that are made from this one
        self._prefix_finder = functools.cache(functools.partial(_prefix_finder, ensemble))
        self._target_words = functools.cache(functools.partial(_target_words, ensemble))
        self._term_likelihood = functools.cache(functools.partial(_term_likelihood, self._ensemble))

    @classmethod
    @check_arguments
    def load(
        cls,
        *folders: str | Path,
        device: str = "auto",
        search: SearchConfig | None = None,
        batch_size: PositiveInt = 64,
        params: str | Path = "best",
        quantize: bool = False,
        precision: SearchPrecision = "auto",
    ) -> "Translator":
        """Load one model folder, or several as an ensemble.

        :param folders: model folders; models of an ensemble have one target vocabulary.
        :param device: "auto", "cpu", "cuda", "cuda:1" or "mps".
        :param search: search settings; by default those in the first model's config.
        :param batch_size: sentences searched together; see `sentences_per_batch`.
        :param params: which parameters: "best", "last", or the file of a single model.
        :param quantize: use int8 matrix products: faster on a CPU, nearly the same translations.
        :param precision: type of matrix products without `quantize`; see the class.
        :raises ModelError: a file is missing or does not fit, or target vocabularies differ.
        """
        ensemble = Ensemble.load(folders, device, params)
        return cls(ensemble, search, batch_size, quantize, precision=precision)

    def with_search(self, **settings: Unpack[SearchSettings]) -> "Translator":
        """Return a translator with the same models and other search settings.

        :param settings: fields of `SearchConfig`, such as beam=5.
        :raises ConfigError: a setting does not exist (the nearest is named) or has a wrong type.
        """
        table, renamed = rename_settings({"search": settings}, "with_search")
        warn_of_old_names(renamed)
        translator = self._copy()
        changed = {**dataclasses.asdict(self.search), **table["search"]}
        translator.search = parse_section(SearchConfig, changed, "search")
        translator._beam_is_given = self._beam_is_given or "beam" in table["search"]
        return translator

    def _with_room_for(self, n_best: int) -> "Translator":
        """Return a translator whose beam is wide enough, unless the caller has chosen the beam."""
        if self._beam_is_given or n_best <= self.search.beam:
            return self
        log.info(
            "%d translations of a line need a beam of %d, wider than the model's %d",
            n_best,
            n_best,
            self.search.beam,
        )
        translator = self._copy()
        translator.search = dataclasses.replace(self.search, beam=n_best)
        return translator

    def with_candidates(self, candidates: CandidateLists | None) -> "Translator":
        """Return a translator with the same models whose translations use these words only.

        :param candidates: the words of each sentence; None: all words.
        """
        translator = self._copy()
        translator._candidates = candidates
        return translator

    def with_tag(self, tag: str) -> "Translator":
        """Return a translator with the same models that puts a tag before each source line.

        A line that begins with one of the models' tags keeps its own.

        :param tag: one of the tags that the models were trained with, such as "<news>".
        :raises ConfigError: a model has no such tag; the message lists those that it has.
        """
        translator = self._copy()
        translator._ensemble = self._ensemble.with_tag(tag)
        likelihood = functools.partial(_term_likelihood, translator._ensemble)
        translator._term_likelihood = functools.cache(likelihood)
        return translator

    def with_replacements(self, table: Mapping[str, str] | None) -> "Translator":
        """Return a translator with the same models that replaces `<unk>` in its texts.

        Jean et al. 2015, section 3.4: each `<unk>` becomes the source word with the highest
        attention weight, `</s>` left out, or the table's entry for that word. Tokens and scores
        stay the model's.

        :param table: source word -> translation; empty: copy all; None: replace nothing.
        """
        translator = self._copy()
        translator._replacements = table
        return translator

    def with_terms(
        self, glossary: "Glossary | str | Path | None", mode: "TermsMode" = "strict"
    ) -> "Translator":
        """Return a translator with the same models that translates terms as a glossary says.

        :param glossary: the terms, or their file; None: none.
        :param mode: "strict": each occurrence of a term in a line has one of its translations, in
            every hypothesis; "soft": hypotheses that have it are preferred.
        :raises DataError: the file cannot be read, or a line is no entry.
        """
        from nmtkit.inference.terms import TermFinder, TermsMode  # rarely needed: start-up

        check_type(mode, TermsMode, "mode")

        if isinstance(glossary, str | Path):
            from nmtkit.text.glossary_file import read_glossary

            text = self._ensemble.first.config.text
            glossary = read_glossary(glossary, (text.src_language, text.tgt_language))
        translator = self._copy()
        translator._terms = None
        if glossary is not None:
            words = self._target_words()
            translator._terms = TermFinder(glossary, self._ensemble.first, mode, words)
        return translator

    def describe_missing(self, terms: Sequence[str]) -> str:
        """Return a sentence on the terms that a translation lacks.

        :param terms: as `Translation.missing_terms` has them.
        """
        from nmtkit.inference.terms import describe_missing  # rarely needed: start-up

        return describe_missing(terms, self._terms)

    def with_confidence(
        self, reverse: "Scorer | None" = None, folder: str | Path | None = None
    ) -> "Translator":
        """Return a translator with the same models whose translations have confidences.

        :param reverse: scorer of the other direction, if the calibration was made with it.
        :param folder: model folder with the calibration; by default that of the first model.
        :raises ModelError: `nmtkit calibrate` has left no calibration, it is damaged, or it is for
            other models or parameters.
        """
        from nmtkit.inference.confidence.estimator import ConfidenceEstimator  # start-up

        place = None if folder is None else Path(folder)
        return self.with_features(ConfidenceEstimator.load(self._ensemble, reverse, place))

    def with_features(self, reader: "FeatureReader | None") -> "Translator":
        """Return a translator with the same models whose translations a reader of features rates.

        :param reader: None: none.
        """
        translator = self._copy()
        translator._confidence = reader
        return translator

    @property
    def ensemble(self) -> Ensemble:
        """The models, optimised for search."""
        return self._ensemble

    @property
    def tgt_vocab(self) -> Vocabulary:
        """The target vocabulary."""
        return self._ensemble.first.tgt_vocab

    @property
    def window(self) -> int:
        """Number of lines to translate together."""
        return self._batch_size * WINDOW_BATCHES

    @check_arguments
    def translate(
        self,
        lines: Iterable[str],
        n_best: int = 1,
        tokenized: bool = False,
        alignments: bool = False,
        process_group: ProcessGroup = SINGLE_PROCESS,
        prefixes: Iterable[str] | None = None,
        **search: Unpack[SearchSettings],
    ) -> Iterator[list[Translation]]:
        """Translate lines, in the order given.

        :param lines: source text; a line that is empty or whitespace has an empty translation. A
            `LineStream` is translated as its lines arrive.
        :param n_best: translations of each line. The beam of the model's settings is widened to it;
            one that was asked for is not.
        :param tokenized: the lines are already tokenised, and the translations stay tokenised.
        :param alignments: also return alignments.
        :param process_group: shares the lines; rank 0 reads them and yields the results, the
            other ranks yield nothing.
        :param prefixes: one for each line, with which all its translations begin; it may end in
            the middle of a word. An empty one constrains nothing.
        :param search: fields of `SearchConfig` that differ from `self.search`, such as beam=5.
        :return: for each line its translations, best first: at least one, at most n_best.
        :raises ConfigError: n_best is larger than a beam that was asked for, or a setting is wrong.
        :raises DataError: there are more or fewer prefixes than lines.
        :raises ModelError: alignments are requested or needed, and no model has them.
        :raises TypeError: `lines` is a single string, or one of them is no string.
        """
        translator = self.with_search(**search) if search else self
        translator = translator._with_room_for(n_best)
        check_settings(translator.search, n_best)
        searcher = translator._window_search
        searcher.check_alignments(alignments)
        find = functools.partial(searcher.translations, n_best=n_best, alignments=alignments)
        return translator._translate_windows(
            lines, tokenized, process_group, searcher, find, prefixes=prefixes
        )

    @check_arguments
    def alternatives(
        self, source: str, prefix: str = "", n: PositiveInt = 5
    ) -> "list[Alternative]":
        """Return likely ways in which a translation goes on after a prefix.

        It is fast enough to be asked at every key: the source line of the last call stays encoded.
        Terms of a glossary are not considered.

        :param source: source text, one line.
        :param prefix: the beginning of the translation; it may end in the middle of a word.
        :param n: maximum number of different next words, or ends of the word that is begun.
        :return: the best translation with each of them, the best of all first; nothing for a blank
            line.
        :raises ConfigError: n is less than 1.
        """
        with one_thread_if(True):
            return self._alternatives_finder.find(source, prefix, n)

    @check_arguments
    def sample(
        self,
        lines: Iterable[str],
        n: PositiveInt = 1,
        seed: int = 1,
        tokenized: bool = False,
        alignments: bool = False,
        process_group: ProcessGroup = SINGLE_PROCESS,
        first_line: int = 1,
        temperature: float = 1.0,
        top_k: NaturalInt = 0,
        top_p: float = 1.0,
        **search: Unpack[SearchSettings],
    ) -> Iterator[list[Translation]]:
        """Draw translations of lines from the model's distribution, or one made from it.

        They have no confidences, as translations found by search were calibrated.

        :param lines: source text; see `translate`.
        :param n: samples of each line; the same one may come more than once.
        :param seed: the samples of a line depend on the seed and the line's number alone.
        :param tokenized: the lines are already tokenised, and the samples stay tokenised.
        :param alignments: give alignments.
        :param process_group: shares the lines; see `translate`.
        :param first_line: number of the first line.
        :param temperature: T in p^(1/T), normalised; below 1, probable tokens become more probable.
        :param top_k: draw from the k most probable tokens; 0: from all.
        :param top_p: draw from the most probable tokens whose probabilities sum to this share.
        :param search: fields of `SearchConfig` that differ from `self.search`.
        :return: for each line its samples, in the order drawn; errors: see `translate`.
        """
        translator = self.with_search(**search) if search else self
        translator = translator.with_features(None)  # which are of what search finds
        lines_together = self._batch_size * SAMPLES_TOGETHER // max(n, SAMPLES_TOGETHER)
        translator._batch_size = max(lines_together, 1)
        from nmtkit.inference.window_sampling import LineSeeds, sample_window  # start-up
        from nmtkit.search.sampling import SamplingConfig

        sampling = SamplingConfig(temperature, top_k, top_p)
        sampling.check()
        seeds = LineSeeds(seed, first_line)
        searcher = translator._window_search
        searcher.check_alignments(alignments)
        find = functools.partial(
            sample_window, searcher, n=n, seeds=seeds, alignments=alignments, sampling=sampling
        )
        return translator._translate_windows(lines, tokenized, process_group, searcher, find, n)

    def _translate_windows(
        self,
        lines: Iterable[str],
        tokenized: bool,
        process_group: ProcessGroup,
        searcher: WindowSearch,
        find: Find,
        copies: int = 1,
        prefixes: Iterable[str] | None = None,
    ) -> Iterator[list[Translation]]:
        """Translate window by window; see `translate_windows`."""
        windows = windows_with_prefixes(lines, self.window * process_group.size, prefixes)
        return translate_windows(
            windows,
            searcher,
            find,
            tokenized,
            process_group,
            self.lines_done,
            self._batch_size,
            copies,
        )

    @property
    def _window_search(self) -> WindowSearch:
        """Return what searches a window with these settings."""
        return WindowSearch(
            self._ensemble,
            self.search,
            self._candidates,
            self._terms,
            self._term_likelihood,
            self._prefix_finder,
            self._replacements,
            self._confidence,
        )

    @functools.cached_property
    def _alternatives_finder(self) -> "AlternativesFinder":
        from nmtkit.inference.alternatives import AlternativesFinder  # rarely needed: start-up

        finder = self._prefix_finder()
        return AlternativesFinder(self._ensemble, self.search, finder, self._candidates)

    def __getstate__(self) -> None:
        """Refuse to be pickled, as matrices that are packed for a processor cannot be."""
        raise TypeError("a Translator cannot be pickled; load it in each process")

    def _copy(self) -> "Translator":
        """Return a translator with the same models, whose settings may be changed."""
        translator = object.__new__(Translator)
        vars(translator).update(vars(self))
        vars(translator).pop("_alternatives_finder", None)  # knows the settings
        return translator


def _prefix_finder(ensemble: Ensemble) -> "PrefixFinder":
    from nmtkit.inference.prefixes import PrefixFinder  # rarely needed: start-up

    return PrefixFinder(ensemble.first)


def _target_words(ensemble: Ensemble) -> "TargetWords":
    from nmtkit.inference.target_words import TargetWords  # rarely needed: start-up

    return TargetWords(ensemble.first)


def _term_likelihood(ensemble: Ensemble) -> "TermLikelihood":
    from nmtkit.inference.term_likelihood import TermLikelihood  # rarely needed: start-up

    return TermLikelihood(ensemble)
