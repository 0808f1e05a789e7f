"""The Python API of data preparation, with settings as keyword arguments.

from nmtkit import build_shortlist, prepare
prepare(
    train=("train.en", "train.fr"), dev=("dev.en", "dev.fr"), output="prepared",
    src_language="en", tgt_language="fr", bpe=8000,
)
build_shortlist("prepared", 30_000)
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nmtkit.config import TextConfig
from nmtkit.errors import ConfigError, refuse_string
from nmtkit.preprocessing import prepare as _prepare
from nmtkit.preprocessing.leakage import LeakagePolicy
from nmtkit.preprocessing.prepare import Bitext, TrainingData
from nmtkit.preprocessing.rules import Preset, RuleValue, rule_limits
from nmtkit.preprocessing.segmentation import Segmentation, SubwordChoice, TokenizerChoice
from nmtkit.preprocessing.settings import AUTO, PrepareSettings
from nmtkit.preprocessing.shortlists import write_shortlists
from nmtkit.preprocessing.text_switches import switches_asked, text_switches
from nmtkit.text.vocabulary import Shortlist
from nmtkit.value_types import NaturalInt, PositiveInt, check_arguments

if TYPE_CHECKING:
    from nmtkit.preprocessing.select import Bitext as TwoFiles
    from nmtkit.preprocessing.select import Selection


@check_arguments
def prepare(
    train: TrainingData,
    output: str | Path,
    dev: Bitext | None = None,
    tests: Mapping[str, Bitext] | None = None,
    *,
    columns: tuple[int, int] = (1, 2),
    src_language: str = "",
    tgt_language: str = "",
    like: str | Path | None = None,
    tokenized: bool = False,
    hyphens: bool = False,
    escape: bool = False,
    nfc: bool | None = None,
    punctuation: bool = False,
    protected: bool | None = None,
    joiners: bool | None = None,
    case: Literal["keep", "truecase", "markers"] = "keep",
    copy_names: bool | None = None,
    markup: Literal["none", "html", "xml"] = "none",
    tokenizer: TokenizerChoice = "auto",
    subword: SubwordChoice = "auto",
    subword_size: NaturalInt = 0,
    bpe: NaturalInt = 0,
    bpe_codes: Sequence[str | Path] = (),
    bpe_separate: bool = False,
    glossaries: Sequence[str] = (),
    vocabulary_threshold: int | None = None,
    max_length: PositiveInt = 100,
    max_ratio: float = 9.0,
    dedup: bool = False,
    near_dedup: Literal["", "both", "src", "tgt"] = "",
    clean: Preset = "safe",
    rules: Mapping[str, RuleValue] | None = None,
    leakage: LeakagePolicy = "report",
    invalid: Literal["error", "drop"] = "error",
    held_out: NaturalInt = 0,
    workers: PositiveInt = 1,
    force: bool = False,
    language_check: bool = True,
    dry_run: bool = False,
) -> dict[str, Any]:
    """Prepare raw parallel text into a folder of tokenised, cleaned text, as `nmtkit prepare` does.

    :param train: source file and target file; or a list of several corpora, each a pair of files or
        a `TrainingCorpus` with name, weight and tag; or a phrase table in a tuple of one.
    :param output: the folder to write, completely or not at all.
    :param dev: source file and target file, or one file that holds both (TSV, TMX, OPUS's zip).
    :param tests: test sets by name.
    :param columns: columns of source and target in `dev` and `tests` that are TSV files; a
        `TrainingCorpus` has its own.
    :param src_language: source language, a code of ISO 639 such as "de", which may be followed by
        script or region ("zh-Hant"); it chooses the tokenisation rules.
    :param tgt_language: target language.
    :param like: folder of a model whose training is to go on with these data: languages, all
        settings of text and subwords, and the vocabularies are that model's, and are not given.
    :param tokenized: the text is already tokenised.
    :param hyphens: split words at hyphens (`well @-@ known`).
    :param escape: write & ' " | < > [ ] as XML entities, as Moses does.
    :param nfc: normalise to Unicode's form NFC. None: unless the text is tokenised.
    :param punctuation: normalise punctuation as Moses does.
    :param protected: keep tags, addresses, placeholders and the like whole. None: unless the text
        is tokenised.
    :param joiners: mark spacing that detokenisation would not restore. None: unless the text is
        tokenised.
    :param case: "truecase" learns and applies Moses's truecasing; "markers" writes small letters,
        with tokens before words with capitals.
    :param copy_names: let placeholders stand for names and numbers that are rare in the training
        data, so that translations copy them. None: if BPE splits raw text with capitals.
    :param markup: let symbols stand for inline markup, so that models learn where it goes; that of
        pairs whose sides have not the same elements is left out.
    :param tokenizer: "moses", or "none": whitespace separates words, or, with SentencePiece, lines
        are split as they are; "auto" chooses by the script of the text.
    :param subword: "bpe", "sentencepiece", "none", or "auto": by the script of the text.
    :param subword_size: BPE merges or SentencePiece pieces to learn; 0: by the number of pairs.
    :param bpe: BPE merges to learn; short for `subword="bpe"` and `subword_size`.
    :param bpe_codes: files of BPE merges to apply instead: one for both sides, or one per side.
    :param bpe_separate: learn subwords on each side alone.
    :param glossaries: regular expressions; BPE does not split what they match.
    :param vocabulary_threshold: a piece that is rarer in its side is split again; by default 1 if
        subwords are learned, so that no text has pieces that its side never had.
    :param max_length: maximum number of words on either side of a training pair.
    :param max_ratio: maximum ratio between the numbers of words of the two sides.
    :param dedup: drop repeated training pairs.
    :param near_dedup: drop training pairs that differ from an earlier one only in case, digits,
        punctuation and whitespace, on "both" sides together, "src" or "tgt".
    :param clean: rules by which training pairs are dropped besides: "safe" ones, which drop
        practically no good pair; "strict" ones; or "none".
    :param rules: rules that differ from `clean`, by name: a limit, True for the rule's own limit,
        False for no such rule. `nmtkit.preprocessing.rules.RULES` lists them.
    :param leakage: what is done with training pairs that also stand in `dev` or `tests`: "report"
        them; "drop" those that stand there as a pair; "drop-any" also those with one side there.
    :param invalid: "error" refuses a line that is not UTF-8; "drop" drops its training pair.
    :param held_out: training pairs to move to a dev set.
    :param workers: processes that share the work; the result is the same for any number.
    :param force: replace an earlier prepared folder.
    :param language_check: look first whether the text is in the scripts and languages named; the
        languages need the package py3langid.
    :param dry_run: write only the report of cleaning into the folder: `cleaning.html`,
        `dropped.tsv.gz`, and `cleaning.json` with what is returned.
    :return: the manifest: every setting, checksum and count.
    :raises NmtkitError: settings contradict each other, or a file cannot be used or written.
    :raises TypeError: a string is passed instead of a pair of files.
    """
    for name, files in {"train": train, "dev": dev, **(tests or {})}.items():
        refuse_string(files, name)
    is_table = isinstance(train, tuple) and len(train) == 1
    if like is not None:
        _refuse_text_settings(locals())
    segmentation = Segmentation(
        "none" if is_table and tokenizer == AUTO else tokenizer,
        "none"
        if is_table and subword == AUTO and not (subword_size or bpe or bpe_codes)
        else subword,
        subword_size,
        bpe,
        [str(path) for path in bpe_codes],
        bpe_separate,
        tokenized,
        glossaries,
        vocabulary_threshold,
    )
    words_split = segmentation.words_split and case != "markers"
    text = TextConfig(
        src_language=src_language,
        tgt_language=tgt_language,
        hyphens=hyphens,
        escape=escape,
        **text_switches(segmentation.words_given, words_split, nfc, protected, joiners, copy_names),
        punctuation=punctuation,
        case=case,
        markup=markup,
        **segmentation.text_settings(),
    )
    settings = PrepareSettings(
        text=text,
        max_length=max_length,
        max_ratio=max_ratio,
        dedup=dedup,
        near_dedup=near_dedup,
        rules=rule_limits(clean, rules or {}),
        leakage=leakage,
        **segmentation.subword_settings(),
        invalid=invalid,
        held_out=held_out,
        asked=switches_asked(
            hyphens=hyphens,
            escape=escape,
            nfc=nfc,
            protected=protected,
            joiners=joiners,
            copy_names=copy_names,
        ),
        like="" if like is None else str(like),
    )
    return _prepare.prepare(
        settings, output, train, dev, tests, workers, force, language_check, dry_run, columns
    )


@check_arguments
def build_shortlist(
    folder: str | Path,
    size: int = 30_000,
    *,
    src_size: int | None = None,
    tgt_size: int | None = None,
    force: bool = False,
) -> tuple[Shortlist, Shortlist]:
    """Write the shortlists of a prepared folder: its most frequent words as vocabularies.

    :param folder: the prepared folder.
    :param size: vocabulary size on each side, `</s>` and `<unk>` counted.
    :param src_size: size on the source side, if it differs.
    :param tgt_size: size on the target side, if it differs.
    :param force: replace existing vocabularies.
    :return: the shortlists of source and target with their coverage.
    :raises DataError: the folder is not a prepared one, or a size is below 3.
    :raises OutputError: a vocabulary exists and `force` is not given, or cannot be written.
    """
    src_size = size if src_size is None else src_size
    tgt_size = size if tgt_size is None else tgt_size
    return write_shortlists(folder, src_size, tgt_size, force)


@check_arguments
def select(
    pool: "Sequence[TwoFiles]",
    output: "TwoFiles",
    domain: "TwoFiles | None" = None,
    dev: "TwoFiles | None" = None,
    *,
    pairs: NaturalInt = 0,
    words: NaturalInt = 0,
    side: Literal["both", "src", "tgt"] = "both",
    src_language: str,
    tgt_language: str,
    tokenized: bool = False,
    order: int = 4,
    seed: int = 1,
    invalid: Literal["error", "drop"] = "error",
    lms: tuple[Sequence[str], Sequence[str]] | None = None,
    scores: str | Path | None = None,
    workers: PositiveInt = 1,
    force: bool = False,
) -> "Selection":
    """Select the pairs of a general corpus that are most like a domain, as `nmtkit select` does.

    Pairs are ranked by cross-entropy difference (Axelrod et al. 2011).

    :param pool: pairs of files, source and target, to select from.
    :param output: source file and target file to write.
    :param domain: pairs like those to select.
    :param dev: held-out pairs of the domain, to find the best cutoff; instead of `pairs`, `words`.
    :param pairs: maximum number of selected pairs.
    :param words: maximum number of their words, instead of `pairs`.
    :param side: side whose cross-entropies are compared.
    :param src_language: source language, a code of ISO 639 such as "de", which may be followed by
        script or region ("zh-Hant"); it chooses the tokenisation rules.
    :param tgt_language: target language.
    :param tokenized: the text is already tokenised.
    :param order: order of the n-gram language models.
    :param seed: seed of the sample of the pool that the general model is trained on.
    :param invalid: "error" refuses a line that is not UTF-8; "drop" drops its pair.
    :param lms: KenLM models of the domain and of general text, one for each side compared.
    :param scores: file to write with the score of every pair of the pool.
    :param workers: processes that share the work; the result is the same for any number.
    :param force: replace existing output.
    :return: the numbers of selected pairs and words, and the cutoff.
    :raises NmtkitError: settings contradict each other, or a file cannot be used or written.
    :raises TypeError: a string is passed instead of a pair of files.
    """
    from nmtkit.preprocessing import select as _select  # imports numpy, which few steps need

    refuse_string(pool, "pool")
    files_by_name = {"output": output, "domain": domain, "dev": dev}
    for name, files in [*files_by_name.items(), *(("each of pool", files) for files in pool)]:
        refuse_string(files, name)
    text = TextConfig(src_language=src_language, tgt_language=tgt_language, tokenized=tokenized)
    settings = _select.SelectSettings(text, side, order, seed, invalid, pairs, words)
    return _select.select(settings, pool, output, domain, dev, lms, scores, workers, force)


def _refuse_text_settings(arguments: Mapping[str, Any]) -> None:
    """Raise ConfigError if settings of text are given beside a model that has them.

    :param arguments: those of `prepare`, by name.
    """
    names = {field.name for field in fields(TextConfig)} | {
        *("tokenizer", "subword", "subword_size", "bpe", "bpe_codes", "bpe_separate")
    }
    for name, parameter in signature(prepare).parameters.items():
        if name in names and arguments[name] != parameter.default:
            raise ConfigError(
                f"{name} is a setting of the model in {arguments['like']}; leave it or `like` out"
            )
