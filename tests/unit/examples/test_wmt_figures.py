"""Figures and samples of examples/wmt14-en-fr: what its programs write."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import alignments
import cells
import decrease
import numpy as np
import pytest
import samples
import tables

from nmtkit.report.alignment import plot_alignment

pytest.importorskip("matplotlib")

CSV = """by,of,low,high,place,sentences,system,measure,figure,interval_low,interval_high,p,signature
,,,,,90,whole,BLEU (multi-bleu),19,,,,s
unknown,both,,0,0,40,whole,BLEU (multi-bleu),24.5,,,,s
unknown,both,,0,0,40,segmented,BLEU (multi-bleu),26,,,,s
unknown,both,,2,2,90,whole,BLEU (multi-bleu),19,,,,s
unknown,both,,2,2,90,segmented,BLEU (multi-bleu),25.25,,,,s
unknown,both,,2,2,90,later,BLEU (multi-bleu),7,,,,s
"""


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_a_decrease_is_the_difference_from_known_sentences(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "bleu.csv").write_text(CSV)
    decrease.main([str(tmp_path / "bleu.csv"), "--plot", str(tmp_path / "fall.svg")])
    assert capsys.readouterr().out == (
        "| unknown words, at most | 0 | 2 |\n| --- | ---: | ---: |\n"
        "| whole | +0.00 | -5.50 |\n| segmented | +0.00 | -0.75 |\n"
    )
    ElementTree.parse(tmp_path / "fall.svg")


def test_each_curve_of_the_decrease_is_drawn() -> None:
    figure = decrease.draw({"whole": {0: 0.0, 2: -5.5}, "segmented": {0: 0.0, 2: -0.75}})
    lines = figure.axes[0].get_lines()
    assert [np.asarray(line.get_xydata()).tolist() for line in lines] == [
        [[0, 0], [2, -5.5]],
        [[0, 0], [2, -0.75]],
    ]
    legend = figure.axes[0].get_legend()
    assert legend and [text.get_text() for text in legend.get_texts()] == ["whole", "segmented"]


def test_alignments_are_drawn_without_escapes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[Any, ...]] = []

    def recorded(*arguments: Any, **options: Any) -> None:
        drawn.append(arguments)
        plot_alignment(*arguments, **options)

    monkeypatch.setattr("alignments.plot_alignment", recorded)
    pair = {"source": ["dog", "&apos;s"], "target": ["l&apos;"], "alignment": [[0.25, 0.75]]}
    write(tmp_path / "soft", json.dumps(pair), json.dumps(pair))
    alignments.main([str(tmp_path / "soft"), "--output", str(tmp_path / "out")])
    assert [path.name for path in sorted((tmp_path / "out").iterdir())] == [
        "000001.svg",
        "000002.svg",
    ]
    assert drawn[1][1:] == (["dog", "'s"], ["l'"], [[0.25, 0.75]])


@pytest.fixture
def sampled(tmp_path: Path) -> Path:
    """Write three sentences with two systems; the second is worse on sentences 7 and 9."""
    write(tmp_path / "set.src", "a b", "c | d", "e")
    write(tmp_path / "set.tgt", "l&apos; homme", "x y z w", "u")
    write(tmp_path / "set.lines", "2", "7", "9")
    write(tmp_path / "whole", "l&apos; homme", "x y z w", "u")
    write(tmp_path / "cut", "l&apos; homme", "x <unk> *", "v")
    rows = [["a", "b"], ["c |", "d"], ["e"]]
    write(tmp_path / "segments", *(json.dumps([{"source": s} for s in row]) for row in rows))
    return tmp_path


def shown(folder: Path, capsys: Any, *options: str) -> str:
    systems = ["--system", "whole", str(folder / "whole"), "--system", "cut", str(folder / "cut")]
    samples.main([str(folder / "set"), *systems, *options])
    text: str = capsys.readouterr().out
    return text


def test_samples_show_source_segments_reference_and_systems(sampled: Path, capsys: Any) -> None:
    first, second, _ = shown(sampled, capsys, "--segments", str(sampled / "segments")).split("\n\n")
    assert first == (
        "| Sentence 2 | 2 words |\n| --- | --- |\n| Source | a b |\n"
        "| Segments | \\[a\\] \\[b\\] |\n| Reference | l' homme |\n"
        "| whole | l' homme |\n| cut | l' homme |"
    )
    assert "| Source | c &#124; d |" in second
    assert "| cut | x &lt;unk&gt; \\* |" in second


def test_the_worst_sample_has_several_segments(sampled: Path, capsys: Any) -> None:
    segments = "--segments", str(sampled / "segments")
    assert shown(sampled, capsys, "--worst", "cut", "whole").startswith("| Sentence 9 |")
    text = shown(sampled, capsys, "--worst", "cut", "whole", *segments)
    assert text.startswith("| Sentence 7 |") and text.count("Sentence") == 1
    assert shown(sampled, capsys, "--worst", "whole", "cut") == "No such sentence.\n"


def test_files_of_different_length_are_an_error(sampled: Path, capsys: Any) -> None:
    write(sampled / "cut", "x")
    with pytest.raises(ValueError, match="shorter"):
        shown(sampled, capsys)


def test_one_table_needs_only_its_files_and_is_written_alone(tmp_path: Path, capsys: Any) -> None:
    systems, table = frozenset(["lstm"]), "sutskever-reversal"
    choice = cells.Choice(tmp_path, systems, ("1",), "10", "last", {}, table)
    assert cells.models(choice) == [tmp_path / "lstm/seq2seq-lstm.1"]
    names = {path.name for path in cells.files(choice)}
    assert names == {"test.scores", "test.12.all.json"}
    arguments = ["--work", str(tmp_path), "--systems", "lstm", "--table", "bahdanau-table-1"]
    assert tables.main(arguments) == 0
    text = capsys.readouterr().out
    assert text.count("## ") == 1 and "Bahdanau, Cho and Bengio 2015, table 1" in text
    assert "left out: RNNenc-30" in text
