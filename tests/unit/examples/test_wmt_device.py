"""examples/wmt14-en-fr/device.py distributes GPUs."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import device
import pytest

SCRIPT = Path(device.__file__)
PRINT_DEVICES = "import os; print(os.environ.get('CUDA_VISIBLE_DEVICES', 'unset'))"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False
    )


def test_without_gpus_a_command_runs_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert run("--", sys.executable, "-c", PRINT_DEVICES).stdout == "unset\n"


def test_a_command_sees_the_first_free_gpu(tmp_path: Path) -> None:
    options = ["--gpus", "3 5", "--locks", str(tmp_path)]
    locked = device.free_gpu(["3"], tmp_path)
    try:
        assert run(*options, "--", sys.executable, "-c", PRINT_DEVICES).stdout == "5\n"
    finally:
        locked[1].close()
    assert run(*options, "--", sys.executable, "-c", PRINT_DEVICES).stdout == "3\n"


def test_a_command_waits_if_all_gpus_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, lock_of_other = device.free_gpu(["0"], tmp_path)
    waits: list[float] = []

    def pause(seconds: float) -> None:
        waits.append(seconds)
        lock_of_other.close()

    monkeypatch.setattr(time, "sleep", pause)
    number, lock = device.free_gpu(["0"], tmp_path)
    lock.close()
    assert (number, len(waits)) == ("0", 1)


def test_a_gpu_stays_locked_while_the_command_runs(tmp_path: Path) -> None:
    sleeping = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"]
    words = [sys.executable, str(SCRIPT), "--gpus", "0", "--locks", str(tmp_path), "--", *sleeping]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "up\n"
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        if not children.exists():
            process.kill()
            pytest.skip("this system does not list the children of a process")
        child = int(children.read_text().split()[0])
        process.kill()
        process.wait()
        try:
            with open(tmp_path / "gpu.0.lock", "w", encoding="utf-8") as file:
                with pytest.raises(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.kill(child, signal.SIGKILL)


def test_the_exit_status_is_the_commands_or_a_shells_for_signals() -> None:
    assert run("--", sys.executable, "-c", "raise SystemExit(7)").returncode == 7
    killed = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert run("--", sys.executable, "-c", killed).returncode == 128 + 9


def test_the_device_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = tmp_path / "device"
    run("--record", str(record), "--", sys.executable, "-c", "")
    assert record.read_text() == device.device_name(None) + "\n"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert device.device_name(None) == device.processor() != ""


def test_the_recorded_gpu_is_the_first_visible_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text('#!/bin/sh\nshift 2\necho "GPU ${1:-of a part}"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for visible, expected in (("3,1", "GPU --id=3"), ("MIG-1", "GPU of a part")):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        assert device.device_name(None) == expected
        assert device.device_name("2") == "GPU --id=2"
    for hidden in ("", "-1"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
        assert device.device_name(None) == device.processor()
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert device.device_name(None) == "GPU --id=0"
