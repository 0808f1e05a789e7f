"""Every reader of nmtkit: a file of the workshop, and what is done with it.

The law: whatever is in the file, a reader gives a result or raises an NmtkitError, one sentence
that names the file. A filter has a line of output for each line of input. Anything else that is
raised is a fault, and so is memory or time without end, which who calls this limits.
"""

import json
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
from nmtkit.inference.segmenter import random_lengths
from nmtkit.inference.stream_batching import LineStream
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
from nmtkit.preprocessing.cleaning import PrepareSettings
from nmtkit.preprocessing.cross_entropy import SelectSettings
from nmtkit.preprocessing.prepare import prepare
from nmtkit.preprocessing.select import select
from nmtkit.smt.mira import MiraConfig
from nmtkit.smt.nbest import read_nbest
from nmtkit.smt.phrase_sampling import PhraseSamplingConfig, sample_phrase_table
from nmtkit.smt.phrase_table import read_phrase_blocks, read_phrase_table
from nmtkit.smt.reranker import AverageScorer, OracleScorer, Reranker, WeightedScorer, total_scores
from nmtkit.smt.tuner import tune
from nmtkit.smt.weights import read_weights
from nmtkit.text.lexicon import Lexicon, best_translations
from nmtkit.text.subword.bpe import BPE, undo_bpe
from nmtkit.text.vocabulary import Vocabulary, shortlist_of
from nmtkit.training.checkpoint import load_checkpoint
from nmtkit.training.learning_curve import read_curve
from nmtkit.training.metrics_logger import MetricsLogger
from nmtkit.training.provenance import read_provenance
from nmtkit.training.train import make_config, train
from tests.faults import workshop

REFERENCES = ["a b", "b", "ab b", "a", "b"]
WORDS_OF_TEXT = ["a", "ab", "ba@@", "<unk>", "</s>", "é", "x" * 50, "\u2028"]


@dataclass(frozen=True)
class Reader:
    """A reader.

    name: of the fuzzing target.
    file: what is hostile, a path in the workshop.
    read: gets the workshop.
    large: it takes files of megabytes in less than a second.
    names: its errors name the file.
    """

    name: str
    file: str
    read: Callable[[Path], object]
    large: bool = True
    names: bool = True


class Fault(AssertionError):
    """A reader has broken the law."""


def tried(reader: Reader, folder: Path, content: bytes) -> bool:
    """Let a reader read this content; whether it took it.

    :raises Fault: it broke the law.
    """
    path = folder / reader.file
    sound = path.read_bytes()
    path.write_bytes(content)
    try:
        reader.read(folder)
    except NmtkitError as error:
        message = str(error)
        if reader.names and path.name not in message:
            raise Fault(f"{reader.name}: the message does not name the file: {message}") from error
        if len(message) > 2000:
            raise Fault(f"{reader.name}: a message of {len(message)} characters") from error
        return False
    except Fault:
        raise
    except Exception as error:
        raise Fault(f"{reader.name}: {type(error).__name__}: {str(error)[:200]}") from error
    finally:
        path.write_bytes(sound)
    return True


def _lines(folder: Path) -> None:
    path = folder / "text.src"
    raw = path.read_bytes()
    count = raw.count(b"\n") + (bool(raw) and not raw.endswith(b"\n"))
    found = list(read_raw_lines(path))
    if len(found) != count:
        raise Fault(f"{len(found)} lines of {count}")
    if sum(map(len, LineStream(path).windows(3))) != count:
        raise Fault("windows have other lines")
    if len(file_sha256(path)) != 64:
        raise Fault("no sum")
    for number, line in enumerate(found, start=1):
        decode_line(line, path, number)
    if list(read_lines(path)) != "".join(read_text_blocks(path, 2)).split("\n")[:-1]:
        raise Fault("texts have other lines")
    list(read_parallel(path, path))


def _zipped(folder: Path) -> None:
    list(read_lines(folder / "text.gz"))


def _vocabulary(name: str) -> Callable[[Path], object]:
    def read(folder: Path) -> None:
        vocabulary = Vocabulary.load(folder / name)
        if vocabulary.words[:2] != ("</s>", "<unk>"):
            raise Fault("no special words")
        for word in vocabulary.words[2:50]:
            if vocabulary.tokens(vocabulary.ids([word])) != [word]:
                raise Fault(f"the word {word!r} can never be met")
        vocabulary.save(folder / "saved", force=True)
        if Vocabulary.load(folder / "saved").words != vocabulary.words:
            raise Fault("it is another when it was written and read")

    return read


def _shortlist(folder: Path) -> None:
    shortlist_of(folder / "text.src", 5)


def _codes(folder: Path) -> None:
    bpe = BPE.load(folder / "codes")
    for word in WORDS_OF_TEXT:
        if undo_bpe(bpe.apply([word])) != [word]:
            raise Fault(f"{word!r} does not come back from its pieces")
    bpe.save(folder / "saved", force=True)
    if BPE.load(folder / "saved").merges != bpe.merges:
        raise Fault("they are others when they were written and read")


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
    model = build_model(workshop.CONFIG, 8, 8)
    load_checkpoint(folder / "training/checkpoints/00000003", model, workshop.new_optimizer(model))


def _checkpoint_with_its_sums(folder: Path) -> None:
    """Sums that are right tell nothing of one who means harm."""
    checkpoint = folder / "training/checkpoints/00000003"
    whole = (checkpoint / "state.json").read_bytes()
    state = json.loads(whole)
    state["sums"] = {name: file_sha256(checkpoint / name) for name in state["sums"]}
    (checkpoint / "state.json").write_text(json.dumps(state))
    try:
        _checkpoint(folder)
    finally:
        (checkpoint / "state.json").write_bytes(whole)


def _manifest(folder: Path) -> None:
    read_manifest(folder / "prepared")


def _training(folder: Path) -> None:
    sizes = ["model.embedding=4", "model.hidden=4", "model.align=3", "model.maxout=2"]
    limits = ["training.max_updates=1", "training.validate_every=1", "training.dev_bleu=false"]
    output = folder / "trained"
    train(folder / "prepared", output, "toy", overrides=[*sizes, *limits], device="cpu", force=True)


def _corpus(folder: Path) -> None:
    """The text, and what is made beside it, which is made again where it is not what was made."""
    corpus = Corpus.open(folder / "prepared", "train", read_vocabularies(folder / "prepared"))
    for number in range(len(corpus)):
        ids = corpus.src[number]
        if not len(ids) or ids[-1] or ids.max() > 7:
            raise Fault("ids that are none of a sentence")
    corpus.src.lengths(np.arange(len(corpus)))


def _phrase_table(folder: Path) -> None:
    path = folder / "table"
    lines = list(read_raw_lines(path))
    pairs = list(read_phrase_table(path))
    for pair, line in zip(pairs, lines, strict=True):
        if pair.line() != line or not pair.with_scores(["1"]):
            raise Fault("a line has changed")
    if sum(len(blocks[0]) for blocks in read_phrase_blocks(2, path, any_bytes=True)) != len(lines):
        raise Fault("a block is missing")


def _choice(folder: Path) -> None:
    path = folder / "table"
    sample_phrase_table(read_phrase_table(path), path, PhraseSamplingConfig(min_words=1, top=1))


def _phrase_scores(folder: Path) -> None:
    from nmtkit.smt.phrase_scorer import PhraseScorer

    path = folder / "table"
    scorer = PhraseScorer.load(folder / "model", device="cpu", count_unknown=True)
    if len(list(scorer.lines(read_phrase_table(path)))) != len(list(read_raw_lines(path))):
        raise Fault("a line is missing")


def _rescored(folder: Path) -> None:
    from nmtkit.smt.rescorer import Rescorer

    path = folder / "list"
    rescorer = Rescorer.load(folder / "model", folder / "lm", device="cpu", count_unknown=True)
    sources = list(read_lines(folder / "text.src"))
    if len(list(rescorer.rescore(read_nbest(path), sources))) != len(list(read_raw_lines(path))):
        raise Fault("a line is missing")


def _lists(folder: Path) -> None:
    for entry in read_nbest(folder / "list"):
        entry.with_feature("NEW0", -1.0).with_total(2.0)
        list(entry.features.values())


def _reranked(folder: Path) -> None:
    weights = read_weights(folder / "weights")
    kinds = (
        total_scores,
        AverageScorer(["LM0"]),
        WeightedScorer(weights),
        OracleScorer(REFERENCES),
    )
    faults = []
    for scores in kinds:
        try:
            groups = list(Reranker(scores).rerank(read_nbest(folder / "list"), 5))
        except DataError as error:
            faults.append(error)
            continue
        if len(groups) != 5:
            raise Fault("a sentence is missing")
    if faults:
        raise faults[0]


def _tuned(folder: Path) -> None:
    start = read_weights(folder / "weights")
    tune(read_nbest(folder / "list"), REFERENCES, start, MiraConfig(epochs=2))


def _gold(name: str) -> Callable[[Path], object]:
    def read(folder: Path) -> None:
        gold = read_gold_links(read_lines(folder / name), name, sentences=5)
        if len(gold) == 5:
            alignment_error_rate([{(0, 0)}] * 5, gold)

    return read


def _lexicon(name: str) -> Callable[[Path], object]:
    def read(folder: Path) -> None:
        path = folder / name
        faults = []
        for made in (
            lambda: Lexicon.load(path, Vocabulary.load(folder / "words"), 1, 2).candidates(["a"]),
            lambda: best_translations(path),
        ):
            try:
                made()
            except DataError as error:
                faults.append(error)
        if faults:
            raise faults[0]

    return read


def _segments(folder: Path) -> None:
    random_lengths(folder / "segments", 20)


def _metrics(folder: Path) -> None:
    MetricsLogger(folder, workshop.CONFIG.training, float).resume(3)


def _curve(folder: Path) -> None:
    read_curve(folder)


def _vectors(folder: Path) -> None:
    texts, rows = read_vectors(folder / "vectors")
    if len(texts) != len(rows) or not np.isfinite(rows).all():
        raise Fault("a vector is missing, or none")


def _origin(folder: Path) -> None:
    read_provenance(folder)


def _evaluated(folder: Path) -> None:
    lines = list(read_lines(folder / "text.src"))
    evaluate(lines, (REFERENCES * (len(lines) // 5 + 1))[: len(lines)], ("text.src", "the others"))


def _prepared(settings: PrepareSettings, name: str = "text") -> Callable[[Path], object]:
    def read(folder: Path) -> None:
        files = (folder / f"{name}.src", folder / "text.tgt")
        manifest = prepare(settings, folder / "made", files, dev=files, force=True)
        for side in ("src", "tgt"):
            lines = sum(1 for _ in read_raw_lines(folder / f"made/dev.{side}"))
            if lines != manifest["splits"]["dev"]["pairs"]:
                raise Fault("a line of the dev set is missing")

    return read


def _prepared_table(folder: Path) -> None:
    text = replace(workshop.TEXT, bpe="none")
    prepare(PrepareSettings(text), folder / "made", (folder / "table",), force=True)


def _selected(folder: Path) -> None:
    pool, domain = (folder / "text.src", folder / "text.tgt"), (folder / "words", folder / "words")
    text = replace(workshop.TEXT, bpe="none")
    output = (folder / "near.src", folder / "near.tgt")
    select(SelectSettings(text, order=2, pairs=2), [pool], output, domain, force=True)


def _command(*arguments: str, counted: bool = True) -> Callable[[Path], object]:
    """A command of the shell that gets text.src as its stdin.

    :param arguments: FOLDER/ stands for the workshop.
    :param counted: it has a line of output for each line of input.
    """

    def read(folder: Path) -> None:
        given = (folder / "text.src").read_bytes()
        words = [word.replace("FOLDER", str(folder)) for word in arguments]
        result = CliRunner().invoke(cli, words, given, prog_name="nmtkit")
        if not isinstance(result.exception, SystemExit | None):
            raise result.exception
        if result.exit_code == 1:
            last = result.stderr.splitlines()[-1]
            if "Traceback" in result.stderr or not last.startswith("nmtkit: error: "):
                raise Fault(result.stderr[-200:]) from result.exception
            raise ModelError(last)
        if result.exit_code:
            raise Fault(f"status {result.exit_code}: {result.stderr[-200:]}")
        lines = given.count(b"\n") + (bool(given) and not given.endswith(b"\n"))
        written = result.stdout_bytes.count(b"\n")
        if counted and written != lines:
            raise Fault(f"{written} lines for {lines}")

    return read


CHECKPOINT = "training/checkpoints/00000003"
RAW, TOKENS = (
    replace(workshop.TEXT, tokenized=False, bpe="none"),
    replace(workshop.TEXT, bpe="none"),
)
JOINT = replace(workshop.TEXT, bpe="joint")


def _readers() -> Iterator[Reader]:
    yield Reader("lines", "text.src", _lines)
    yield Reader("gzip", "text.gz", _zipped)
    yield Reader("vocabulary", "words", _vocabulary("words"))
    yield Reader("word-list", "plain-words", _vocabulary("plain-words"))
    yield Reader("shortlist", "text.src", _shortlist)
    yield Reader("bpe-codes", "codes", _codes)
    yield Reader("settings", "settings.toml", _settings)
    yield Reader("model-config", "model/config.toml", _model)
    yield Reader("model-vocabulary", "model/vocab.src", _model, names=False)
    yield Reader("model-bpe", "model/bpe.src", _model)
    yield Reader("model-parameters", "model/params.best.safetensors", _model)
    yield Reader("language-model-config", "lm/config.toml", _language_model)
    yield Reader("checkpoint-state", f"{CHECKPOINT}/state.json", _checkpoint, names=False)
    for name in ("state", "params"):
        file = f"{CHECKPOINT}/{name}.safetensors"
        yield Reader(f"checkpoint-tensors-{name}", file, _checkpoint_with_its_sums, names=False)
    yield Reader("manifest", "prepared/manifest.json", _manifest)
    for part in ("json", "offsets", "ids"):
        made = f"prepared/train.src.{workshop.KEY}.{part}"
        yield Reader(f"corpus-{part}", made, _corpus, names=part == "ids")
    yield Reader("corpus-text", "prepared/train.src", _corpus, names=False)
    for name in ("manifest.json", "vocab.src", "bpe.tgt", "dev.tgt", "train.src"):
        yield Reader(f"training-{name}", f"prepared/{name}", _training, large=False, names=False)
    yield Reader("phrase-table", "table", _phrase_table)
    yield Reader("phrase-choice", "table", _choice)
    yield Reader("phrase-scores", "table", _phrase_scores, large=False)
    yield Reader("prepared-phrase-table", "table", _prepared_table)
    yield Reader("n-best-list", "list", _lists)
    yield Reader("rescoring", "list", _rescored, large=False)
    yield Reader("reranking", "list", _reranked)
    yield Reader("reranking-weights", "weights", _reranked)
    yield Reader("tuning", "list", _tuned, names=False)
    yield Reader("tuning-weights", "weights", _tuned, names=False)
    yield Reader("gold-links", "gold", _gold("gold"))
    yield Reader("gold-links-naacl", "gold.naacl", _gold("gold.naacl"))
    yield Reader("lexicon", "lexicon", _lexicon("lexicon"))
    yield Reader("lexicon-of-logarithms", "lexicon.log", _lexicon("lexicon.log"))
    yield Reader("segments", "segments", _segments)
    yield Reader("metrics", "metrics.jsonl", _metrics)
    yield Reader("learning-curve", "metrics.jsonl", _curve)
    yield Reader("vectors", "vectors", _vectors)
    yield Reader("origin", "origin.json", _origin)
    yield Reader("evaluation", "text.src", _evaluated, large=False)
    yield Reader("prepare-raw", "text.src", _prepared(PrepareSettings(RAW)), False, False)
    yield Reader("prepare-tokens", "text.src", _prepared(PrepareSettings(TOKENS)), names=False)
    dropping = PrepareSettings(JOINT, merges=5, invalid="drop", dedup=True)
    yield Reader("prepare-bpe", "text.src", _prepared(dropping), names=False)
    yield Reader("selection", "text.src", _selected, names=False)
    yield from _filters()


def _filters() -> Iterator[Reader]:
    """The commands as a pipe meets them."""
    model = ("-m", "FOLDER/model", "--device", "cpu", "--threads", "1")
    for name, arguments in {
        "translate": ("translate", *model),
        "translate-list": ("translate", *model, "--tokenized", "--scores", "--replace-unk", "copy"),
        "score": ("score", *model, "-", "FOLDER/text.src"),
        "score-text": ("score", "-m", "FOLDER/lm", "--device", "cpu", "-"),
        "align": ("align", *model, "-", "FOLDER/text.src"),
        "align-soft": ("align", *model, "--soft", "FOLDER/text.src", "-"),
    }.items():
        yield Reader(name, "text.src", _command(*arguments), large=False, names=False)
    for table in ("--candidates", "--replace-unk"):
        name = f"translate{table[1:]}"
        command = _command("translate", *model, table, "FOLDER/lexicon")
        yield Reader(name, "lexicon", command, large=False)


READERS = tuple(_readers())
