"""Kept outputs: what is kept, how figures are computed again, and what is found to be wrong."""

import gzip
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import kept_outputs
import pytest
from computation import evaluation

from nmtkit.text.tokenizer import Tokenizer

Keep = Callable[..., int]
REFERENCE = ["Le chat dort sur le tapis rouge.", "Il pleut depuis ce matin à Paris.", "Oui, merci."]
TRANSLATION = ["Le chat dort sur un tapis rouge.", "Il pleut depuis hier à Paris.", "Oui, merci."]
OPTIONS = ["-t", "fr", "--measure", "sacrebleu", "--measure", "chrf"]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    folder.mkdir()
    write(folder, **{"test.fr": REFERENCE, "test.hyp": TRANSLATION})
    return folder


@pytest.fixture
def keep(tmp_path: Path, texts: Path) -> Keep:
    def run(*options: str, words: list[str] | None = None) -> int:
        pair = [str(texts / "test.hyp"), str(texts / "test.fr")]
        words = words or ["evaluate", *pair, *OPTIONS]
        fixed = ["keep", str(tmp_path / "kept"), "--system", "a system", "--command", "nmtkit x"]
        return kept_outputs.main([*fixed, *options, "--", *words])

    return run


def check(folder: Path, *references: Path) -> int:
    given = ["--references", *map(str, references)] if references else []
    return kept_outputs.main(["check", str(folder), *given])


def test_figures_are_computed_again(
    keep: Keep, tmp_path: Path, texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert keep("--name", "news") == 0
    record = json.loads((tmp_path / "kept/news.json").read_text())
    assert (record["system"], record["commands"]) == ("a system", ["nmtkit x"])
    assert (record["output"], record["lines"]) == ("test.hyp", 3)
    values = record["figures"][0]["values"]
    assert set(values) == {"BLEU (sacreBLEU)", "chrF"}
    assert 30 < values["BLEU (sacreBLEU)"]["value"] < 100
    (texts / "test.hyp").unlink()
    assert check(tmp_path / "kept", texts) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[4] for line in lines] == ["equal", "equal"]


def test_only_the_output_is_kept(keep: Keep, tmp_path: Path) -> None:
    keep()
    files = sorted((tmp_path / "kept").iterdir())
    assert [path.name for path in files] == ["SHA256SUMS", "test.hyp.gz", "test.hyp.json"]
    assert gzip.decompress(files[1].read_bytes()).decode().splitlines() == TRANSLATION
    assert not [line for line in REFERENCE[:2] if line in files[2].read_text()]
    assert str(tmp_path) not in files[2].read_text()
    command = ["sha256sum", "--check", "--quiet", "SHA256SUMS"]
    subprocess.run(command, cwd=tmp_path / "kept", check=True)


def test_a_reference_is_found_by_name_and_content(
    keep: Keep, tmp_path: Path, texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep()
    other = tmp_path / "other"
    (other / "a").mkdir(parents=True)
    (other / "a/test.fr").write_text("another text\n")
    assert check(tmp_path / "kept", other) == 0
    captured = capsys.readouterr()
    assert "not computed: --references lacks test.fr, SHA-256 " in captured.out
    assert "0 figures are equal, 0 differ, 2 could not be computed" in captured.err
    (other / "test.fr.gz").write_bytes(gzip.compress((texts / "test.fr").read_bytes()))
    assert check(tmp_path / "kept", other) == 0
    assert "2 figures are equal, 0 differ, 0 could" in capsys.readouterr().err


def test_a_changed_output_or_figure_is_found(
    keep: Keep, tmp_path: Path, texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep()
    kept = tmp_path / "kept"
    record = json.loads((kept / "test.hyp.json").read_text())
    record["figures"][0]["values"]["chrF"]["value"] += 0.01
    (kept / "test.hyp.json").write_text(json.dumps(record))
    assert check(kept, texts) == 1
    captured = capsys.readouterr()
    assert captured.out.count("DIFFERS") == 1
    assert "test.hyp.json: not the file of SHA256SUMS" in captured.err
    (kept / "test.hyp.gz").write_bytes(gzip.compress(b"x\n" * 3))
    assert check(kept, texts) == 1
    assert "test.hyp.gz: not the output of test.hyp.json" in capsys.readouterr().out


def test_one_output_has_the_figures_of_all_its_evaluations(
    keep: Keep, tmp_path: Path, texts: Path
) -> None:
    pair = [str(texts / "test.hyp"), str(texts / "test.fr")]
    for _ in range(2):
        assert keep() == 0
        assert keep(words=["evaluate", *pair, "--measure", "ter"]) == 0
    record = json.loads((tmp_path / "kept/test.hyp.json").read_text())
    assert [list(f["values"]) for f in record["figures"]] == [
        ["BLEU (sacreBLEU)", "chrF"],
        ["TER"],
    ]
    (texts / "test.hyp").write_text("x\n" * 3)
    assert keep() == 0
    assert len(json.loads((tmp_path / "kept/test.hyp.json").read_text())["figures"]) == 1


def test_claims_must_stand_in_their_document(
    keep: Keep,
    tmp_path: Path,
    texts: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(kept_outputs, "ROOT", tmp_path)
    keep()
    record = json.loads((tmp_path / "kept/test.hyp.json").read_text())
    bleu = record["figures"][0]["values"]["BLEU (sacreBLEU)"]["value"]
    page = tmp_path / "page.md"
    page.write_text(f"| corpus | 3 |\n  {bleu:.1f} | 99.9 |\n")
    assert keep("--claim", "page.md", "sacreBLEU", f"corpus | 3 | {bleu:.1f}") == 0
    assert check(tmp_path / "kept", texts) == 0
    wrong = (("sacreBLEU", "corpus | 4 | 5"), ("sacreBLEU", "| 99.9"), ("TER", "| 99.9"))
    for figure, text in wrong:
        capsys.readouterr()
        assert keep("--claim", "page.md", figure, text) == 1
        said = capsys.readouterr().err
        assert len(said.splitlines()) == 1
    page.write_text("| corpus | 3 | 12.3 |\n")
    assert check(tmp_path / "kept", texts) == 1
    assert f"page.md: does not say 'corpus | 3 | {bleu:.1f}'" in capsys.readouterr().err


def test_alignments_have_their_error_rate(
    keep: Keep, tmp_path: Path, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (texts / "links").write_text("0-0 1-1\n0-0\n")
    (texts / "gold").write_text("0-0 1-2\n0-0\n")
    words = ["aer", str(texts / "links"), str(texts / "gold")]
    assert keep(words=words) == 0
    record = json.loads((tmp_path / "kept/links.json").read_text())
    assert record["figures"][0]["values"]["AER"]["value"] == pytest.approx(1 - 4 / 6)
    assert check(tmp_path / "kept", texts) == 0
    monkeypatch.setattr(kept_outputs, "ROOT", tmp_path)
    (tmp_path / "page.md").write_text("Error rates of 0.333 or 33.3 %, not 0.333 %.\n")
    for text, status in (("rates of 0.333", 0), ("or 33.3 %", 0), ("not 0.333 %", 1)):
        assert keep("--claim", "page.md", "AER", text, words=words) == status


def write(folder: Path, **texts: list[str]) -> dict[str, str]:
    """Write files; return their paths by name."""
    for name, lines in texts.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return {name: str(folder / name) for name in texts}


def values_of(path: Path) -> dict[str, float]:
    """Return the figures of a record that has one computation."""
    (figure,) = json.loads(path.read_text())["figures"]
    return {name: value["value"] for name, value in figure["values"].items()}


def test_means_of_outputs_can_be_claimed(
    keep: Keep,
    tmp_path: Path,
    texts: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(kept_outputs, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("| model | 2.50 (2.00 3.00) |\n")
    write(texts, **{"scores.1": ["-2", "-2"], "scores.2": ["-4", "-2"]})
    words = ["score", str(texts / "scores.1")]
    claim = ["--claim", "page.md", "NLL", "model | 2.50", "--mean-with", "scores.2"]
    assert keep(*claim, words=words) == 1
    assert "scores.2.json: not a record" in capsys.readouterr().err
    assert keep(words=["score", str(texts / "scores.2")]) == 0
    assert keep(*claim, words=words) == 0
    assert check(tmp_path / "kept") == 0
    other = ["score", str(texts / "scores.2"), str(texts / "reference")]
    (texts / "reference").write_text("a b\nc\n")
    assert keep(words=other) == 0  # the same output, otherwise computed
    assert keep(*claim, words=words) == 0
    page.write_text("| model | 2.51 (2.00 3.00) |\n")
    claim[3] = "model | 2.51"
    assert keep(*claim, words=words) == 1
    assert "but NLL is 2.5000" in capsys.readouterr().err


def test_ranges_of_source_words_have_their_bleu(keep: Keep, tmp_path: Path, texts: Path) -> None:
    paths = write(
        texts,
        output=["a b c d e", "f g h i", "j k l m n"],
        reference=["a b c d e", "f g h i", "j k l m x"],
        source=["one two", "one two", "one two three"],
    )
    words = ["by-length", *(paths[name] for name in ("output", "reference", "source"))]
    assert keep(words=[*words, "1-2", "1-3"]) == 0
    values = values_of(tmp_path / "kept/output.json")
    assert values["BLEU, 1-2 words"] == pytest.approx(100)
    assert 50 < values["BLEU, 1-3 words"] < 99
    assert check(tmp_path / "kept", texts) == 0
    for wrong in ("4-9", "x"):
        assert keep(words=[*words, wrong]) == 1


def test_corrections_are_counted_that_come_out(keep: Keep, tmp_path: Path, texts: Path) -> None:
    paths = write(texts, output=["a b", "c d ", "e"], right=["a b", "c d", "f"], short=["a b"])
    assert keep(words=["equal", paths["output"], paths["right"]]) == 0
    assert values_of(tmp_path / "kept/output.json") == {"equal lines": 2}
    assert check(tmp_path / "kept", texts) == 0
    assert keep(words=["equal", paths["output"], paths["short"]]) == 1


def test_markup_has_its_shares(keep: Keep, tmp_path: Path, texts: Path) -> None:
    paths = write(
        texts,
        source=["<b>a</b> b c d", "<i>a</i>", "a"],
        reference=["<b>x</b> y z u", "<i>z</i>", "x"],
        output=["<b>x</b> y z u", "z", "x"],
    )
    words = [paths[name] for name in ("output", "source", "reference")]
    assert keep(words=["markup", *words, "de"]) == 0
    assert values_of(tmp_path / "kept/output.json") == {
        "lines with all markup": pytest.approx(200 / 3),
        "elements with the reference's words": 50,
        "BLEU of the text": pytest.approx(100),
        "chrF of the text": pytest.approx(100),
    }
    assert check(tmp_path / "kept", texts) == 0
    assert keep(words=["markup", *words[:2], paths["source"].replace("source", "no"), "de"]) == 1


@pytest.mark.parametrize("form", [[], ["tokens"]])
def test_rare_words_have_their_figures(
    form: list[str], keep: Keep, tmp_path: Path, texts: Path
) -> None:
    paths = write(
        texts,
        output=["un chien de Mia est noir", "deux chats dorment ici"],
        reference=["un chien de Mia est blanc", "deux chats dorment ici"],
        source=["a dog of Mia is white", "two cats sleep here"],
        train=["a dog is white", "two cats sleep here"],
    )
    words = [paths[name] for name in ("output", "reference", "source", "train")]
    assert keep(words=["rare-words", *words, "en-fr", *form]) == 0
    values = values_of(tmp_path / "kept/output.json")
    assert values["BLEU, others"] == pytest.approx(100)
    assert 100 > values["BLEU, all"] > values["BLEU, rare"] > 0
    assert (values["names kept, rare"], values["names kept, all"]) == (1, 1)
    assert check(tmp_path / "kept", texts) == 0
    assert keep(words=["rare-words", *words[:3], paths["source"], "en-fr"]) == 1


def test_evaluations_that_were_recorded_are_kept(tmp_path: Path, texts: Path) -> None:
    words = ["evaluate", str(texts / "test.hyp"), str(texts / "test.fr"), *OPTIONS]
    figures = evaluation(*words[1:])
    measures = [{"name": name, **figure} for name, figure in figures.items()]
    for name, some in (("a.all", measures), ("none", [])):
        result = {"systems": [{"measures": some}]}
        (texts / f"{name}.json").write_text(json.dumps(result))
    (texts / "a.all.args").write_text("".join(f"{word}\n" for word in words))
    files = [str(tmp_path), str(texts / "a.all.json"), str(texts / "none.json")]
    kept = str(tmp_path / "kept")
    command = ["keep", kept, "--system", "s", "--recorded", *files]
    assert kept_outputs.main(command) == 0
    assert (tmp_path / "kept/texts/test.hyp.gz").is_file()
    assert check(tmp_path / "kept", texts) == 0
    (texts / "a.all.args").unlink()
    assert kept_outputs.main(command) == 1


@pytest.mark.parametrize("has_text", [True, False])
def test_scores_that_were_recorded_are_kept(has_text: bool, tmp_path: Path) -> None:
    (tmp_path / "rnn/model.1").mkdir(parents=True)
    (tmp_path / "rnn/model.1/dev.scores").write_text("-2.0\n-4.0\n")
    (tmp_path / "rnn/text").mkdir()
    if has_text:
        (tmp_path / "rnn/text/dev.tgt").write_text("a b\nc\n")
    files = [str(tmp_path), str(tmp_path / "rnn/model.1/dev.scores")]
    command = ["keep", str(tmp_path / "kept"), "--system", "s", "--recorded", *files]
    assert kept_outputs.main(command) == 0
    values = values_of(tmp_path / "kept/rnn/model.1/dev.scores.json")
    perplexity = {"perplexity": pytest.approx(math.exp(6 / 5))} if has_text else {}
    assert values == {"NLL": 3, **perplexity}
    assert check(tmp_path / "kept", tmp_path / "rnn/text") == 0


def test_a_record_cannot_write_files(keep: Keep, tmp_path: Path, texts: Path) -> None:
    keep()
    record = json.loads((tmp_path / "kept/test.hyp.json").read_text())
    record["figures"][0]["computation"] += ["--output", str(tmp_path / "written")]
    (tmp_path / "kept/test.hyp.json").write_text(json.dumps(record))
    assert check(tmp_path / "kept", texts) == 1
    assert not (tmp_path / "written").exists()


def test_a_missing_output_is_reported(
    keep: Keep, tmp_path: Path, texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep()
    (tmp_path / "kept/test.hyp.gz").unlink()
    assert check(tmp_path / "kept", texts) == 1
    assert "test.hyp.gz: missing" in capsys.readouterr().err


def test_scores_have_their_mean_cost_and_perplexity(
    keep: Keep, tmp_path: Path, texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values, tokens = [-3.5, -12.25, -0.5], sum(len(line.split()) + 1 for line in REFERENCE)
    (texts / "scores").write_text("".join(f"{value}\n" for value in values))
    words = ["score", str(texts / "scores"), str(texts / "test.fr")]
    assert keep(words=words) == 0
    figures = json.loads((tmp_path / "kept/scores.json").read_text())["figures"][0]["values"]
    assert figures["NLL"]["value"] == pytest.approx(16.25 / 3)
    assert figures["perplexity"]["value"] == pytest.approx(math.exp(16.25 / tokens))
    assert check(tmp_path / "kept", texts) == 0
    assert keep(words=words[:2]) == 0  # costs alone need no reference
    (texts / "test.fr").write_text("a\n")
    capsys.readouterr()
    assert keep(words=words) == 1
    assert "scores: 3 scores of 1 references" in capsys.readouterr().err
    (texts / "scores").write_text("-1\nx\n")
    assert keep(words=words[:2]) == 1
    assert "could not convert string to float: 'x'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate"],
        ["align", "a", "b"],
        ["evaluate", "nothing", "nowhere"],
        ["aer", "links", "x"],
        ["aer", __file__],
        ["score", __file__],
        ["score", __file__, __file__, __file__],
    ],
)
def test_a_wrong_computation_is_one_line(
    keep: Keep, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert keep(words=words) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_gold_links_of_other_sentences_are_one_line(
    keep: Keep, texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (texts / "links").write_text("0-0\n")
    (texts / "gold").write_text("0-0\n0-0\n")
    assert keep(words=["aer", str(texts / "links"), str(texts / "gold")]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_folder_inside_another_has_checksums_of_its_own(
    keep: Keep, tmp_path: Path, texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, inner = tmp_path / "kept", tmp_path / "kept/race"
    pair = [str(texts / "test.hyp"), str(texts / "test.fr")]
    fixed = ["--system", "a system", "--", "evaluate", *pair, *OPTIONS]
    assert kept_outputs.main(["keep", str(inner), "--name", "five", *fixed]) == 0
    assert keep("--name", "news") == 0
    assert "race" not in (kept / "SHA256SUMS").read_text()
    assert (check(kept, texts), check(inner, texts)) == (0, 0)
    assert keep("--name", "race/ten") == 0
    assert "ten.gz" in (inner / "SHA256SUMS").read_text()
    assert (check(kept, texts), check(inner, texts)) == (0, 0)
    capsys.readouterr()
    (inner / "ten.gz").write_bytes(gzip.compress(b"x\n" * 3))
    (inner / "five.json").unlink()
    assert check(kept, texts) == 1
    errors = capsys.readouterr().err
    assert "race/ten.gz: not the file of race/SHA256SUMS" in errors
    assert "race/five.json: missing" in errors


def test_what_is_kept_here_is_whole_and_what_the_documents_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And its figures are computed again, where the reference can be made: the long sentences."""
    # as examples/papers/Makefile writes them
    grammar = [str(kept_outputs.ROOT / "examples/toy-en-fr/generate.py"), "--seed", "2"]
    sizes = "--train 0 --dev 0 --test 800 --min-words 31 --max-words 60".split()
    subprocess.run([sys.executable, *grammar, *sizes, "--output", tmp_path / "raw"], check=True)
    lines = (tmp_path / "raw/test.fr").read_text().splitlines()
    tokens = [" ".join(Tokenizer("fr").tokenize(line)) for line in lines]
    (tmp_path / "long.tgt").write_text("\n".join([*tokens, ""]))
    assert check(kept_outputs.ROOT / "examples/outputs", tmp_path) == 0
    found = re.search(r"(\d+) figures are equal, 0 differ", capsys.readouterr().err)
    assert found is not None and int(found[1]) >= 16
    assert check(kept_outputs.ROOT / "examples/wmt14-en-fr/outputs") == 0


def test_a_folder_without_outputs_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(tmp_path) == 1
    assert "nothing was kept there" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "--recorded needs a folder, and the files to keep"),
        ("x", "a.json: not the JSON of nmtkit evaluate"),
        ("[3]", "a.json: not the JSON of nmtkit evaluate"),
        ('{"systems": []}', "a.json: not the JSON of nmtkit evaluate"),
    ],
)
def test_files_that_hold_no_evaluation_are_named(
    content: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [] if content is None else [str(tmp_path / "a.json")]
    for file in files:
        Path(file).write_text(str(content))
    command = ["keep", str(tmp_path / "kept"), "--system", "s", "--recorded", str(tmp_path), *files]
    assert kept_outputs.main(command) == 1
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not (tmp_path / "kept").exists()


def test_a_list_is_no_record(
    keep: Keep, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep()
    (tmp_path / "kept/test.hyp.json").write_text("[3]")
    assert check(tmp_path / "kept") == 1
    assert "test.hyp.json: not a record of a kept output" in capsys.readouterr().err
