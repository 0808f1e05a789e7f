"""Every file reader of nmtkit as a fuzzing target: a sample file and a function that reads it.

The law: whatever the file contains, a reader returns a result or raises an NmtkitError, one line
that names the file. A filter writes one line for each line that it reads. Any other exception is
a fault. So is unlimited use of memory or time; the callers set those limits.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from nmtkit.cli.main import cli
from nmtkit.data.corpus import Corpus
from nmtkit.data.manifest import read_manifest
from nmtkit.errors import DataError, ModelError, NmtkitError
from nmtkit.evaluation.aer import alignment_error_rate, read_gold_links
from nmtkit.evaluation.metrics import evaluate
from nmtkit.inference.random_segmenter import random_lengths
from nmtkit.inference.stream_batching import LineStream
from nmtkit.io.bitext import read_bitext
from nmtkit.io.checksums import with_checksum
from nmtkit.io.compression import compression_of
from nmtkit.io.lines import (
    decode_line,
    file_sha256,
    read_lines,
    read_parallel,
    read_raw_lines,
    read_text_blocks,
)
from nmtkit.io.vectors import read_vectors
from nmtkit.model_folder import build_model, load_model, read_vocabularies
from nmtkit.preprocessing.cross_entropy import SelectSettings
from nmtkit.preprocessing.prepare import prepare
from nmtkit.preprocessing.select import select
from nmtkit.preprocessing.settings import PrepareSettings
from nmtkit.smt.mira import MiraConfig
from nmtkit.smt.nbest import read_nbest
from nmtkit.smt.phrase_sampling import PhraseSamplingConfig, sample_phrase_table
from nmtkit.smt.phrase_table import read_phrase_blocks, read_phrase_table
from nmtkit.smt.reranker import AverageScorer, OracleScorer, Reranker, WeightedScorer, total_scores
from nmtkit.smt.tuner import tune
from nmtkit.smt.weights import read_weights
from nmtkit.text.lexicon import Lexicon, best_translations
from nmtkit.text.subword.bpe import BPE, undo_bpe
from nmtkit.text.subword.pieces import read_pieces
from nmtkit.text.subword.sentence_piece import SentencePiece
from nmtkit.text.vocabulary import Vocabulary, shortlist_of
from nmtkit.training.checkpoint import load_checkpoint
from nmtkit.training.learning_curve import read_curve
from nmtkit.training.metrics_logger import MetricsLogger
from nmtkit.training.progress import Progress
from nmtkit.training.provenance import read_provenance
from nmtkit.training.settings import make_config
from nmtkit.training.train import train
from tests.faults import sample_files

REFERENCES = ["a b", "b", "ab b", "a", "b"]
SAMPLE_WORDS = ["a", "ab", "ba@@", "<unk>", "</s>", "é", "x" * 50, "\u2028"]


@dataclass(frozen=True)
class Reader:
    """A fuzzing target.

    name: of the target.
    file: the file whose content is replaced, relative to the folder of sample files.
    read: reads it; called with the folder of sample files.
    large: a file of some megabytes is read in less than a second.
    names_file: errors name the file.
    """

    name: str
    file: str
    read: Callable[[Path], object]
    large: bool = True
    names_file: bool = True


class Fault(AssertionError):
    """A reader broke the law."""


def accepts(reader: Reader, folder: Path, content: bytes) -> bool:
    """Return whether a reader accepts this content, and restore the sample file.

    :param folder: the sample files.
    :raises Fault: the reader broke the law.
    """
    path = folder / reader.file
    valid = path.read_bytes()
    path.write_bytes(content)
    try:
        reader.read(folder)
    except NmtkitError as error:
        message = str(error)
        if reader.names_file and path.name not in message:
            raise Fault(f"{reader.name}: the message does not name the file: {message}") from error
        if len(message) > 2000:
            raise Fault(f"{reader.name}: a message of {len(message)} characters") from error
        return False
    except Fault:
        raise
    except Exception as error:
        raise Fault(f"{reader.name}: {type(error).__name__}: {str(error)[:200]}") from error
    finally:
        path.write_bytes(valid)
    return True


def _lines(folder: Path) -> None:
    path = folder / "text.src"
    raw = path.read_bytes()
    count = _line_count(raw)
    lines = list(read_raw_lines(path))
    if compression_of(raw):
        count = len(lines)
    if len(lines) != count:
        raise Fault(f"{len(lines)} of {count} lines were read")
    if sum(map(len, LineStream(path).windows(3))) != count:
        raise Fault("LineStream has another number of lines")
    if len(file_sha256(path)) != 64:
        raise Fault("the SHA-256 sum does not have 64 digits")
    for number, line in enumerate(lines, start=1):
        decode_line(line, path, number)
    if list(read_lines(path)) != "".join(read_text_blocks(path, 2)).split("\n")[:-1]:
        raise Fault("read_text_blocks has other lines than read_lines")
    list(read_parallel(path, path))


def _line_count(text: bytes) -> int:
    """Return the number of lines; a last one without a line feed counts unless it is empty.

    Byte order marks at the beginning of a line, which are taken off, are no line.
    """
    last = text.rpartition(b"\n")[2]
    return text.count(b"\n") + bool(re.sub(rb"\A(\xef\xbb\xbf)+", b"", last))


def _compressed(name: str) -> Callable[[Path], object]:
    def read(folder: Path) -> None:
        path = folder / name
        lines = list(read_lines(path))
        if [line for window in LineStream(path).windows(3) for line in window] != lines:
            raise Fault("LineStream has other lines")

    return read


def _bitext(name: str) -> Callable[[Path], object]:
    def read(folder: Path) -> None:
        for block in read_bitext([folder / name], ("en", "fr"), size=2):
            if not 0 < len(block.src) == len(block.tgt) == len(block.numbers) <= 2:
                raise Fault("sides of different length")
            if any(b"\n" in line for line in (*block.src, *block.tgt)):
                raise Fault("a line with a newline")

    return read


def _vocabulary(name: str) -> Callable[[Path], object]:
    def read(folder: Path) -> None:
        vocabulary = Vocabulary.load(folder / name)
        if vocabulary.words[:2] != ("</s>", "<unk>"):
            raise Fault("the special words are missing")
        for word in vocabulary.words[2:50]:
            if vocabulary.tokens(vocabulary.ids([word])) != [word]:
                raise Fault(f"the word {word!r} does not round-trip through its id")
        (folder / "saved").unlink(missing_ok=True)
        vocabulary.save(folder / "saved")
        if Vocabulary.load(folder / "saved").words != vocabulary.words:
            raise Fault("the vocabulary changed when it was saved and loaded")

    return read


def _shortlist(folder: Path) -> None:
    shortlist_of(folder / "text.src", 5)


def _bpe_codes(folder: Path) -> None:
    bpe = BPE.load(folder / "codes")
    for word in SAMPLE_WORDS:
        if undo_bpe(bpe.apply([word])) != [word]:
            raise Fault(f"{word!r} is not restored from its pieces")
    (folder / "saved").unlink(missing_ok=True)
    bpe.save(folder / "saved")
    if BPE.load(folder / "saved").merges != bpe.merges:
        raise Fault("the merges changed when they were saved and loaded")


def _sentence_piece(folder: Path) -> None:
    model = SentencePiece.load(folder / "sentencepiece")
    for word in SAMPLE_WORDS:
        if not all(model.apply([word, word])):
            raise Fault(f"{word!r} has an empty piece")
        model.normalization.origins(word)


def _pieces(folder: Path) -> None:
    read_pieces(folder / "pieces")


def _settings(folder: Path) -> None:
    make_config(config_file=folder / "settings.toml")


def _model(folder: Path) -> None:
    from nmtkit.inference.ensemble import Ensemble
    from nmtkit.inference.translator import Translator

    loaded = load_model(folder / "model", "cpu")
    translator = Translator(Ensemble((loaded,))).with_search(
        beam=2, max_length_ratio=3.0, min_length_ratio=0.0, length_penalty=1.0, penalty="power"
    )
    if len(list(translator.translate(["a b", "", "x"]))) != 3:
        raise Fault("a line is missing")


def _language_model(folder: Path) -> None:
    load_model(folder / "lm", "cpu")


def _checkpoint(folder: Path) -> None:
    model = build_model(sample_files.CONFIG, 8, 8)
    load_checkpoint(
        folder / "training/checkpoints/00000003", model, sample_files.new_optimizer(model)
    )


def _checkpoint_with_valid_sums(folder: Path) -> None:
    """Load a checkpoint whose checksums were recomputed, as an attacker could do."""
    checkpoint = folder / "training/checkpoints/00000003"
    original = (checkpoint / "state.json").read_bytes()
    state = json.loads(original)
    del state["sha256"]
    state["sums"] = {name: file_sha256(checkpoint / name) for name in state["sums"]}
    (checkpoint / "state.json").write_text(json.dumps(with_checksum(state)))
    try:
        _checkpoint(folder)
    finally:
        (checkpoint / "state.json").write_bytes(original)


def _manifest(folder: Path) -> None:
    read_manifest(folder / "prepared")


def _training(folder: Path) -> None:
    sizes = ["model.embedding=4", "model.hidden=4", "model.align=3", "model.maxout=2"]
    limits = ["training.max_updates=1", "training.validate_every=1", "training.dev_bleu=false"]
    output = folder / "trained"
    train(folder / "prepared", output, "toy", overrides=[*sizes, *limits], device="cpu", force=True)


def _corpus(folder: Path) -> None:
    """Open a prepared corpus, whose binarised files are rebuilt if they do not match the text."""
    corpus = Corpus.open(folder / "prepared", "train", read_vocabularies(folder / "prepared"))
    for number in range(len(corpus)):
        ids = corpus.src[number]
        if not len(ids) or ids[-1] or ids.max() > 7:
            raise Fault("invalid ids in a sentence")
    corpus.src.lengths(np.arange(len(corpus)))


def _phrase_table(folder: Path) -> None:
    path = folder / "table"
    lines = list(read_raw_lines(path))
    pairs = list(read_phrase_table(path))
    for pair, line in zip(pairs, lines, strict=True):
        if pair.with_scores([]) != line or not pair.with_scores(["1"]):
            raise Fault("a line of the phrase table changed")
    if sum(len(blocks[0]) for blocks in read_phrase_blocks(2, path, any_bytes=True)) != len(lines):
        raise Fault("phrase pairs are missing from the blocks")


def _phrase_sampling(folder: Path) -> None:
    path = folder / "table"
    sample_phrase_table(read_phrase_table(path), path, PhraseSamplingConfig(min_words=1, top=1))


def _phrase_scores(folder: Path) -> None:
    from nmtkit.smt.phrase_scorer import PhraseScorer

    path = folder / "table"
    scorer = PhraseScorer.load(folder / "model", device="cpu", count_unknown=True)
    if len(list(scorer.lines(read_phrase_table(path)))) != len(list(read_raw_lines(path))):
        raise Fault("a line is missing")


def _rescoring(folder: Path) -> None:
    from nmtkit.smt.rescorer import Rescorer

    path = folder / "list"
    rescorer = Rescorer.load(folder / "model", folder / "lm", device="cpu", count_unknown=True)
    sources = list(read_lines(folder / "text.src"))
    if len(list(rescorer.rescore(read_nbest(path), sources))) != len(list(read_raw_lines(path))):
        raise Fault("a line is missing")


def _nbest_list(folder: Path) -> None:
    for entry in read_nbest(folder / "list"):
        entry.with_feature("NEW0", -1.0).with_total(2.0)
        list(entry.features.values())


def _reranking(folder: Path) -> None:
    weights = read_weights(folder / "weights")
    scorers = (
        total_scores,
        AverageScorer(["LM0"]),
        WeightedScorer(weights),
        OracleScorer(REFERENCES),
    )
    faults = []
    for scorer in scorers:
        try:
            groups = list(Reranker(scorer).rerank(read_nbest(folder / "list"), 5))
        except DataError as error:
            faults.append(error)
            continue
        if len(groups) != 5:
            raise Fault("a sentence is missing")
    if faults:
        raise faults[0]


def _tuning(folder: Path) -> None:
    start = read_weights(folder / "weights")
    tune(read_nbest(folder / "list"), REFERENCES, start, MiraConfig(epochs=2))


def _gold_links(name: str) -> Callable[[Path], object]:
    def read(folder: Path) -> None:
        gold = read_gold_links(read_lines(folder / name), name, sentences=5)
        if len(gold) == 5:
            alignment_error_rate([{(0, 0)}] * 5, gold)

    return read


def _lexicon(name: str) -> Callable[[Path], object]:
    def read(folder: Path) -> None:
        path = folder / name
        faults = []
        for load in (
            lambda: Lexicon.load(path, Vocabulary.load(folder / "words"), 1, 2).candidates(["a"]),
            lambda: best_translations(path),
        ):
            try:
                load()
            except DataError as error:
                faults.append(error)
        if faults:
            raise faults[0]

    return read


def _segments(folder: Path) -> None:
    random_lengths(folder / "segments", 20)


def _metrics(folder: Path) -> None:
    logger = MetricsLogger(folder, sample_files.CONFIG.training, float)
    logger.resume(Progress(updates=3))


def _curve(folder: Path) -> None:
    read_curve(folder)


def _vectors(folder: Path) -> None:
    texts, rows = read_vectors(folder / "vectors")
    if len(texts) != len(rows) or not np.isfinite(rows).all():
        raise Fault("a vector is missing or not finite")


def _provenance(folder: Path) -> None:
    read_provenance(folder)


def _evaluation(folder: Path) -> None:
    lines = list(read_lines(folder / "text.src"))
    evaluate(lines, (REFERENCES * (len(lines) // 5 + 1))[: len(lines)], ("text.src", "references"))


def _prepare(settings: PrepareSettings, name: str = "text") -> Callable[[Path], object]:
    def read(folder: Path) -> None:
        files = (folder / f"{name}.src", folder / "text.tgt")
        manifest = prepare(settings, folder / "output", files, dev=files, force=True)
        for side in ("src", "tgt"):
            lines = sum(1 for _ in read_raw_lines(folder / f"output/dev.{side}"))
            if lines != manifest["splits"]["dev"]["pairs"]:
                raise Fault("the number of dev lines is not the one in the manifest")

    return read


def _prepare_phrase_table(folder: Path) -> None:
    text = replace(sample_files.TEXT, subwords="none")
    prepare(PrepareSettings(text), folder / "output", (folder / "table",), force=True)


def _selection(folder: Path) -> None:
    pool, domain = (folder / "text.src", folder / "text.tgt"), (folder / "words", folder / "words")
    text = replace(sample_files.TEXT, subwords="none")
    output = (folder / "selected.src", folder / "selected.tgt")
    select(SelectSettings(text, order=2, pairs=2), [pool], output, domain, force=True)


def _command(*arguments: str, count_lines: bool = True) -> Callable[[Path], object]:
    """Return a function that runs an nmtkit command with text.src as its stdin.

    :param arguments: FOLDER stands for the folder of sample files.
    :param count_lines: check that there is one line of output for each line of input.
    """

    def read(folder: Path) -> None:
        stdin = (folder / "text.src").read_bytes()
        words = [word.replace("FOLDER", str(folder)) for word in arguments]
        result = CliRunner().invoke(cli, words, stdin, prog_name="nmtkit")
        if not isinstance(result.exception, SystemExit | None):
            raise result.exception
        if result.exit_code == 1:
            last = result.stderr.splitlines()[-1]
            if "Traceback" in result.stderr or not last.startswith("nmtkit: error: "):
                raise Fault(result.stderr[-200:]) from result.exception
            raise ModelError(last)
        if result.exit_code:
            raise Fault(f"status {result.exit_code}: {result.stderr[-200:]}")
        lines = _line_count(stdin)
        written = result.stdout_bytes.count(b"\n")
        if count_lines and written != lines:
            raise Fault(f"{written} lines of output for {lines} lines of input")

    return read


CHECKPOINT = "training/checkpoints/00000003"
RAW, TOKENS = (
    replace(sample_files.TEXT, tokenized=False, subwords="none"),
    replace(sample_files.TEXT, subwords="none"),
)
JOINT = replace(sample_files.TEXT, subwords="joint")


def _readers() -> Iterator[Reader]:
    yield Reader("lines", "text.src", _lines)
    for suffix in ("gz", "bz2", "xz", "zst"):
        yield Reader(f"lines-{suffix}", f"text.{suffix}", _compressed(f"text.{suffix}"))
    for form in ("tsv", "tmx", "zip"):
        yield Reader(f"bitext-{form}", f"bitext.{form}", _bitext(f"bitext.{form}"))
    yield Reader("vocabulary", "words", _vocabulary("words"))
    yield Reader("word-list", "plain-words", _vocabulary("plain-words"))
    yield Reader("shortlist", "text.src", _shortlist)
    yield Reader("bpe-codes", "codes", _bpe_codes)
    yield Reader("sentencepiece", "sentencepiece", _sentence_piece)
    yield Reader("pieces", "pieces", _pieces)
    yield Reader("settings", "settings.toml", _settings)
    yield Reader("model-config", "model/config.toml", _model)
    yield Reader("model-vocabulary", "model/vocab.src", _model, names_file=False)
    yield Reader("model-bpe", "model/bpe.src", _model)
    yield Reader("model-parameters", "model/params.best.safetensors", _model)
    yield Reader("language-model-config", "lm/config.toml", _language_model)
    yield Reader("checkpoint-state", f"{CHECKPOINT}/state.json", _checkpoint, names_file=False)
    for name in ("state", "params"):
        file = f"{CHECKPOINT}/{name}.safetensors"
        yield Reader(
            f"checkpoint-tensors-{name}", file, _checkpoint_with_valid_sums, names_file=False
        )
    yield Reader("manifest", "prepared/manifest.json", _manifest)
    for part in ("json", "offsets", "ids"):
        file = f"prepared/train.src.{sample_files.VOCABULARY_KEY}.{part}"
        yield Reader(f"corpus-{part}", file, _corpus, names_file=part == "ids")
    yield Reader("corpus-text", "prepared/train.src", _corpus, names_file=False)
    for name in ("manifest.json", "vocab.src", "bpe.tgt", "dev.tgt", "train.src"):
        yield Reader(
            f"training-{name}", f"prepared/{name}", _training, large=False, names_file=False
        )
    yield Reader("phrase-table", "table", _phrase_table)
    yield Reader("phrase-choice", "table", _phrase_sampling)
    yield Reader("phrase-scores", "table", _phrase_scores, large=False)
    yield Reader("prepared-phrase-table", "table", _prepare_phrase_table)
    yield Reader("n-best-list", "list", _nbest_list)
    yield Reader("rescoring", "list", _rescoring, large=False)
    yield Reader("reranking", "list", _reranking)
    yield Reader("reranking-weights", "weights", _reranking)
    yield Reader("tuning", "list", _tuning, names_file=False)
    yield Reader("tuning-weights", "weights", _tuning, names_file=False)
    yield Reader("gold-links", "gold", _gold_links("gold"))
    yield Reader("gold-links-naacl", "gold.naacl", _gold_links("gold.naacl"))
    yield Reader("lexicon", "lexicon", _lexicon("lexicon"))
    yield Reader("lexicon-of-logarithms", "lexicon.log", _lexicon("lexicon.log"))
    yield Reader("segments", "segments", _segments)
    yield Reader("metrics", "metrics.jsonl", _metrics)
    yield Reader("learning-curve", "metrics.jsonl", _curve)
    yield Reader("vectors", "vectors", _vectors)
    yield Reader("origin", "origin.json", _provenance)
    yield Reader("evaluation", "text.src", _evaluation, large=False)
    yield Reader("prepare-raw", "text.src", _prepare(PrepareSettings(RAW)), False, False)
    yield Reader("prepare-tokens", "text.src", _prepare(PrepareSettings(TOKENS)), names_file=False)
    drop_invalid = PrepareSettings(JOINT, merges=5, invalid="drop", dedup=True)
    yield Reader("prepare-bpe", "text.src", _prepare(drop_invalid), names_file=False)
    yield Reader("selection", "text.src", _selection, names_file=False)
    yield from _filters()


def _filters() -> Iterator[Reader]:
    """Yield the commands that read stdin and write stdout."""
    model = ("-m", "FOLDER/model", "--device", "cpu", "--threads", "1")
    for name, arguments in {
        "translate": ("translate", *model),
        "translate-list": ("translate", *model, "--tokenized", "--scores", "--replace-unk", "copy"),
        "score": ("score", *model, "-", "FOLDER/text.src"),
        "score-text": ("score", "-m", "FOLDER/lm", "--device", "cpu", "-"),
        "align": ("align", *model, "-", "FOLDER/text.src"),
        "align-soft": ("align", *model, "--soft", "FOLDER/text.src", "-"),
    }.items():
        yield Reader(name, "text.src", _command(*arguments), large=False, names_file=False)
    for table in ("--candidates", "--replace-unk"):
        name = f"translate{table[1:]}"
        command = _command("translate", *model, table, "FOLDER/lexicon")
        yield Reader(name, "lexicon", command, large=False)


READERS = tuple(_readers())
