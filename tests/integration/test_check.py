"""`nmtkit check` names damage, says how to mend it, and exits with status 1."""

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Nmtkit = Callable[..., Result]


def test_whole_folders_and_files_are_status_0(
    prepared: Path, model: Path, nmtkit: Nmtkit, tmp_path: Path
) -> None:
    translations = nmtkit("translate", "-m", model, "--n-best", "2", input="one two\nthree\n")
    (tmp_path / "list").write_text(translations.stdout)
    (tmp_path / "table.gz").write_bytes(gzip.compress(b"a ||| b ||| 0.5 ||| 0-0 ||| 1 1 1\n"))
    for path, kind in (
        (prepared, "prepared folder"),
        (model, "model folder"),
        (tmp_path / "list", "n-best list"),
        (tmp_path / "table.gz", "phrase table"),
    ):
        result = nmtkit("check", path)
        assert result.stdout.startswith(f"{path}: {kind}, ")
        assert result.stdout.endswith(" checked, no errors\n") and result.stderr == ""


def test_damage_is_status_1_and_one_line_for_each_finding(
    model: Path, nmtkit: Nmtkit, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(model, tmp_path / "model"))
    path = folder / "params.best.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    (folder / ".params.last.safetensors.0123456789abcdef").touch()
    (folder / "notes\x1b[2J").touch()
    result = nmtkit("check", folder, status=1)
    first, second, summary = result.stdout.splitlines()
    assert first.startswith(f"warning: {folder}/.params.last") and "; remove it" in first
    assert second.startswith(f"error: {path}: ") and "; restore it from a copy" in second
    assert summary.endswith(", 1 error, 1 warning")
    unknown, message = result.stderr.splitlines()
    assert unknown.endswith("/notes\\x1b[2J': does not belong there; not checked")
    assert message.startswith(f"nmtkit: error: {path}: ") and "; 1 error, which" in message


def test_json_has_all_findings(prepared: Path, nmtkit: Nmtkit, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(prepared, tmp_path / "prepared"))
    (folder / "dev.src").write_text("other\n")
    table = json.loads(nmtkit("check", folder, "--json", status=1).stdout)
    assert table["kind"] == "prepared folder" and table["errors"] == len(table["findings"])
    finding = table["findings"][0]
    assert finding.keys() == {"path", "line", "severity", "problem", "remedy"}
    assert finding["path"] == str(folder / "dev.src") and finding["severity"] == "error"


def test_names_that_are_not_utf_8_are_shown(prepared: Path, nmtkit: Nmtkit, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(prepared, tmp_path / "prepared-\udcff"))
    (folder / "dev.src").unlink()
    text = nmtkit("check", folder, status=1).stdout
    assert "prepared-\\udcff/dev.src: missing" in text
    table = json.loads(nmtkit("check", folder, "--json", status=1).stdout)
    assert table["path"] == str(folder)


def test_findings_are_written_to_a_file(prepared: Path, nmtkit: Nmtkit, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(prepared, tmp_path / "prepared"))
    (folder / "dev.src").unlink()
    nmtkit("check", folder, "-o", tmp_path / "findings", status=1)
    assert "dev.src: missing" in (tmp_path / "findings").read_text()
    nmtkit("check", folder, "-o", tmp_path / "findings", "--force", status=1)


@pytest.mark.parametrize("name", ["nothing", "text"])
def test_another_path_is_one_line_and_status_1(name: str, nmtkit: Nmtkit, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("A man reads.\n")
    result = nmtkit("check", tmp_path / name, status=1)
    assert result.stdout == "" and result.stderr.startswith("nmtkit: error: ")
    assert result.stderr.count("\n") == 1
