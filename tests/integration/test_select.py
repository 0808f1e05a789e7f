"""`nmtkit select` through the real command line, on a pool of two domains."""

import gzip
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import Result

from nmtkit.extras import install_command
from nmtkit.io.lines import read_lines
from nmtkit.preprocessing import cross_entropy, pair_selector
from nmtkit.preprocessing.cross_entropy import repeated_words, token_ids
from nmtkit.preprocessing.ngram_model import NgramModel

Nmtkit = Callable[..., Result]
Pairs = list[tuple[str, str]]

NEWS = ("the minister said that a vote on this law was won in may".split(),
        "le ministre dit que un vote de cette loi fut gagné en mai".split())  # fmt: skip
SPORT = ("the striker kicked a ball into this goal and was cheered on".split(),
         "le buteur tira un ballon dans ce but et fut acclamé en".split())  # fmt: skip
NEWS_PAIRS = 30

SELECT = ("select", "-s", "en", "-t", "fr")


def write_pairs(folder: Path, name: str, pairs: Pairs) -> tuple[Path, Path]:
    paths = (folder / f"{name}.en", folder / f"{name}.fr")
    for number, path in enumerate(paths):
        path.write_text("".join(f"{pair[number]}\n" for pair in pairs), encoding="utf-8")
    return paths


def random_pairs(domain: tuple[list[str], list[str]], count: int, seed: int) -> Pairs:
    """Draw pairs of substrings of a domain's two word lists, of 3 to 8 words."""
    rng = random.Random(seed)
    pairs = []
    for _ in range(count):
        first, length = rng.randrange(8), rng.randrange(3, 9)
        pairs.append(tuple(" ".join((2 * side)[first : first + length]) for side in domain))
    return pairs  # type: ignore[return-value]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write {domain,dev,pool,more}.{en,fr}; 30 of the pool's 150 pairs are of the domain."""
    path = tmp_path_factory.mktemp("select")
    write_pairs(path, "domain", random_pairs(NEWS, 40, 1))
    write_pairs(path, "dev", random_pairs(NEWS, 20, 2))
    pool = random_pairs(NEWS, NEWS_PAIRS, 3) + random_pairs(SPORT, 120, 4)
    random.Random(5).shuffle(pool)
    write_pairs(path, "pool", pool)
    write_pairs(path, "more", random_pairs(SPORT, 10, 6))
    return path


def files(folder: Path, name: str) -> list[object]:
    return [folder / f"{name}.en", folder / f"{name}.fr"]


def read(paths: Sequence[object]) -> Pairs:
    return list(zip(*(read_lines(str(path)) for path in paths), strict=True))


def is_news(pair: tuple[str, str]) -> bool:
    return any(
        word in pair[0].split() for word in ("minister", "said", "that", "vote", "law", "won")
    )


@pytest.fixture
def select(nmtkit: Nmtkit, folder: Path, tmp_path: Path) -> Callable[..., tuple[Pairs, Result]]:
    """Return a function: `select("--pairs", 5)` gives the selected pairs and the result."""

    def call(*options: object, domain: bool = True, workers: int = 1) -> tuple[Pairs, Result]:
        in_domain = ["--domain", *files(folder, "domain")] if domain else []
        output = files(tmp_path, "out")
        result = nmtkit(
            *SELECT, *in_domain, "--pool", *files(folder, "pool"), "--output", *output, "--force",
            "--workers", workers, *options,
        )  # fmt: skip
        assert result.stdout == ""
        return read(output), result

    return call


@pytest.mark.parametrize("options", [[], ["--side", "src"], ["--side", "tgt"], ["--order", 2]])
def test_the_domain_is_preferred(select, folder: Path, options: list[object]) -> None:
    pairs, result = select("--pairs", 20, *options)
    assert len(pairs) == 20 and all(map(is_news, pairs))
    pool = read(files(folder, "pool"))
    assert sum(map(is_news, pool)) == NEWS_PAIRS
    remaining = iter(pool)
    assert all(pair in remaining for pair in pairs)  # in the order of the pool
    assert "selected 20 of 150 pairs (13.33 %)" in result.stderr


def test_the_scores_explain_the_selection(select, folder: Path, tmp_path: Path) -> None:
    pairs, _ = select("--pairs", 25, "--scores-file", tmp_path / "scores")
    scores = [float(line) for line in read_lines(tmp_path / "scores")]
    pool = read(files(folder, "pool"))
    best = sorted(sorted(range(len(pool)), key=scores.__getitem__)[:25])
    assert [pool[index] for index in best] == pairs


def test_words_are_counted_on_the_compared_side(select, tmp_path: Path) -> None:
    for side, number in (("both", 0), ("src", 0), ("tgt", 1)):
        scores = tmp_path / "scores"
        pairs, _ = select("--words", 60, "--side", side, "--scores-file", scores)
        used = sum(len(pair[number].split()) for pair in pairs)
        more, _ = select("--pairs", len(pairs) + 1, "--side", side)
        assert used <= 60 < sum(len(pair[number].split()) for pair in more)


def test_all_pairs_of_several_pools_are_selected_with_a_warning(select, folder: Path) -> None:
    pairs, result = select("--pairs", 1000, "--pool", *files(folder, "more"))
    assert pairs == read(files(folder, "pool")) + read(files(folder, "more"))
    assert "warning: the pool has no more than requested" in result.stderr


def test_output_does_not_depend_on_workers_or_blocks(
    select, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = select("--words", 90, "--scores-file", tmp_path / "one")[0]
    monkeypatch.setattr(cross_entropy, "BLOCK_LINES", 40)
    two = select("--words", 90, "--scores-file", tmp_path / "two", workers=2)[0]
    assert one == two
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_scores_depend_on_the_seed(select, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        select("--pairs", 5, "--seed", seed, "--scores-file", tmp_path / name)
    same, again, other = ((tmp_path / name).read_bytes() for name in "abc")
    assert same == again != other


def test_selected_lines_are_unchanged(nmtkit: Nmtkit, folder: Path, tmp_path: Path) -> None:
    odd_pairs = [
        ("  The minister,\tsaid ", "le  ministre\u2028 dit"),
        ("", "le"),
        ("goal", " \u00a0"),
    ]
    pool = write_pairs(tmp_path, "pool", odd_pairs + random_pairs(NEWS, 3, 9))
    zipped = tmp_path / "pool.fr.gz"
    zipped.write_bytes(gzip.compress(pool[1].read_bytes()))
    output = [tmp_path / "out.en.gz", tmp_path / "out.fr"]
    nmtkit(*SELECT, "--domain", "-", folder / "domain.fr", "--pool", pool[0], zipped, "--output",
           *output, "--pairs", 9, "--workers", 1, "--scores-file", tmp_path / "scores",
           input=(folder / "domain.en").read_bytes())  # fmt: skip
    assert read(output)[:1] == odd_pairs[:1] and len(read(output)) == 4
    assert (tmp_path / "scores").read_text().split("\n")[1:3] == ["inf", "inf"]


def test_invalid_utf8_is_an_error_or_dropped(nmtkit: Nmtkit, folder: Path, tmp_path: Path) -> None:
    pool = write_pairs(tmp_path, "pool", random_pairs(NEWS, 9, 1))
    pool[1].write_bytes(pool[1].read_bytes().replace(b"le ", b"\xff ", 1))
    number = 1 + next(
        n for n, line in enumerate(pool[1].read_bytes().split(b"\n")) if b"\xff" in line
    )
    command = [*SELECT, "--domain", *files(folder, "domain"), "--pool", *pool, "--pairs", 100,
               "--output", *files(tmp_path, "out"), "--workers", 1]  # fmt: skip
    result = nmtkit(*command, status=1)
    assert f"{pool[1]}:{number}: not valid UTF-8" in result.stderr
    assert not (tmp_path / "out.en").exists()
    nmtkit(*command, "--invalid", "drop")
    assert len(read(files(tmp_path, "out"))) == 8


def test_the_best_cutoff_has_the_lowest_dev_perplexity(select, folder: Path) -> None:
    pairs, result = select("--best-cut", "--dev", *files(folder, "dev"))
    log_lines = [line for line in result.stderr.splitlines() if "dev perplexity" in line]
    perplexities = {}
    for line in log_lines:  # nmtkit: the best 1,234 words (56 pairs): dev perplexity 7.89
        words = line.replace(",", "").split()
        perplexities[int(words[5].strip("("))] = float(words[-1])
    assert len(log_lines) > 4 and max(perplexities) == 150
    assert min(perplexities, key=perplexities.__getitem__) == len(pairs) < 150
    assert sum(map(is_news, pairs)) == NEWS_PAIRS
    assert perplexities[len(pairs)] == pytest.approx(perplexity(pairs, folder), abs=0.006)


def perplexity(pairs: Pairs, folder: Path) -> float:
    """Compute the perplexity of both sides of the dev set under n-gram models of the pairs."""
    import math

    cost, tokens = 0.0, 0
    for number in (0, 1):
        vocabulary = repeated_words([pair[number] for pair in read(files(folder, "domain"))])
        ids = token_ids(vocabulary, [pair[number] for pair in pairs])
        dev = token_ids(vocabulary, [pair[number] for pair in read(files(folder, "dev"))])
        cost -= NgramModel.train(ids, len(vocabulary), 4).log_probs(dev).sum()
        tokens += len(dev)
    return math.exp(cost / tokens)


def test_subsets_have_at_most_max_subset_words(
    select, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_selector, "MAX_SUBSET_WORDS", 110)
    pairs, result = select("--best-cut", "--dev", *files(folder, "dev"))
    assert sum(len(pair[0].split()) for pair in pairs) <= 110
    assert "warning: the largest subset that was tried is the best" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "One of --pairs, --words or --best-cut is needed"),
        (["--pairs", 3, "--words", 4], "--pairs and --words exclude each other"),
        (["--best-cut"], "--best-cut needs --dev"),
        (["--pairs", 3, "--dev", "a", "b"], "--dev needs --best-cut"),
        (["--pairs", 3, "--lm-domain", "a"], "--lm-domain needs --lm-general"),
        (["--pairs", 3, "--lm-domain", "a", "--lm-general", "b"],
         "--side both needs --lm-domain twice"),
        (["--pairs", 3, "--side", "src", "--lm-general", "a"], "--lm-general needs --lm-domain"),
        (["--pairs", 3, "--side", "src", "--lm-domain", "a", "--lm-general", "b"],
         "--domain and --lm-domain exclude each other"),
        (["--pairs", 0], "'--pairs'"),
    ],
)  # fmt: skip
def test_wrong_usage(nmtkit: Nmtkit, folder: Path, options: list[object], message: str) -> None:
    domain = ["--domain", *files(folder, "domain"), "--pool", *files(folder, "pool")]
    result = nmtkit(*SELECT, *domain, "--output", "x", "y", *options, status=2)
    assert message in result.stderr and len(result.stderr.splitlines()) == 1


def test_a_domain_is_needed(nmtkit: Nmtkit, folder: Path) -> None:
    pool = ["--pool", *files(folder, "pool"), "--output", "x", "y"]
    assert "--domain" in nmtkit(*SELECT, *pool, "--pairs", 3, status=2).stderr
    options = ["--best-cut", "--dev", "a", "b", "--side", "src"]
    models = ["--lm-domain", "a", "--lm-general", "b"]
    assert "--domain" in nmtkit(*SELECT, *pool, *options, *models, status=2).stderr


@pytest.mark.parametrize(
    ("name", "content", "option", "message"),
    [
        ("pool.en", None, "--pool", "pool.en: cannot be read: No such file or directory"),
        ("domain.fr", None, "--domain", "domain.fr: cannot be read: No such file or directory"),
        ("domain.fr", "x\n", "--domain", "the files differ in their number of lines"),
        ("pool.fr", "x\n", "--pool", "the files differ in their number of lines"),
        ("dev.fr", "\n" * 20, "--dev", "dev.fr: no pair has words on both sides"),
        ("domain.fr", "\n" * 40, "--domain", "domain.fr: no pair has words on both sides; give"),
        ("pool.fr", "\n" * 150, "--pool", "no pair is selected"),
    ],
)
def test_invalid_files_are_reported(
    nmtkit: Nmtkit,
    folder: Path,
    tmp_path: Path,
    name: str,
    content: str | None,
    option: str,
    message: str,
) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_text(content)
    inputs = [
        word for split in ("domain", "pool") for word in (f"--{split}", *files(tmp_path, split))
    ]
    criterion = (
        ["--best-cut", "--dev", *files(tmp_path, "dev")] if option == "--dev" else ["--pairs", 2]
    )
    result = nmtkit(
        *SELECT, *inputs, *criterion, "--output", *files(tmp_path, "out"), "--workers", 1,
        "--scores-file", tmp_path / "scores", status=1,
    )  # fmt: skip
    assert message in result.stderr
    assert not {"out.en", "out.fr", "scores"} & {path.name for path in tmp_path.iterdir()}


def test_an_empty_pool_is_refused(nmtkit: Nmtkit, folder: Path, tmp_path: Path) -> None:
    command = [
        "select",
        "-s",
        "en",
        "-t",
        "fr",
        "--domain",
        *files(folder, "domain"),
        "--pairs",
        2,
        "--workers",
        1,
    ]
    command += ["--output", *files(tmp_path, "out")]
    empty = write_pairs(tmp_path, "empty", [])
    assert "the pool is empty" in nmtkit(*command, "--pool", *empty, status=1).stderr


def test_existing_output_is_kept(nmtkit: Nmtkit, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "out.fr").write_text("mine\n")
    result = nmtkit(
        *SELECT, "--domain", *files(folder, "domain"), "--pool", *files(folder, "pool"),
        "--pairs", 2, "--output", *files(tmp_path, "out"), status=1,
    )  # fmt: skip
    assert "out.fr: exists already; use --force" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["out.fr"]
    assert (tmp_path / "out.fr").read_text() == "mine\n"


def test_outputs_with_the_same_name_are_refused(
    nmtkit: Nmtkit, folder: Path, tmp_path: Path
) -> None:
    inputs = ["--domain", *files(folder, "domain"), "--pool", *files(folder, "pool"), "--pairs", 2]
    for output, scores in ((["-", "-"], "s"), (["x", "y"], "y")):
        result = nmtkit(
            "select",
            "-s",
            "en",
            "-t",
            "fr",
            *inputs,
            "--output",
            *output,
            "--scores-file",
            scores,
            status=1,
        )
        assert "the outputs need different names" in result.stderr


def test_nothing_is_left_in_the_temporary_folder(
    select, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    select("--pairs", 2)
    assert list((tmp_path / "temporary").iterdir()) == []


ARPA = """\\data\\
ngram 1={count}
ngram 2=1

\\1-grams:
-1\t<unk>
-99\t<s>\t0
-1\t</s>
{words}

\\2-grams:
-1\t<s> </s>

\\end\\
"""


def arpa(path: Path, likely: list[str], unlikely: list[str]) -> Path:
    """Write a unigram model with log10 p of -0.5 for likely words and -3 for unlikely ones."""
    entries = [f"-0.5\t{word}" for word in likely] + [f"-3\t{word}" for word in unlikely]
    path.write_text(ARPA.format(count=len(entries) + 3, words="\n".join(entries)))
    return path


def model_options(tmp_path: Path, side: int) -> list[object]:
    """Return the options for the domain and general language models of one side."""
    news, sport = sorted({*NEWS[side]}), sorted({*SPORT[side]} - {*NEWS[side]})
    domain = arpa(tmp_path / f"domain{side}.arpa", news, sport)
    general = arpa(tmp_path / f"general{side}.arpa", sport, news)
    return ["--lm-domain", domain, "--lm-general", general]


def test_kenlm_models_are_used(select, tmp_path: Path) -> None:
    pytest.importorskip("kenlm")
    scores = tmp_path / "scores"
    options = [*model_options(tmp_path, 0), *model_options(tmp_path, 1), "--scores-file", scores]
    pairs, _ = select("--pairs", 20, *options, domain=False)
    assert len(pairs) == 20 and all(map(is_news, pairs))
    import math

    lowest = min(float(line) for line in read_lines(scores))
    per_word = (0.5 - 3) * math.log(10)
    longest = max(len(pair[0].split()) for pair in pairs)  # all words are of the domain
    assert lowest == pytest.approx(2 * per_word * longest / (longest + 1), abs=1e-5)


def test_files_that_kenlm_cannot_read_are_reported(
    nmtkit: Nmtkit, folder: Path, tmp_path: Path
) -> None:
    pytest.importorskip("kenlm")
    (tmp_path / "bad.arpa").write_text("hello\n")
    no_model, no_file = "KenLM cannot read it as a language model", "no such file"
    for name, message in (("bad.arpa", no_model), ("missing.arpa", no_file)):
        models = ["--lm-domain", tmp_path / name, "--lm-general", tmp_path / name]
        result = nmtkit(
            *SELECT, *models, "--side", "src", "--pool", *files(folder, "pool"), "--pairs", 2,
            "--output", *files(tmp_path, "out"), "--workers", 1, status=1,
        )  # fmt: skip
        assert f"{name}: {message}" in result.stderr


def test_without_kenlm_the_extra_is_named(
    nmtkit: Nmtkit, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "kenlm", None)
    result = nmtkit(
        *SELECT, *model_options(tmp_path, 0), "--side", "src", "--pool", *files(folder, "pool"),
        "--pairs", 2, "--output", *files(tmp_path, "out"), status=1,
    )  # fmt: skip
    assert f"kenlm is not installed; run: {install_command('kenlm')}" in result.stderr
