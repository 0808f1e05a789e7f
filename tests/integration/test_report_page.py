"""`nmtkit report` from models and a test set to a page whose scores equal those of `evaluate`."""

import json
import re
import shlex
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from nmtkit.report.page_curves import TITLES
from nmtkit.report.page_tables import MINUS

Nmtkit = Callable[..., Result]
Tables = dict[str, list[list[str]]]
FIGURE = re.compile(r"([-+]?\d+\.\d+)(?: \[(.+), (.+)\])?")


class Page(HTMLParser):
    """A parsed page: its tables by caption, its JSON data by id, its links and its commands."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: Tables = {}
        self.data: dict[str, Any] = {}
        self.commands: list[str] = []
        self.links: list[str] = []
        self._rows: list[list[str]] = []
        self._text: list[str] | None = None
        self._data_id: str | None = None
        self._caption = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.links += [str(v) for k, v in attrs if k in ("src", "href", "action", "srcset")]
        if tag == "table":
            self._rows = []
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th", "caption") or (
            tag == "pre" and attributes.get("class") == "commands"
        ):
            self._text = []
        elif tag == "script" and attributes.get("type") == "application/json":
            self._text, self._data_id = [], attributes["id"]

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        text = "".join(self._text or []).strip()
        if tag in ("td", "th"):
            self._rows[-1].append(" ".join(text.split()))
        elif tag == "caption":
            self._caption = text
        elif tag == "table":
            self.tables[self._caption] = self._rows
        elif tag == "pre" and self._text:
            self.commands = text.splitlines()
        elif tag == "script" and self._data_id:
            self.data[self._data_id], self._data_id = json.loads(text), None
        else:
            return
        self._text = None


def numbers(cell: str) -> list[str]:
    """Return the value of a cell and the ends of its interval as strings."""
    match = FIGURE.match(cell.replace(MINUS, "-"))
    assert match, cell
    return [number for number in match.groups() if number is not None]


@pytest.fixture(scope="module")
def second(
    prepared: Path,
    small_options: Callable[[str], list[str]],
    nmtkit: Nmtkit,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Train a second model, of a kind without alignments."""
    folder = tmp_path_factory.mktemp("second") / "enc"
    options = ["--recipe", "rnnenc-30", "--device", "cpu", *small_options("rnnenc-30")]
    nmtkit("train", prepared, "--output", folder, *options, "--set", "training.seed=3")
    return folder


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a test set of 40 raw lines, some of them unusual, and return its folder."""
    folder = tmp_path_factory.mktemp("texts")
    names = "zero one two three four five six seven eight nine".split()
    noms = "zéro un deux trois quatre cinq six sept huit neuf".split()
    pairs = []
    for line in range(40):
        digits = [(line * 7 + position * position) % 10 for position in range(1 + line * 5 % 24)]
        pairs.append(
            (" ".join(names[d] for d in digits) + ".", " ".join(noms[d] for d in digits) + ".")
        )
    pairs[3] = ("", "")
    pairs[5] = ("</script><script>boom()</script>", '<b>l\'été</b> & \u2028 "deux"')
    pairs[7] = ("two unheard-of (words), well", "deux mots 50 % inouïs !")
    for side, number in (("en", 0), ("fr", 1)):
        (folder / f"test.{side}").write_text("".join(f"{pair[number]}\n" for pair in pairs))
    return folder


@pytest.fixture(scope="module")
def reported(
    model: Path, second: Path, texts: Path, nmtkit: Nmtkit, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Page, Path]:
    """Report on two models and a file of translations; return the page and its folder."""
    folder = tmp_path_factory.mktemp("reported")
    (folder / "other.txt").write_text((texts / "test.fr").read_text().replace("un ", "deux "))
    run = ["report", model, second, "--source", texts / "test.en", "--reference", texts / "test.fr"]
    options = ["--system", "Other <b>", folder / "other.txt", "--device", "cpu", "--bootstrap", 50]
    result = nmtkit(*run, *options, "-o", folder / "page.html")
    assert result.stdout == "" and "40 sentences, model, enc and Other <b>" in result.stderr
    return Page((folder / "page.html").read_text(encoding="utf-8")), folder


def run_evaluate_commands(
    reported: tuple[Page, Path],
    models: list[Path],
    texts: Path,
    nmtkit: Nmtkit,
    monkeypatch: pytest.MonkeyPatch,
) -> list[dict[str, Any]]:
    """Run the commands that the page shows, and return their JSON output."""
    page, folder = reported
    for path in models:
        translated = nmtkit("translate", "-m", path, "--device", "cpu", texts / "test.en").stdout
        (folder / f"{path.name}.hyp").write_text(translated, encoding="utf-8")
    (folder / "Other <b>.hyp").write_bytes((folder / "other.txt").read_bytes())
    monkeypatch.chdir(folder)
    words = [shlex.split(command) for command in page.commands]
    assert all(command[:2] == ["nmtkit", "evaluate"] for command in words)
    return [json.loads(nmtkit(*command[1:], "--json").stdout) for command in words]


def test_every_figure_equals_that_of_evaluate(
    reported: tuple[Page, Path],
    model: Path,
    second: Path,
    texts: Path,
    nmtkit: Nmtkit,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tables = reported[0].tables
    overall, *parts = run_evaluate_commands(reported, [model, second], texts, nmtkit, monkeypatch)
    rows = tables.pop("Scores on the whole test set, in percent")[1:]
    assert len(rows) == 4
    measured = zip(*(system["measures"] for system in overall["systems"]), strict=True)
    for row, measures in zip(rows, measured, strict=True):
        assert row[0] == measures[0]["name"]
        assert [numbers(cell) for cell in row[1:]] == [formatted(measure) for measure in measures]
    pairs = {(p["first"], p["second"], p["measure"]): p for p in overall["pairs"]}
    header, *rows = tables.pop("Differences between systems")
    assert len(rows) == 3
    for row in rows:
        later, _, earlier = row[0].partition(f" {MINUS} ")
        for measure, cell in zip(header[1:], row[1:], strict=True):
            pair = pairs.pop((earlier, later, measure))
            sign = "≤" if pair["p"] < 0.0197 else "="  # the smallest p of 50 samples is 1 / 51
            expected = f"{pair['difference']:+.2f} p {sign} {pair['p']:.3f}".replace("-", MINUS)
            assert cell == expected
    assert not pairs
    signatures = [[m["name"], m["signature"]] for m in overall["systems"][0]["measures"]]
    assert tables.pop("Signatures of the metrics")[1:] == signatures
    assert len(parts) == 3
    for part in parts:
        (title,) = {TITLES[bucket["by"]].lower() for bucket in part["buckets"]}
        rows = tables.pop(f"BLEU (multi-bleu) {title}")[1:]
        for row, bucket in zip(rows, part["buckets"], strict=True):
            assert row[1] == str(bucket["sentences"])
            figures = bucket["figures"].get("BLEU (multi-bleu)")
            for index, system in enumerate(overall["systems"]):
                cell = row[2 + index]
                assert (
                    numbers(cell) == formatted(figures[system["name"]]) if figures else cell == "–"
                )


def formatted(score: dict[str, Any]) -> list[str]:
    ends = score["interval"]
    return [
        f"{score['value']:.2f}",
        *([f"{ends[e]:.2f}" for e in ("low", "high")] if ends else []),
    ]


def test_the_page_holds_the_output_of_translate(
    reported: tuple[Page, Path], model: Path, texts: Path, nmtkit: Nmtkit
) -> None:
    page, _ = reported
    lines = nmtkit("translate", "-m", model, "--device", "cpu", texts / "test.en").stdout
    scored = nmtkit("translate", "-m", model, "--device", "cpu", "--scores", texts / "test.en")
    columns = (text.split("\n")[:-1] for text in (lines, scored.stdout))
    rows = zip(page.data["sentences"], *columns, strict=True)
    for (_, _, (output, *_)), text, score in rows:
        (words, joined, *exact_text), _, log_prob, *_ = output
        detokenized = "".join(
            word if index in joined or not index else f" {word}"
            for index, word in enumerate(words.split(" "))
        )
        assert (exact_text[0] if exact_text else detokenized) == text
        assert log_prob == pytest.approx(float(score.split("\t")[0]), abs=1e-3)


def test_the_page_is_self_contained(reported: tuple[Page, Path]) -> None:
    page, folder = reported
    assert all(link.startswith(("#", "data:")) for link in page.links)
    text = (folder / "page.html").read_text(encoding="utf-8")
    assert "boom()</script>" not in text and "Other <b>" not in text
    assert "\u2028" not in text
    assert text.count("</script>") == 3
    assert page.data["about"]["systems"] == [
        {"name": "model", "aligns": True, "model": True},
        {"name": "enc", "aligns": False, "model": True},
        {"name": "Other <b>", "aligns": False, "model": False},
    ]
    for expected in ("nmtkit train", "20 train pairs, 6 dev pairs", "hidden = 8", "2 updates"):
        assert expected in text


def test_tokenised_text_and_one_model(model: Path, nmtkit: Nmtkit, tmp_path: Path) -> None:
    """Without a second system there are no differences; tokenised text is measured as such."""
    (tmp_path / "src").write_text("one two .\nthree\n")
    (tmp_path / "ref").write_text("un deux .\ntrois\n")
    run = [
        "report",
        model,
        "--source",
        tmp_path / "src",
        "--reference",
        tmp_path / "ref",
        "--device",
        "cpu",
    ]
    nmtkit(*run, "--tokenized", "--beam", 2, "--bootstrap", 0, "-o", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = Page(text)
    assert "Differences between systems" not in page.tables
    assert "--tokenized -t fr --bootstrap 0" in page.commands[0]
    assert "beam 2" in text
    assert all(
        len(s[2][0][7]) <= 1 for s in page.data["sentences"]
    )  # a beam of 2 has one alternative
    again = nmtkit(*run, "-o", tmp_path / "page.html", status=1)
    assert "exists already; use --force" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing option '--source'"),
        (["MODEL"], "Missing option '--source'"),
        (["MODEL", "--source", "SRC"], "Missing option '--reference'"),
        (["--source", "SRC", "--reference", "REF"], "MODEL or --model is needed"),
        (["MODEL", "--source", "SRC", "--reference", "REF", "--column", 5], "No such option"),
        (["MODEL", "--test", "SRC", "REF", "--pairs", 5], "No such option '--pairs'"),
        (["--phrase-table", "x", "--tokenized"], "No such option '--tokenized'"),
        (["--phrase-table", "x", "--beam", 3], "No such option '--beam'"),
        (["--phrase-table", "x", "MODEL"], "unexpected argument"),
        (["--phrase-table", "x"], "--model or --column is needed"),
    ],
)
def test_options_of_the_other_kind_of_report_are_refused(
    arguments: list[str], message: str, nmtkit: Nmtkit, tmp_path: Path
) -> None:
    result = nmtkit("report", *arguments, "-o", tmp_path / "out", status=2)
    assert message in result.stderr and not (tmp_path / "out").exists()


def test_errors_give_one_line_and_no_page(
    model: Path, language_model: Path, texts: Path, nmtkit: Nmtkit, tmp_path: Path
) -> None:
    src, ref = texts / "test.en", texts / "test.fr"
    (tmp_path / "short").write_text("un\n")
    (tmp_path / "empty").write_text("")
    for models, (source, reference), message in (
        ([model], [src, tmp_path / "short"], "test.en has 40, "),
        ([model], [tmp_path / "empty", tmp_path / "empty"], "is empty; a report needs sentences"),
        ([model], [src, tmp_path / "none"], "none: cannot be read"),
        ([tmp_path], [src, ref], "no config.toml"),
        ([language_model], [src, ref], "a language model does not translate"),
        ([model, model], [src, ref], "two systems are called"),
    ):
        files = ["--source", source, "--reference", reference, "-o", tmp_path / "out"]
        result = nmtkit("report", *models, *files, status=1)
        lines = [line for line in result.stderr.splitlines() if "error" in line]
        assert len(lines) == 1 and message in lines[0], result.stderr
        assert not (tmp_path / "out").exists()
