"""`nmtkit phrase-table score`, and training on a phrase table."""

import gzip
import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from nmtkit.config import DataConfig
from nmtkit.data.batching import Batches
from nmtkit.data.corpus import Corpus
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.settings import make_config

Nmtkit = Callable[..., Result]

WORDS = {"one": "un", "two": "deux", "three": "trois", "four": "quatre", "&apos;s": "&apos;"}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a gzipped Moses table of 35 pairs: 30 source phrases with one or two translations."""
    lines = []
    for words in [*itertools.product(WORDS), *itertools.product(WORDS, repeat=2)]:
        target = " ".join(WORDS[word] for word in words)
        for translation in (target, f"le {target}")[: 1 + len(words) % 2]:
            lines.append(
                f"{' '.join(words)} ||| {translation} ||| 0.5 1e-05 ||| 0-0 ||| 2 2 1 ||| |||"
            )
    path = tmp_path_factory.mktemp("moses") / "phrase-table.gz"
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    return path


@pytest.fixture(scope="module")
def prepared(table: Path, nmtkit: Nmtkit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("phrases") / "prepared"
    result = nmtkit(
        "prepare",
        "-s",
        "en",
        "-t",
        "fr",
        "--phrase-table",
        table,
        "--held-out",
        5,
        "--output",
        folder,
    )
    assert "train: 30 of 35 pairs (dropped: 5 held out)" in result.stderr
    nmtkit("shortlist", folder, "--size", 15000)
    return folder


@pytest.fixture(scope="module")
def phrase_rnn(
    prepared: Path,
    small_options: Callable[[str], list[str]],
    nmtkit: Nmtkit,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    folder = tmp_path_factory.mktemp("phrases") / "model"
    small = small_options("phrase-rnn")
    nmtkit("train", prepared, "-o", folder, "--recipe", "phrase-rnn", "--device", "cpu", *small)
    return folder


def rows(path: Path) -> list[list[str]]:
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    return [line.split(" ||| ") for line in text.decode().splitlines()]


def test_shortlists_of_the_corpus_serve_the_phrases(
    nmtkit: Nmtkit, prepared: Path, small_options: Callable[[str], list[str]], tmp_path: Path
) -> None:
    """Cho et al. 2014, section 4.1: the most frequent words of the corpus, not of the table."""
    folder, model = tmp_path / "phrases", tmp_path / "model"
    shutil.copytree(prepared, folder)
    for side, text in (("src", "four four &apos;s elsewhere"), ("tgt", "quatre quatre le &apos;")):
        (tmp_path / side).write_text(f"{text}\n" * 3)
        nmtkit("shortlist", tmp_path / side, "--size", 4, "-o", folder / f"vocab.{side}", "--force")
    assert nmtkit("check", folder).stdout.endswith("9 files checked, 2 warnings\n")
    options = ["--recipe", "phrase-rnn", "--device", "cpu", *small_options("phrase-rnn")]
    nmtkit("train", folder, "-o", model, *options)
    assert Vocabulary.load(model / "vocab.src").words == ("</s>", "<unk>", "four", "&apos;s")
    assert Vocabulary.load(model / "vocab.tgt").words == ("</s>", "<unk>", "quatre", "&apos;")
    assert "one" in Vocabulary.load(prepared / "vocab.src").words


def test_a_model_of_a_table_scores_it(
    nmtkit: Nmtkit, table: Path, phrase_rnn: Path, tmp_path: Path
) -> None:
    """Scores equal those of `score` for the phrases as two files."""
    output = tmp_path / "out.gz"
    score = ["score", "-m", phrase_rnn, "--device", "cpu"]
    result = nmtkit("phrase-table", *score, table, "-o", output, "--logs", "--count-unknown")
    assert "not for Moses" in result.stderr and result.stdout == ""
    before, after = rows(table), rows(output)
    assert [[*row[:2], *row[3:]] for row in after] == [[*row[:2], *row[3:]] for row in before]
    for number, name in enumerate(("src", "tgt")):
        (tmp_path / name).write_text("".join(f"{row[number]}\n" for row in before))
    scores = nmtkit(*score, tmp_path / "src", tmp_path / "tgt").stdout.split()
    for old, new, expected in zip(before, after, scores, strict=True):
        log, penalty = new[2].removeprefix(f"{old[2]} ").split()
        assert float(log) == pytest.approx(float(expected), abs=1e-3)
        assert penalty == "0"


def test_an_uncompressed_table_through_a_pipe(
    nmtkit: Nmtkit, table: Path, phrase_rnn: Path
) -> None:
    text = gzip.decompress(table.read_bytes())
    run = ["phrase-table", "score", "-m", phrase_rnn, "-m", phrase_rnn, "--device", "cpu", "-"]
    result = nmtkit(*run, input=text)
    for line, old in zip(result.stdout.splitlines(), text.decode().splitlines(), strict=True):
        *_, one, two = line.split(" ||| ")[2].split()
        assert one == two and 0 < float(one) < 1
        assert line.replace(f" {one} {two} |||", " |||") == old


def test_batches_of_the_recipe_are_64_random_pairs(tmp_path: Path, nmtkit: Nmtkit) -> None:
    """Each epoch has every pair once, in other batches of mixed lengths."""
    lines = [f"{' a' * (1 + n % 7)} ||| b{n} ||| 1" for n in range(256)]
    (tmp_path / "table").write_text("".join(f"{line.strip()}\n" for line in sorted(lines)))
    folder = tmp_path / "out"
    nmtkit(
        "prepare",
        "-s",
        "en",
        "-t",
        "fr",
        "--phrase-table",
        tmp_path / "table",
        "--held-out",
        0,
        "--output",
        folder,
    )
    nmtkit("shortlist", folder, "--size", 15000)
    words = Vocabulary.load(folder / "vocab.src"), Vocabulary.load(folder / "vocab.tgt")
    config: DataConfig = make_config("phrase-rnn").data
    batches = list(itertools.islice(Batches(Corpus.open(folder, "train", words), config, 1), 8))
    assert [len(batch.lines) for batch in batches] == [64] * 8
    for epoch in (batches[:4], batches[4:]):
        assert sorted(line for batch in epoch for line in batch.lines) == list(range(1, 257))
    assert {frozenset(b.lines) for b in batches[:4]}.isdisjoint(
        frozenset(b.lines) for b in batches[4:]
    )
    for batch in batches:
        assert len(set(batch.src_mask.sum(1).tolist())) > 4
        assert 64 < sum(batch.lines) / 64 < 192


def test_a_table_smaller_than_the_held_out_set_is_refused(
    nmtkit: Nmtkit, table: Path, tmp_path: Path
) -> None:
    run = ["prepare", "-s", "en", "-t", "fr", "--phrase-table", table, "--output", tmp_path / "out"]
    result = nmtkit(*run, status=1)
    assert "cannot hold out 1,000 of 35 training pairs" in result.stderr
    assert "--held-out" in result.stderr and result.stderr.count("\n") == 1
    nmtkit(*run, "--escape", status=2)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a ||| b ||| 1\na ||| b\n", "table:2: 2 fields between ' ||| '"),
        ("a ||| b ||| 1\n ||| b ||| 1\n", "table:2: the source phrase is empty"),
    ],
)
def test_invalid_lines_of_a_phrase_table_are_reported(
    nmtkit: Nmtkit, phrase_rnn: Path, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "table").write_text(text)
    run = ["phrase-table", "score", "-m", phrase_rnn, "--device", "cpu", tmp_path / "table"]
    assert message in nmtkit(*run, "-o", tmp_path / "out", status=1).stderr
    run = [
        "prepare",
        "-s",
        "en",
        "-t",
        "fr",
        "--phrase-table",
        tmp_path / "table",
        "--output",
        tmp_path / "out",
    ]
    assert message in nmtkit(*run, status=1).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["table"]
