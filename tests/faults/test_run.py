"""The counts that `make faults` prints, and its report of failed parts."""

import sys

import pytest

from tests.faults import run
from tests.faults.run import Part


def part(text, status=0):
    program = f"import sys; print({text!r}); sys.exit({status})"
    return Part("lines translated in one run", ("-c", program), r"^(\d+) lines in")


def test_a_part_returns_the_count_in_its_output(capsys):
    assert part("300 updates in 1 s\n5000 lines in 2 s").run() == (5000,)
    assert capsys.readouterr().out == "300 updates in 1 s\n5000 lines in 2 s\n"
    assert part("5000 lines in 2 s", 1).run() is None


@pytest.mark.parametrize("status", [0, 1])
def test_the_last_line_has_all_counts_or_names_the_failed_parts(monkeypatch, capsys, status):
    outputs = {
        "kill.py": "7 kills (3 at a random moment) in 90 updates: 0 differences",
        "pytest": "....\n12 passed, 1 skipped in 3.00s",
        "fuzz.py": "lines: no fault\n21 bad inputs tried (9 refused): 0 faults",
        "terminate.py": "9 commands ended by one SIGTERM (9 clean): 0 faults",
        "between_runs.py": "11 changes between runs (9 refused, 2 without effect): 0 faults",
        "copies.py": "6 copies of a folder in use (6 equal): 0 faults",
        "opened_files.py": "5 cases with a lock\n50 files by kind: 0 faults",
        "system_calls.py": "a: 9 runs\n30 system calls failed, 8 kills at system calls: 0 laws",
        "power_loss.py": "a: 9 states\n70 states after a loss of power replayed: 0 laws broken",
        "hostile_lists.py": "6 hostile lists tuned or reranked (2 refused): 0 faults",
        "odd_lines.py": "40 odd lines translated and prepared: 0 lost",
        "soak.py": "300 updates in 1 s\n5000 lines in 2 s",
    }

    def run_stub(self):
        text = next(text for name, text in outputs.items() if name in " ".join(self.command))
        return original(Part(self.name, part(text, status).command, self.count_pattern))

    original = Part.run
    monkeypatch.setattr(Part, "run", run_stub)
    monkeypatch.setattr(sys, "argv", ["run.py"])
    if status:
        with pytest.raises(SystemExit, match="above: kills survived, kills of a rank"):
            run.main()
        return
    run.main()
    assert capsys.readouterr().out.splitlines()[-1] == (
        "7 kills survived, 7 kills of a rank survived, 12 faults injected, 21 bad inputs tried,"
        " 9 commands ended by one SIGTERM, 11 changes between runs, 6 folders copied in use,"
        " 50 files by kind, 30 system calls failed,"
        " 8 kills at system calls, 70 writes replayed with a loss of power,"
        " 12 inputs and outputs tried as pipes and links, 6 hostile lists tuned,"
        " 40 odd lines through slow pipes, 5000 lines translated in one run, bytes lost: 0"
    )
