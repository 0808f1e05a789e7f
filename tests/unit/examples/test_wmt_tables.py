"""The tables of examples/wmt14-en-fr: published figures, ours, and missing ones."""

import csv
import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import cells
import orders
import pytest
import tables

RECIPE = Path(__file__).resolve().parents[3] / "examples" / "wmt14-en-fr"
SIGNATURES = ["tok:none", "tok:13a"]


def evaluation(bleu: float, sacrebleu: float, sentences: int = 3003) -> str:
    """Return JSON as `nmtkit evaluate --json` writes it."""
    values = zip((cells.MULTI_BLEU, cells.SACREBLEU), (bleu, sacrebleu), SIGNATURES, strict=True)
    measures = [{"name": n, "value": v, "signature": s} for n, v, s in values]
    return json.dumps({"sentences": sentences, "systems": [{"measures": measures}]})


def training(folder: Path, updates: int, hours: float) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        {"kind": "training", "update": 1, "epoch": 0.1, "seconds": 1.0},
        {"kind": "validation", "update": 100, "epoch": 0.5, "seconds": 360.0, "best": True},
        {"kind": "training", "update": 200, "epoch": 1.1, "seconds": 720.0},
        {"kind": "validation", "update": updates, "epoch": 2.5, "seconds": hours * 3600},
    ]
    lines[-1]["best"] = False
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    Path(f"{folder}.device").write_text("TITAN BLACK\n")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Write the outputs of RNNenc-30 with two seeds."""
    for seed, bleu in (("1", 10.0), ("2", 12.0)):
        folder = tmp_path / f"rnn/rnnenc-30.{seed}"
        training(folder, 800_000, 100.0)
        (folder / "test.12.all.json").write_text(evaluation(bleu, bleu / 2))
        for name in ("all", "10-20"):
            for split in ("test", "dev"):
                path = folder / f"{split}.12.no-unk.{name}.json"
                path.write_text(evaluation(bleu + 1, bleu / 2))
        for split in ("test-known", "dev-known"):
            (folder / f"{split}.12.no-unk.json").write_text(evaluation(20.0, 19.0, 400))
            (folder / f"{split}.12.10-20-no-unk.json").write_text(evaluation(20.0, 19.0, 40))
        for name in ("train30", "dev"):
            (folder / f"{name}.scores").write_text("-20\n-30\n")
    return tmp_path


def choice(
    work: Path, systems: str = "rnnenc-30", seeds: str = "1 2", params: str = "last"
) -> cells.Choice:
    reasons = {"moses": "needs the output of Moses"}
    names, numbers = frozenset(systems.split()), tuple(seeds.split())
    return cells.Choice(work, names, numbers, "12", params, reasons)


def record(work: Path, table: str, system: str, column: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = json.loads((work / "results/tables.json").read_text())
    [cell] = [
        row
        for row in found
        if (row["table"], row["system"], row["column"]) == (table, system, column)
    ]
    return cell


def test_every_row_has_a_figure_for_each_column_and_a_source_or_a_reason() -> None:
    keys = [table["key"] for table in cells.published()]
    assert len(set(keys)) == len(keys)
    for table in cells.published():
        for row in table["rows"]:
            assert len(row["published"]) == len(table["columns"]), row["name"]
            assert ("quoted" in row) != ("system" in row and "folder" in row), row["name"]


def test_settings_name_the_systems_that_the_tables_have() -> None:
    named = (RECIPE / "settings.mk").read_text() + (RECIPE / "moses.mk").read_text()
    words = set(named.replace(")", " ").replace(",", " ").split())
    systems = {row.get("system") for table in cells.published() for row in table["rows"]}
    assert systems - {None} <= words


def test_ours_is_the_mean_of_the_seeds_beside_the_published_figure(work: Path) -> None:
    tables.write(choice(work), work / "results", "mini")
    cell = record(work, "bahdanau-table-1", "RNNenc-30", "all")
    assert (cell["published"], cell["ours"], cell["seeds"]) == (13.93, 11.0, [10.0, 12.0])
    assert cell["difference"] == pytest.approx(11.0 - 13.93)
    assert (cell["sacrebleu"], cell["signatures"]) == (5.5, SIGNATURES)
    no_unk = record(work, "bahdanau-table-1", "RNNenc-30", "no UNK")
    assert (no_unk["ours"], no_unk["sentences"]) == (20.0, 400)


def test_training_reports_updates_epochs_hours_and_nll(work: Path) -> None:
    tables.write(choice(work), work / "results", "mini")
    ours = [
        record(work, "bahdanau-table-2", "RNNenc-30", name)["ours"]
        for name in ("updates, 1e5", "epochs", "hours", "train NLL", "dev NLL")
    ]
    assert ours == [8.0, 2.5, 100.0, 25.0, 25.0]
    text = (work / "results/tables.md").read_text()
    assert "| 8.0000 | 2.50 | 100.00 | TITAN BLACK | 25.0 | 25.0 |" in text
    [second] = [part for part in text.split("\n## ") if "table 2: training" in part]
    assert [
        line.split(" | ")[-1] for line in second.splitlines() if line.startswith("| RNNenc-30")
    ] == ["TITAN BLACK |"]


def test_every_table_says_which_parameters_it_has_and_counts_up_to_them(work: Path) -> None:
    for params, figures in (("last", [8.0, 2.5, 100.0]), ("best", [0.001, 0.5, 0.1])):
        tables.write(choice(work, params=params), work / "results", "mini")
        ours = [
            record(work, "bahdanau-table-2", "RNNenc-30", name)["ours"]
            for name in ("updates, 1e5", "epochs", "hours")
        ]
        assert ours == figures
        text = (work / "results/tables.md").read_text()
        run = text.count("\n## ") - text.count("None of its systems was run.")
        assert text.count(f"(params.{params}).") == run > 2


def test_the_language_model_has_the_parameters_of_its_best_validation() -> None:
    """Early stopping ends its training, so that its table says so whatever the others have."""
    [table] = cells.published("cho-phrases-cslm")
    row = cells.Row("CSLM", (cells.Cell("perplexity", 45.8, "perplexity", (50.0,)),), ())
    for params in ("last", "best"):
        assert "(params.best)." in tables.markdown(table, [row], params)


def test_only_the_tables_of_the_workshop_exclude_unknown_words_everywhere(work: Path) -> None:
    """Cho et al. 2014b, section 4.2.1, and Pouget-Abadie et al. 2014, with the same RNNenc."""
    for table in cells.published():
        names = [column.get("result", "") for column in table["columns"]]
        names += [name for row in table["rows"] for name in row.get("results", ())]
        translated = [name for name in names if "{beam}" in name]
        kept = [name for name in translated if "no-unk" not in name]
        is_workshop = table["key"].startswith(("cho-properties", "segmentation"))
        assert bool(translated) and not kept if is_workshop else kept or not translated
        assert not is_workshop or "Unknown words are never chosen" in table["note"]
    tables.write(choice(work), work / "results", "mini")
    assert record(work, "cho-properties-table-1", "RNNenc", "test")["seeds"] == [11.0, 13.0]
    assert record(work, "bahdanau-table-1", "RNNenc-30", "all")["seeds"] == [10.0, 12.0]


def test_systems_not_run_are_left_out_with_a_reason(work: Path) -> None:
    tables.write(choice(work), work / "results", "mini")
    moses = record(work, "bahdanau-table-1", "Moses", "all")
    assert (moses["ours"], moses["difference"], moses["reason"]) == (
        None,
        None,
        "needs the output of Moses",
    )
    text = (work / "results/tables.md").read_text()
    assert "- left out: Moses (paper: all 33.3, no UNK 35.63): needs the output of Moses." in text
    assert "'rnnsearch-50' is not among SYSTEMS" in text
    assert "| RNNsearch-50 |" not in text


def test_a_name_with_a_bar_is_one_cell() -> None:
    [table] = cells.published("segmentation-table-2")
    names = [name for name in (row["name"] for row in table["rows"]) if "|" in name]
    assert names == ["p(f|e)", "p(f|e) + p(e|f)", "p(f|e) + p(e|f) (p)"]
    figures = tuple(cells.Cell(column["name"], 1.0, "bleu", (1.0,)) for column in table["columns"])
    text = tables.markdown(table, [cells.Row(name, figures, ()) for name in names], "last")
    lines = [line.replace("\\|", "") for line in text.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in lines} == {2 + 4 * 4}


def test_a_missing_file_is_an_error(work: Path) -> None:
    (work / "rnn/rnnenc-30.2/test.12.all.json").unlink()
    with pytest.raises(FileNotFoundError):
        tables.write(choice(work), work / "results", "mini")
    assert not (work / "results/tables.md").exists()


def test_no_sentences_give_no_figure(work: Path) -> None:
    nothing = json.dumps({"sentences": 0, "systems": [{"measures": []}]})
    for seed in "12":
        (work / f"rnn/rnnenc-30.{seed}/test-known.12.no-unk.json").write_text(nothing)
    tables.write(choice(work), work / "results", "mini")
    cell = record(work, "bahdanau-table-1", "RNNenc-30", "no UNK")
    assert (cell["ours"], cell["difference"], cell["sentences"]) == (None, None, 0)


def test_the_list_has_all_files_that_the_tables_read(work: Path) -> None:
    listed = set(cells.files(choice(work)))
    written = {path for path in work.rglob("*") if path.is_file()}
    made_by_training = {path for path in written if path.name == "metrics.jsonl"}
    devices = {path for path in written if path.suffix == ".device"}
    dones = {path.with_name("done") for path in made_by_training}
    assert listed == written - made_by_training - devices | dones


def test_models_include_members_of_ensembles_and_row_requirements(tmp_path: Path) -> None:
    selected = choice(tmp_path, "ensemble-2 segmentation", "1")
    names = {str(path.relative_to(tmp_path)) for path in cells.models(selected)}
    assert names == {
        "lstm/seq2seq-lstm.1",
        "lstm/seq2seq-lstm.2",
        "rnn/rnnenc-30.1",
        "rnn/rnnenc-30-reverse.1",
    }


def test_the_cost_of_an_ensemble_is_the_sum_of_its_members(tmp_path: Path) -> None:
    for seed in "12":
        training(tmp_path / f"lstm/seq2seq-lstm.{seed}", 100_000, 24.0)
    row = cells.Row("2", (), (tmp_path / "lstm/seq2seq-lstm.1+2",))
    assert tables.training_of(row, "last", tables.TRAINING)[:4] == [
        "2.0000",
        "5.00",
        "48.00",
        "TITAN BLACK",
    ]


def test_csv_and_json_have_the_same_rows(work: Path) -> None:
    tables.write(choice(work), work / "results", "mini")
    rows = list(csv.DictReader(io.StringIO((work / "results/tables.csv").read_text())))
    assert len(rows) == len(json.loads((work / "results/tables.json").read_text()))
    assert rows[0]["seeds"] == "10.0 12.0"


def test_an_unknown_system_is_refused(tmp_path: Path, capsys: Any) -> None:
    arguments = ["--work", str(tmp_path), "--systems", "rnnenc-3", "--list", "files"]
    assert tables.main(arguments) == 2
    assert "'rnnenc-3'" in capsys.readouterr().err


def test_tables_of_small_sizes_say_so(work: Path) -> None:
    for size in ("smoke", "mini"):
        text = tables.head(size, choice(work))
        assert "A test of the plumbing" in text and "figures mean nothing" in text
    assert "compare orders of systems" in tables.head("night", choice(work))
    short = replace(choice(work), updates="20")
    assert "trained for 20 updates each" in tables.head("night", short)
    for size in ("paper", "night"):
        assert "mean nothing" not in tables.head(size, choice(work))


def test_missing_figures_are_empty() -> None:
    assert tables.format_value(math.nan, "bleu") == ""
    assert tables.format_value(1.005, "bleu", "+") == "+1.00"


# ---- A test set of the domain


@pytest.fixture
def night(work: Path) -> cells.Choice:
    """Write the outputs of a second test set, and of a second system with two seeds."""
    for path in list(work.rglob("test*.json")):
        value = 30.0 if ".1/" in str(path) else 34.0
        cells_file = cells.domain_file(path)
        assert cells_file is not None
        cells_file.write_text(evaluation(value, value, 2000))
    for name, values in (("rnnsearch-30", (35.0, 36.0)), ("rnnenc-50", (33.0, 35.0))):
        for seed, value in zip("12", values, strict=True):
            folder = work / f"rnn/{name}.{seed}"
            training(folder, 100, 1.0)
            for split, sentences in (("test", 3003), ("domain", 2000)):
                text = evaluation(value, value, sentences)
                (folder / f"{split}.12.all.json").write_text(text)
                (folder / f"{split}-known.12.no-unk.json").write_text(text)
            for scores in ("train30", "train50", "dev"):
                (folder / f"{scores}.scores").write_text("-1\n")
    plain = choice(work, "rnnenc-30 rnnsearch-30 rnnenc-50")
    return replace(plain, domain=True, orders=True)


def test_a_test_set_of_the_domain_stands_before_newstest(work: Path, night: cells.Choice) -> None:
    tables.write(night, work / "results", "night")
    text = (work / "results/tables.md").read_text()
    assert "| all: paper | domain | newstest2014 | sacreBLEU |" in text
    assert "| RNNenc-30 | 13.93 | 32.00 (30.00 34.00) | 11.00 (10.00 12.00) | 5.50 |" in text
    assert "all (domain) 2000" in text and "held out of the training text" in text
    assert record(work, "bahdanau-table-1", "RNNenc-30", "all")["domain"] == [30.0, 34.0]
    dev = record(work, "cho-properties-table-1", "RNNenc", "dev")
    assert (dev["domain"], dev["ours"]) == ([], 12.0)


def test_the_papers_orders_say_in_how_many_seeds_they_hold(work: Path, night: cells.Choice) -> None:
    lines = orders.markdown(night).splitlines()
    rows = [line.split(" | ") for line in lines if line.startswith("| RNN")]
    assert [(row[0], row[2].split(": ")[1], row[3].split(": ")[1]) for row in rows] == [
        ("| RNNsearch-30 > RNNenc-30", "holds for all seeds", "holds for all seeds |"),
        ("| RNNsearch-30 > RNNenc-50", "holds on average", "holds on average |"),
        ("| RNNenc-50 > RNNenc-30", "holds on average", "holds for all seeds |"),
    ]
    assert rows[2][2].startswith("34.00 (33.00 to 35.00) and 32.00 (30.00 to 34.00)")
    assert "(2000 sentences): " in rows[2][2] and "(3003 sentences): " in rows[2][3]
    for shown in (True, False):
        tables.write(replace(night, orders=shown), work / "results", "night")
        assert ("The papers' orders" in (work / "results/tables.md").read_text()) == shown


def test_no_order_has_more_cells_than_its_heading(
    work: Path, night: cells.Choice, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = orders.read_orders()
    monkeypatch.setattr(orders, "was_run", lambda *_: True)
    monkeypatch.setattr(orders, "compared", lambda *_: "holds")
    rows = list(orders.lines(night))
    assert len(rows) == 2 + len(everything)
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {5}


def test_a_system_may_have_seeds_of_its_own(work: Path, night: cells.Choice) -> None:
    single = replace(night, seeds_of={"rnnenc-50": ("2",)})
    assert work / "rnn/rnnenc-50.1" not in cells.models(single)
    assert {work / f"rnn/{name}.2" for name in ("rnnenc-30", "rnnenc-50")} < {*cells.models(single)}
    tables.write(single, work / "results", "night")
    text = (work / "results/tables.md").read_text()
    assert "means over 2 trainings" in text and "in brackets; rnnenc-50: one figure." in text
    assert record(work, "bahdanau-table-1", "RNNenc-50", "all")["seeds"] == [35.0]
    assert record(work, "bahdanau-table-1", "RNNenc-30", "all")["seeds"] == [10.0, 12.0]
    assert "35.00 and 32.00 (30.00 to 34.00) (2000 sentences): holds for all seeds" in text


def test_what_has_one_figure_among_seeds_is_named(work: Path) -> None:
    night = choice(work, "rnnenc-30 lstm ensemble-2 moses")
    text = tables.head("night", night)
    assert "in brackets; ensemble-2, moses: one figure" in text
    assert "Curves and samples are of the first seed where a system is one model." in text


def test_orders_of_cut_trainings_are_not_judged(
    work: Path, night: cells.Choice, capsys: Any
) -> None:
    for updates, shown in (("", True), ("20", False)):
        results = work / f"results{updates}"
        words = ["--work", str(work), "--systems", "rnnenc-30 rnnsearch-30", "--size", "night"]
        words += ["--seeds", "1 2", "--beam", "12", "--updates", updates, "--output", str(results)]
        assert tables.main(words) == 0
        assert ("The papers' orders" in (results / "tables.md").read_text()) == shown


def test_training_pairs_are_within_the_models_maximum_length() -> None:
    names = ("rnnenc-30.1", "rnnsearch-50.2", "rnnsearch-50-long.1", "seq2seq-lstm-forward.1")
    lengths = [cells.train_scores(name).removeprefix("train") for name in names]
    assert lengths == ["30.scores", "50.scores", "50.scores", "100.scores"]


def test_the_list_has_the_files_of_the_domain_and_of_the_orders(
    work: Path, night: cells.Choice
) -> None:
    listed = set(tables.all_files(night))
    assert {work / f"rnn/rnnenc-30.{s}/domain-known.12.no-unk.json" for s in "12"} <= listed
    assert not [path for path in listed if not path.exists() and path.name != "done"]
    with_long = tables.all_files(replace(night, systems=night.systems | {"rnnsearch-50"}))
    assert work / "rnn/rnnsearch-50.1/domain.12.long.json" in with_long
    assert not [
        path for path in tables.all_files(replace(night, orders=False)) if ".long." in str(path)
    ]


@pytest.mark.parametrize(
    ("better", "worse", "low", "expected"),
    [
        ((3.0, 4.0), (1.0, 2.0), False, "holds for all seeds"),
        ((3.0, 1.5), (1.0, 2.0), False, "holds on average"),
        ((1.0, 2.0), (1.0, 2.0), False, "does not hold"),
        ((3.0, 4.0), (5.0, 6.0), True, "holds for all seeds"),
        ((3.0,), (2.0,), False, "holds"),
        ((3.0,), (2.0,), True, "does not hold"),
        ((), (2.0,), False, "no sentence"),
    ],
)
def test_a_verdict_needs_the_worst_seed_above_the_best_of_the_other(
    better: tuple[float, ...], worse: tuple[float, ...], low: bool, expected: str
) -> None:
    assert orders.verdict(better, worse, low) == expected


def test_orders_name_systems_and_files_as_the_tables_do() -> None:
    rows = [row for table in cells.published() for row in table["rows"] if "folder" in row]
    folders = {(row["system"], row["folder"]) for row in rows}
    for order in orders.read_orders():
        assert len({order["claim"], order["paper"]}) == 2
        for side in orders.SIDES:
            assert (order[side]["system"], order[side]["folder"]) in folders
