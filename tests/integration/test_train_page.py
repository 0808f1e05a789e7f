"""`nmtkit train --page` writes a page that shows the training, and changes nothing else."""

import re
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

from nmtkit.report.training_page import GENERATOR

Nmtkit = Callable[..., Result]


def test_a_training_is_shown_and_stays_the_same(
    prepared: Path, small_options: Callable[[str], list[str]], nmtkit: Nmtkit, tmp_path: Path
) -> None:
    options = ["--recipe", "rnnsearch-50", "--device", "cpu", *small_options("rnnsearch-50")]
    page = tmp_path / "page.html"
    nmtkit("train", prepared, "-o", tmp_path / "watched", *options, "--page", page)
    nmtkit("train", prepared, "-o", tmp_path / "plain", *options)
    name = "params.last.safetensors"
    assert (tmp_path / "watched" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()
    text = page.read_text(encoding="utf-8")
    assert GENERATOR in text and "The training has ended after 2 updates" in text
    assert text.count('<div class="label">Source</div>') == 5
    assert "Update 2" in text and "Update 1" in text


def test_the_plan_is_on_the_page_as_it_is_logged(
    prepared: Path, nmtkit: Nmtkit, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    run = ["train", prepared, "-o", tmp_path / "model", "--time", "1s", "--device", "cpu"]
    logged = nmtkit(*run, "--page", page).stderr
    sentences = [
        line.removeprefix("nmtkit: ")
        for line in logged.splitlines()
        if re.match(r"nmtkit: (plan for|this machine trains|twice the time)", line)
    ]
    assert len(sentences) == 3
    text = page.read_text(encoding="utf-8")
    assert all(text.count(f"<p>{line[0].upper()}{line[1:]}.</p>") == 1 for line in sentences)


def test_another_file_is_not_replaced(prepared: Path, nmtkit: Nmtkit, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("mine")
    run = ["train", prepared, "-o", tmp_path / "model", "--page", tmp_path / "page.html"]
    assert "give another file" in nmtkit(*run, status=1).stderr
    assert not (tmp_path / "model").exists()


def test_a_page_in_a_missing_folder_is_refused_at_once(
    prepared: Path, nmtkit: Nmtkit, tmp_path: Path
) -> None:
    run = ["train", prepared, "-o", tmp_path / "model", "--page", tmp_path / "none" / "page.html"]
    result = nmtkit(*run, status=1)
    assert result.stderr.count("\n") == 1 and "its folder does not exist" in result.stderr
    assert not (tmp_path / "model").exists()
