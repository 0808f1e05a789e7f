"""Every command that README shows runs as it can be pasted, in an empty folder.

Commands that take minutes or install something have a stand-in or a reason below; a line of README
that is in none of these tables is run, and an entry that README no longer has fails the test.
"""

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.integration.document_blocks import ROOT, blocks_of

README = (ROOT / "README.md").read_text(encoding="utf-8")

DRY_RUN = {
    "make demo": "trains for 5 to 10 minutes; its corpus is tested in unit/examples",
    "make wmt14 SIZE=smoke": "takes minutes; '.ci/run' runs it to its end, also with faults",
    "make test": "runs this test",
    "make docs": "takes a minute; '.ci/run' runs it",
    "make wmt14": "takes weeks; '.ci/run' runs it with SIZE=smoke",
}
"""Lines whose commands make prints only (`make -n`) -> why, and where they are run."""

INSTALLS = {
    "pip install .": "'.ci/run' installs the wheel into an empty environment",
    "pip install '.[plots]'": "as above; here the extra is looked up",
    "pip install torch --index-url https://download.pytorch.org/whl/cpu": "needs a network",
}
"""Lines that install -> why they are not run."""

STAND_INS = {
    "nmtkit train prepared -o model --time 30m": "nmtkit train prepared -o model --time 5s",
}
"""Lines that take too long -> what is run in their place."""

PATTERNS = {
    "nmtkit COMMAND --help": "nmtkit translate --help",
    "nmtkit train DATA -o NEW --from": "",
}
"""Lines that name no real file -> what is run in their place; nothing: see where it is written."""

COMPLETION = 'eval "$(_NMTKIT_COMPLETE=bash_source nmtkit)"'


def commands_of(code: str) -> list[str]:
    """Return the commands of a shell block, lines that go on joined and comments left out."""
    joined = re.sub(r"\\\n\s*", "", code)
    lines = (re.sub(r"\s+#.*", "", line).strip() for line in joined.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def inline_commands(text: str) -> list[str]:
    """Return the commands between backticks in the prose."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    spans = (" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose))
    return [span for span in spans if re.match(r"(nmtkit|pip|make|eval) ", span)]


SHELL = [line for b in blocks_of(README) if b.language == "sh" for line in commands_of(b.code)]
PYTHON = [block.code for block in blocks_of(README) if block.language == "python"]
INLINE = inline_commands(README)


@pytest.fixture
def environment(preloaded: Path) -> dict[str, str]:
    """Return an environment whose `nmtkit` and `python` are those of this test."""
    outside = {k: v for k, v in os.environ.items() if not k.startswith("COV")}
    paths = [str(preloaded), os.environ["PATH"]], [str(ROOT), os.environ.get("PYTHONPATH", "")]
    path, python_path = (os.pathsep.join(parts) for parts in paths)
    return {**outside, "PATH": path, "PYTHONPATH": python_path, "OMP_NUM_THREADS": "1"}


def paste(line: str, folder: Path, environment: dict[str, str], shell: str = "bash") -> str:
    """Run a line in a folder, and return its output."""
    command = ["bash", "-euo", "pipefail", "-c", line] if shell == "bash" else [shell, "-c", line]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{line}\n{done.stderr[-2000:]}"
    assert " is now " not in done.stderr and "is the default now" not in done.stderr, done.stderr
    return done.stdout


def test_the_lines_of_readme_run_one_after_the_other(
    corpus: Path, model: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    for name, source in (("train", "train"), ("dev", "dev"), ("news", "test")):
        for side in ("en", "fr"):  # small, under the names of README
            shutil.copy(corpus / f"{source}.{side}", tmp_path / f"{name}.{side}")
    shutil.copytree(model, tmp_path / "model")  # the first line translates with a model
    first, *others = [line for line in SHELL if line not in DRY_RUN and line not in INSTALLS]
    assert paste(first, tmp_path, environment).count("\n") == 1
    shutil.rmtree(tmp_path / "model")
    for line in others:
        paste(STAND_INS.get(line, line), tmp_path, environment)
    for line in INLINE:
        if line in DRY_RUN or line in INSTALLS or line == COMPLETION:
            continue
        given = next((run for start, run in PATTERNS.items() if line.startswith(start)), line)
        if given:
            assert paste(given, tmp_path, environment)
    for code in PYTHON:
        assert paste(code, tmp_path, environment, "python")
    assert (tmp_path / "prepared" / "cleaning.html").exists()  # which README names


@pytest.mark.parametrize("line", DRY_RUN)
def test_a_line_of_make_has_its_target(line: str) -> None:
    done = subprocess.run([*shlex.split(line), "-n"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_is_installed_exists() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    named = re.findall(r"further extras: ([\w, ]+)", README)[0].split(", ")
    assert {"plots", *named} <= set(extras)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_line_for_completion_is_one_of_the_shell(
    shell: str, environment: dict[str, str], tmp_path: Path
) -> None:
    assert COMPLETION in INLINE
    script = paste(f"_NMTKIT_COMPLETE={shell}_source nmtkit", tmp_path, environment)
    assert "_NMTKIT_COMPLETE" in script
    if shell == "bash":
        paste(COMPLETION, tmp_path, environment)


def test_entries_for_lines_that_readme_no_longer_has_are_removed() -> None:
    lines = [*SHELL, *INLINE]
    for entry in (*DRY_RUN, *INSTALLS, *STAND_INS, *PATTERNS):
        assert any(line.startswith(entry) for line in lines), entry


def test_commands_are_found() -> None:
    text = "```sh\na b \\\n    c  # why\n# d\ne\n```\nSay `nmtkit\nx` and `y`."
    assert commands_of(text.split("```sh\n")[1].split("```")[0]) == ["a b c", "e"]
    assert inline_commands(text) == ["nmtkit x"]
    assert len(SHELL) > 8 and PYTHON
