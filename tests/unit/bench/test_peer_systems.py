"""Settings of the peers, and Marian's speed from its log."""

import json
import subprocess
from pathlib import Path

import pytest
from peer_systems import Eole, JoeyNMT, Marian, OpenNMT, marian_reports, peers
from systems import Nmtkit, System, Task
from timing import BenchError

LOG = """\
[2026-11-21 11:33:45] Ep. 1 : Up. 5 : Sen. 400 : Cost 9.03 : Time 20.50s : 1,200.00 words/s : gNorm 0.7
[2026-11-21 11:33:46] [memory] Reserving 39 MB, device cpu0
[2026-11-21 11:34:21] Ep. 1 : Up. 1,000 : Sen. 80,000 : Cost 7.25 : Time 10.00s : 175.64 words/s : gNorm 1.5
"""  # noqa: E501


def test_marians_log_is_parsed() -> None:
    assert marian_reports(LOG) == [(5, 20.5, 24600.0), (1000, 10.0, pytest.approx(1756.4))]
    assert marian_reports("no progress lines") == []


@pytest.mark.parametrize("cls", [OpenNMT, Eole, JoeyNMT])
def test_peers_get_the_same_task(cls: type[OpenNMT], task: Task) -> None:
    arguments = cls(Path("python")).write_training(task)
    named = next(word for word in arguments if word.endswith(".yaml"))
    text = json.dumps(json.loads(Path(named).read_text()))
    for setting in ('"batch_size": 80', '"learning_rate": 0.001', '"dropout": '):
        assert setting in text
    assert str(task.data.words / "src") in text
    assert any(f'"{name}": {task.updates}' in text for name in ("train_steps", "updates"))


def test_marian_starts_from_scratch(task: Task) -> None:
    marian = Marian(Path("python"), Path("/there/marian"))
    command = marian.train(task)
    assert command[:2] == [Path("/there/marian"), "train"]
    assert (task.folder / "tgt.txt").read_text() == "</s>\n<unk>\nb\n"
    assert marian.translate(task, Path("s"), Path("o"), 5)[1] == "decode"


def test_marian_takes_a_shortlist(task: Task) -> None:
    plain, shorter = (
        Marian(Path("python"), Path("marian"), table) for table in (None, Path("lex"))
    )
    command = shorter.translate(task, Path("s"), Path("o"), 5)
    assert command[command.index("--shortlist") + 1] == "lex"
    assert "--shortlist" not in plain.translate(task, Path("s"), Path("o"), 5)


def test_only_installed_peers_are_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    python = tmp_path / "eole" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    installed = peers(tmp_path, marian=tmp_path / "marian-binary")
    assert [system.name for system in installed] == ["eole 0.6.4", "Marian"]
    stderr = capsys.readouterr().err
    assert "JoeyNMT 2.3.0 is skipped" in stderr and "eole" not in stderr
    assert peers(None) == []


def test_a_marian_log_without_updates_is_an_error(task: Task, tmp_path: Path) -> None:
    binary = tmp_path / "marian"
    binary.write_text("#!/bin/sh\necho done\n")
    binary.chmod(0o755)
    with pytest.raises(BenchError, match="no report on updates after 3"):
        Marian(Path("python"), binary).time_training(task, warmup=3)


@pytest.mark.parametrize("cls", [Nmtkit, OpenNMT, Eole, JoeyNMT, Marian])
def test_all_systems_run_on_the_cpu(cls: type[System]) -> None:
    assert cls(Path("python")).environment(2)["CUDA_VISIBLE_DEVICES"] == ""


def test_an_unknown_peer_is_refused_before_any_is_built(tmp_path: Path) -> None:
    script = Path(__file__).resolve().parents[3] / "bench/peers/build.sh"
    command = [str(script), str(tmp_path / "peers"), "opennmt", "other"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "there is no peer 'other'" in done.stderr
    assert not (tmp_path / "peers").exists()
