"""Torch is imported without garbage collection and gets the number of threads."""

import gc
import subprocess
import sys

import torch

from nmtkit.cli import startup


def test_torch_uses_the_threads_it_is_given() -> None:
    startup.configure_threads(1)
    assert torch.get_num_threads() == 1
    startup.configure_threads(2)
    startup.configure_threads(0)
    assert torch.get_num_threads() == 2


def test_objects_of_torch_are_frozen() -> None:
    code = (
        "import gc\n"
        "from nmtkit.cli.startup import importing\n"
        "with importing():\n"
        "    assert not gc.isenabled()\n"
        "    import torch\n"
        "print(gc.isenabled(), gc.get_freeze_count() > 100_000)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"


def test_garbage_collection_is_unchanged_once_torch_is_imported() -> None:
    frozen = gc.get_freeze_count()
    with startup.importing():
        assert gc.isenabled()
    assert gc.isenabled() and gc.get_freeze_count() == frozen
