"""`nmtkit translate` through the real command line, with a model of two updates."""

import bz2
import gzip
import io
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import torch
import zstandard
from click.testing import Result

from nmtkit.cli.translate import Outputs, _write_translations
from nmtkit.cli.writers import PLAIN, n_best_lines
from nmtkit.inference.stream_batching import LineStream
from nmtkit.inference.translation import Translation, empty_translation
from nmtkit.inference.word_alignment import Alignment

Nmtkit = Callable[..., Result]

LINES = ["one two three", "", "seven", "   ", "nine zero four one two", "hello one"]
N_BEST_LINE = re.compile(r"(\d+) \|\|\| (.*) \|\|\| nmtkit0= (-?\d+\.\d+) \|\|\| (-?\d+\.\d+)")


def rows(result: Result) -> list[str]:
    assert result.stdout.endswith("\n")
    return result.stdout.split("\n")[:-1]


def test_each_line_has_one_line(translate):
    translations = rows(translate(LINES))
    assert len(translations) == len(LINES)
    assert [bool(line) for line in translations] == [bool(line.strip()) for line in LINES]


def test_the_form_of_a_text_does_not_change_its_translation(nmtkit, model, translate, tmp_path):
    expected = translate(LINES).stdout
    text = "".join(f"{line}\n" for line in LINES)
    returns = ("\ufeff" + text.replace("\n", "\r\n")).encode()
    zipped = zstandard.compress(text.encode())
    command = ("translate", "-m", model, "--device", "cpu")
    (tmp_path / "text.gz").write_bytes(returns)
    for data in (returns, zipped, lzma.compress(returns), bz2.compress(text.encode())):
        assert nmtkit(*command, input=data).stdout == expected
    result = nmtkit(*command, tmp_path / "text.gz")
    assert result.stdout == expected
    assert result.stderr.count("text.gz: ") == 2
    assert "byte order mark" in result.stderr and "carriage returns" in result.stderr


def test_what_is_no_text_is_not_translated(nmtkit, model):
    for data, kind in (
        (LINES[0].encode("utf-16"), "UTF-16"),
        (b"PK\x03\x04\x14\0", "a zip archive"),
    ):
        result = nmtkit("translate", "-m", model, "--device", "cpu", input=data, status=1)
        assert result.stdout == ""
        assert f"error: stdin: looks like {kind}" in result.stderr


def test_results_do_not_depend_on_neighbours_or_batch_size(translate):
    batched = rows(translate(LINES, "--scores"))
    for line, expected in zip(LINES, batched, strict=True):
        [alone] = rows(translate([line], "--scores", "--batch-size", 1))
        assert alone.split("\t")[1:] == expected.split("\t")[1:]
        score, expected_score = alone.split("\t")[0], expected.split("\t")[0]
        assert float(score) == pytest.approx(float(expected_score), abs=1e-4)


def test_json_has_what_the_other_formats_have(translate):
    records = [json.loads(line) for line in rows(translate(LINES, "--json", "--n-best", 2))]
    assert len(records) == len(LINES)
    n_best = [N_BEST_LINE.fullmatch(line) for line in rows(translate(LINES, "--n-best", 2))]
    entries = [(str(i), t) for i, record in enumerate(records) for t in record["translations"]]
    for (number, entry), line in zip(entries, n_best, strict=True):
        assert line is not None and (number, entry["text"]) == line.groups()[:2]
        assert entry["score"] == pytest.approx(float(line[3]), abs=1e-5)
        assert entry["ranking_score"] == pytest.approx(float(line[4]), abs=1e-5)
        assert sum(entry["word_scores"]) == pytest.approx(entry["score"], abs=1e-5)
        assert len(entry["word_scores"]) == len(entry["tokens"]) + entry["finished"]
    assert [" ".join(record["source_tokens"]) for record in records[:2]] == ["one two three", ""]


def test_lines_end_at_newlines_only(translate):
    lines = ["one\r", "two\u2028three", "four\u0085", "five\x0csix", "\ufeffseven"]
    assert len(rows(translate(lines))) == len(lines)
    assert len(rows(translate([*lines, "no newline"]))) == len(lines) + 1


def test_the_last_line_needs_no_newline(nmtkit, model):
    result = nmtkit("translate", "-m", model, input="one\ntwo")
    assert len(rows(result)) == 2
    assert nmtkit("translate", "-m", model, input="").stdout == ""


def test_invalid_utf8_is_translated_with_a_warning(nmtkit, model):
    result = nmtkit("translate", "-m", model, input=b"one\ntw\xe9\nthree\n")
    assert len(rows(result)) == 3
    warnings = [line for line in result.stderr.splitlines() if "not UTF-8" in line]
    assert len(warnings) == 1 and "stdin:2" in warnings[0]


def test_n_best_is_moses_format_best_first(translate):
    matches = [
        N_BEST_LINE.fullmatch(line)
        for line in rows(translate(LINES, "--n-best", 4, "--beam", 6, "--length-penalty", 0.5))
    ]
    assert all(matches)
    entries = [(int(m[1]), m[2], float(m[3]), float(m[4])) for m in matches if m]
    assert [n for n, *_ in entries] == sorted(n for n, *_ in entries)
    assert {n for n, *_ in entries} == set(range(len(LINES)))
    for number, line in enumerate(LINES):
        ranks = [rank for n, _, _, rank in entries if n == number]
        assert ranks == sorted(ranks, reverse=True)
        assert 1 <= len(ranks) <= (4 if line.strip() else 1)
    best = rows(translate(LINES, "--beam", 6, "--length-penalty", 0.5))
    assert [next(text for n, text, *_ in entries if n == i) for i in range(len(LINES))] == best


def test_the_coverage_penalty_reorders_the_hypotheses_of_the_beam(translate):
    """With and without it the hypotheses are the same; they are sorted by their last field."""
    options = ["--beam", 6, "--length-penalty", 0.5, "--n-best"]
    beam = {line.rsplit(" ||| ", 1)[0] for line in rows(translate(LINES, *options, 6))}
    entries = rows(translate(LINES, *options, 3, "--coverage-penalty", 2))
    assert {line.rsplit(" ||| ", 1)[0] for line in entries} <= beam
    assert entries != rows(translate(LINES, *options, 3))
    for number in range(len(LINES)):
        of_sentence = [line for line in entries if line.startswith(f"{number} |||")]
        ranks = [float(line.rsplit(" ||| ", 1)[1]) for line in of_sentence]
        assert ranks == sorted(ranks, reverse=True)
    best = rows(translate(LINES, *options[:-1], "--coverage-penalty", 2))
    first = [
        next(line for line in entries if line.startswith(f"{n} |||")) for n in range(len(LINES))
    ]
    assert best == [line.split(" ||| ")[1] for line in first]


def test_a_list_longer_than_the_beam_is_an_error(translate):
    result = translate(LINES, "--n-best", 5, "--beam", 4, status=1)
    assert "beam of 4" in result.stderr and result.stdout == ""


def test_scores_are_those_of_score(translate, nmtkit, model, tmp_path):
    """Law: `score` gives a translation the score that `translate` printed."""
    lines = [line for line in LINES if line.strip()]
    (tmp_path / "src").write_text("".join(f"{line}\n" for line in lines))
    for options in ([], ["--beam", 1], ["--no-unk", "--beam-mode", "bounded"], ["--stop", "exact"]):
        translations = rows(translate(lines, "--scores", "--tokenized", *options))
        finished = [row.split("\t") for row in translations if not row.endswith("unfinished")]
        numbers = [n for n, row in enumerate(translations) if not row.endswith("unfinished")]
        (tmp_path / "src").write_text("".join(f"{lines[n]}\n" for n in numbers))
        (tmp_path / "tgt").write_text("".join(f"{text}\n" for _, text in finished))
        if any("<unk>" in text for _, text in finished):
            assert "--no-unk" not in options
        scored = nmtkit("score", "-m", model, "--tokenized", tmp_path / "src", tmp_path / "tgt")
        assert [float(row) for row in rows(scored)] == pytest.approx(
            [float(score) for score, _ in finished], abs=1e-4
        )


def test_an_unfinished_translation_is_marked(translate):
    result = translate(["one"] * 3, "--scores", "--max-length-ratio", 0.1, "--beam", 1)
    unfinished = [row for row in rows(result) if row.endswith("\tunfinished")]
    assert ("unfinished" in result.stderr) == bool(unfinished)


def test_options_default_to_the_settings_of_the_model(translate, model):
    settings = (model / "config.toml").read_text()
    beam = re.search(r"^beam = (\d+)", settings, re.M)
    assert beam
    assert rows(translate(LINES, "--scores")) == rows(
        translate(LINES, "--scores", "--beam", beam[1])
    )


def test_an_ensemble_of_one_model_twice_is_that_model(translate, model):
    once = rows(translate(LINES, "--scores"))
    twice = rows(translate(LINES, "--scores", "-m", model))
    for one, other in zip(once, twice, strict=True):
        assert one.split("\t")[1:] == other.split("\t")[1:]
        assert float(one.split("\t")[0]) == pytest.approx(float(other.split("\t")[0]), abs=1e-4)


def test_models_of_an_ensemble_can_be_weighted(translate, model, nmtkit, tmp_path):
    """Whatever its weights, an ensemble of one model twice is that model."""
    once = rows(translate(LINES, "--scores"))
    for options in (["--weights", "1,3"], ["--average", "logs"]):
        twice = rows(translate(LINES, "--scores", "-m", model, *options))
        for one, other in zip(once, twice, strict=True):
            assert one.split("\t")[1:] == other.split("\t")[1:]
    (tmp_path / "x").write_text("one\n")
    both = ["-m", model, "-m", model, tmp_path / "x", tmp_path / "x"]
    unweighted = float(nmtkit("score", *both).stdout)
    assert float(nmtkit("score", *both, "--weights", "2,1", "--average", "logs").stdout) == (
        pytest.approx(unweighted, abs=1e-4)
    )
    refused = translate(LINES, "-m", model, "--weights", "1", status=1)
    assert "1 weight for 2 models" in refused.stderr
    assert "not a list of numbers" in translate(LINES, "--weights", "a,b", status=2).stderr


def test_alignments_go_to_their_file(translate, tmp_path):
    for form in ("hard", "soft"):
        path = tmp_path / form
        translate(LINES, "--alignments", path, "--alignment-format", form, "--tokenized")
    hard = (tmp_path / "hard").read_text().split("\n")[:-1]
    soft = [json.loads(row) for row in (tmp_path / "soft").read_text().split("\n")[:-1]]
    texts = rows(translate(LINES, "--tokenized"))
    assert len(hard) == len(soft) == len(LINES)
    for line, text, links, table in zip(LINES, texts, hard, soft, strict=True):
        assert table["source"] == [*line.split(), "</s>"]
        assert [w for w in table["target"] if w != "</s>"] == text.split()
        assert len(table["alignment"]) == len(table["target"])
        for weights in table["alignment"]:
            assert len(weights) == len(table["source"])
            assert sum(weights) == pytest.approx(1, abs=1e-4)
        expected = [
            f"{max(range(len(line.split())), key=weights.__getitem__)}-{j}"
            for j, weights in enumerate(table["alignment"][: len(text.split())])
            if line.split()
        ]
        assert links.split() == expected


@pytest.mark.parametrize("option", ["--n-best", "--sample"])
def test_alignments_are_in_the_order_of_the_list(translate, tmp_path, option):
    listed = rows(translate(LINES, option, 3, "--alignments", tmp_path / "a", "--tokenized"))
    links = (tmp_path / "a").read_text().split("\n")[:-1]
    for entry, row in zip(listed, links, strict=True):
        assert len(row.split()) == len(entry.split(" ||| ")[1].split())


def test_samples_depend_on_seed_and_line_alone(translate):
    def samples(lines: list[str], *options: object) -> list[tuple[str, ...]]:
        entries = rows(translate(lines, "--sample", 3, *options))
        assert len(entries) == 3 * len(lines)
        return [tuple(row.split(" ||| ")[:2]) for row in entries]

    first = samples(LINES, "--seed", 5)
    assert first == samples(LINES, "--seed", 5, "--batch-size", 1)
    assert first != samples(LINES, "--seed", 6)
    others = samples(["nine", "eight", *LINES[2:]], "--seed", 5)
    assert first[6:] == others[6:] != first[:6]


def test_samples_obey_the_minimum_length(translate):
    def shortest(*options: object) -> list[int]:
        entries = rows(translate(LINES, "--sample", 20, "--tokenized", *options))
        lengths: dict[str, list[int]] = {}
        for number, text, *_ in (entry.split(" ||| ") for entry in entries):
            lengths.setdefault(number, []).append(len(text.split()))
        return [min(values) for values in lengths.values()]

    for words, line in zip(shortest("--min-length-ratio", 2), LINES, strict=True):
        assert words + 1 > 2 * (len(line.split()) + 1) or not line.strip()  # both with </s>
    assert shortest() != shortest("--min-length-ratio", 2)


def test_samples_are_counted(translate):
    samples = rows(translate(LINES, "--sample", 40))
    counted = rows(translate(LINES, "--sample", 40, "--counts"))
    for number, line in enumerate(LINES):
        texts = [row.split(" ||| ")[1] for row in samples if row.startswith(f"{number} |||")]
        fields = [row.split(" ||| ") for row in counted if row.startswith(f"{number} |||")]
        counts = [int(field[2].split("count= ")[1]) for field in fields]
        assert sum(counts) == 40 and counts == sorted(counts, reverse=True)
        if line.strip():
            assert len(counts) > 1
        for field, count in zip(fields, counts, strict=True):
            assert texts.count(field[1]) >= count  # an unfinished one may have the same text
            assert field[2].startswith("nmtkit0= ")
    for options in (["--counts"], ["--sample", 2, "--counts", "--alignments", "x"]):
        assert "--counts" in translate(LINES, *options, status=2).stderr


def test_one_sample_a_line_is_plain_text(translate):
    assert len(rows(translate(LINES, "--sample", 1))) == len(LINES)
    scored = rows(translate(LINES, "--sample", 1, "--scores"))
    assert all(float(row.split("\t")[0]) <= 0 for row in scored)


@pytest.mark.parametrize(
    "option", [["--top-k", 1], ["--top-p", 1e-9], ["--temperature", 1e-6]], ids=str
)
def test_samples_of_the_most_probable_tokens_are_what_a_beam_of_1_finds(translate, option):
    assert rows(translate(LINES, "--sample", 1, *option)) == rows(translate(LINES, "--beam", 1))


def test_a_very_long_line_does_not_stop_the_stream(translate):
    long = " ".join(["one two three four five"] * 400)
    translations = rows(translate(["one", long, "two"], "--max-length-ratio", 0.05, "--beam", 2))
    assert len(translations) == 3 and all(translations)


def test_bfloat16_gives_nearly_the_same_scores(translate):
    exact = rows(translate(LINES, "--scores", "--precision", "float32"))
    rounded = rows(translate(LINES, "--scores", "--precision", "bfloat16"))
    scores = [[float(row.split("\t")[0]) for row in each] for each in (exact, rounded)]
    assert scores[0] == pytest.approx(scores[1], abs=0.05) and scores[0] != scores[1]


def test_quantized_models_have_nearly_the_same_scores(translate):
    exact = [float(row.split("\t")[0]) for row in rows(translate(LINES, "--scores"))]
    for options in ([], ["--batch-size", 1]):
        quantized = rows(translate(LINES, "--scores", "--quantize", *options))
        assert [float(row.split("\t")[0]) for row in quantized] == pytest.approx(exact, abs=0.05)


@pytest.mark.parametrize("option", [["--scores"], ["--sample", 2], ["--n-best", 2]])
def test_candidates_that_cover_the_vocabulary_change_nothing(translate, tmp_path, option):
    """The 100 most frequent words are always candidates, and the model has only 12 words."""
    (tmp_path / "table").write_text("un one 0.9\ndeux two 0.9\n")
    translations = rows(translate(LINES, "--candidates", tmp_path / "table", *option))
    for row, expected in zip(translations, rows(translate(LINES, *option)), strict=True):
        without_numbers = [re.sub(r"-?\d+\.\d+", "", line) for line in (row, expected)]
        assert without_numbers[0] == without_numbers[1]
        numbers = [[float(n) for n in re.findall(r"-?\d+\.\d+", r)] for r in (row, expected)]
        assert numbers[0] == pytest.approx(numbers[1], abs=1e-4)


def test_unknown_words_are_replaced(prepared, small, nmtkit, tmp_path):
    """Use a model with three words and `<unk>`."""
    data, folder = tmp_path / "prepared", tmp_path / "model"
    shutil.copytree(prepared, data)
    nmtkit("shortlist", data, "--size", 5, "--force")
    nmtkit("train", data, "-o", folder, "-r", "toy", *small, "--set", "training.learning_rate=0.1")
    text = "two four\n\nseven\n"
    translate = ["translate", "-m", folder, "--tokenized"]
    plain = rows(nmtkit(*translate, input=text))
    assert "<unk>" in plain[2]
    copied = rows(nmtkit(*translate, "--replace-unk", "copy", input=text))
    assert copied[1:] == ["", plain[2].replace("<unk>", "seven")] and "<unk>" not in copied[0]
    (tmp_path / "table").write_text("sept seven 0.9\nhuit seven 0.1\n")
    looked_up = rows(nmtkit(*translate, "--replace-unk", tmp_path / "table", input=text))
    assert looked_up[2] == plain[2].replace("<unk>", "sept")
    missing = ["--replace-unk", tmp_path / "no"]
    result = nmtkit("translate", "-m", folder, *missing, input=text, status=1)
    assert "cannot be read" in result.stderr and result.stdout == ""


def test_an_invalid_lexical_table_is_reported(translate, tmp_path):
    (tmp_path / "table").write_text("un one 0.9\nun one\n")
    result = translate(LINES, "--candidates", tmp_path / "table", status=1)
    assert "table:2" in result.stderr and result.stdout == ""
    missing = translate(LINES, "--candidates", tmp_path / "no", status=1)
    assert "cannot be read" in missing.stderr and len(missing.stderr.splitlines()) == 1


def test_files_in_and_out(nmtkit, model, tmp_path):
    with gzip.open(tmp_path / "in.gz", "wt") as stream:
        stream.write("one\ntwo three\n")
    target = tmp_path / "out.gz"
    options = ("translate", "-m", model, tmp_path / "in.gz", "-o", target)
    assert nmtkit(*options).stdout == ""
    with gzip.open(target, "rt", encoding="utf-8") as stream:
        assert len(stream.readlines()) == 2
    refused = nmtkit(*options, status=1)
    assert "--force" in refused.stderr
    nmtkit(*options, "--force")


def test_a_failure_leaves_no_file(nmtkit, model, tmp_path):
    missing = nmtkit("translate", "-m", model, tmp_path / "no", "-o", tmp_path / "o", status=1)
    assert "cannot be read" in missing.stderr and len(missing.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_a_model_is_reported(nmtkit, tmp_path):
    result = nmtkit("translate", "-m", tmp_path, input="one\n", status=1)
    assert "config.toml" in result.stderr and len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "options",
    [
        ["--sample", 2, "--n-best", 2],
        ["--n-best", 2, "--scores"],
        ["--json", "--scores"],
        ["--sample", 2, "--counts", "--json"],
        ["--alignments", "-"],
        ["--beam", 0],
        ["--length-penalty", -1],
        ["--coverage-penalty", -1],
        ["--max-length-ratio", 0],
    ],
)
def test_invalid_options_are_wrong_usage(translate, options):
    assert translate(LINES, *options, status=2).stdout == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sample", 2, "--beam", 3], "--sample and --beam exclude each other: samples are drawn"),
        (["--sample", 2, "--beam-mode", "bounded"], "--sample and --beam-mode exclude each other"),
        (["--sample", 2, "--stop", "exact"], "--sample and --stop exclude each other"),
        (["--seed", 2], "--seed needs --sample, --segment random or --segment random-confidence."),
        (["--top-k", 2], "--top-k needs --sample."),
        (["--top-p", 0.5], "--top-p needs --sample."),
        (["--temperature", 2], "--temperature needs --sample."),
    ],
)
def test_options_of_search_and_of_samples_are_not_ignored(translate, options, message):
    assert message in translate(LINES, *options, status=2).stderr


def test_bars_in_a_translation_are_escaped_in_the_n_best_format():
    texts = ["a ||| b", "a | b"]
    hypotheses = [Translation(text, [text], -1.5, -0.75, [-1.0, -0.5], True, []) for text in texts]
    assert n_best_lines(7, hypotheses) == [
        "7 ||| a &#124;&#124;&#124; b ||| nmtkit0= -1.500000 ||| -0.750000",
        "7 ||| a | b ||| nmtkit0= -1.500000 ||| -0.750000",
    ]


def test_alignments_of_a_line_that_arrives_alone_are_written_at_once():
    written = io.BytesIO()
    streams = Outputs(io.StringIO(), io.TextIOWrapper(written), io.StringIO())
    translation = replace(
        empty_translation(), word_alignment=Alignment(["a"], ["x"], torch.ones(1, 2))
    )

    def arriving():
        yield [translation]
        assert written.getvalue() == b"0-0\n"

    lines = cast(LineStream, SimpleNamespace(lines_read=1))
    _write_translations(arriving(), lines, streams, "text", "hard", PLAIN, str)


class Pipe:
    """A running `nmtkit translate` with pipes on both sides."""

    def __init__(self, model: Path) -> None:
        code = "from nmtkit.cli.main import main; main()"
        command = [sys.executable, "-c", code, "translate", "-m", str(model), "--threads", "1"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.stderr = self.process.stderr
        self.watchdog = threading.Timer(60, self.process.kill)
        self.watchdog.start()

    def close(self) -> bytes:
        """Wait for the end of the process, and return its stderr."""
        self.process.wait()
        self.watchdog.cancel()
        stderr = self.stderr.read()
        for stream in (self.stdin, self.stdout, self.stderr):
            try:
                stream.close()
            except BrokenPipeError:
                pass
        return stderr


@pytest.fixture
def pipe(model: Path) -> Pipe:
    return Pipe(model)


def test_a_line_that_arrives_alone_is_translated_at_once(pipe):
    """Write each line only after the translation of the previous one has arrived."""
    for line in (b"one two\n", b"\n", b"seven\n"):
        os.write(pipe.stdin.fileno(), line)
        assert pipe.stdout.readline().endswith(b"\n")
    os.write(pipe.stdin.fileno(), b"no newline")
    pipe.stdin.close()
    assert pipe.stdout.readline().strip() and pipe.stdout.read() == b""
    assert b"error" not in pipe.close() and pipe.process.returncode == 0


def test_a_closed_pipe_ends_translate_quietly(pipe):
    os.write(pipe.stdin.fileno(), b"one\n")
    pipe.stdout.readline()
    pipe.stdout.close()
    os.write(pipe.stdin.fileno(), b"two\n")
    assert pipe.close() == b""
    assert pipe.process.returncode not in (0, 1, 2)
