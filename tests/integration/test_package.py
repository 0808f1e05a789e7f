"""The installed package: its command, data files, metadata and pinned dependencies."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet

import nmtkit

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    with open(ROOT / "pyproject.toml", "rb") as stream:
        return tomllib.load(stream)


@pytest.fixture(scope="module")
def pins() -> dict[str, str]:
    """Return the exact version of each package in constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    assert all(len(pin) == 2 for pin in pairs)
    return {_normal(name): version for name, version in pairs}


def _normal(requirement: str) -> str:
    """Return the normalised package name of a requirement."""
    name = re.match(r"[\w.-]+", requirement)
    assert name is not None
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def test_every_dependency_is_pinned(project: dict[str, Any], pins: dict[str, str]) -> None:
    extras = project["project"]["optional-dependencies"]
    requirements = project["project"]["dependencies"] + extras["dev"] + extras["plots"]
    assert {_normal(requirement) for requirement in requirements} <= set(pins)


def test_pins_name_no_local_build(pins: dict[str, str]) -> None:
    assert not [name for name, version in pins.items() if "+" in version]


def test_pins_admit_the_oldest_python_that_is_promised(
    project: dict[str, Any], pins: dict[str, str]
) -> None:
    # Debian 12 has Python 3.11.2; a pin for 3.11.5 and newer once broke every make target there.
    oldest = project["project"]["requires-python"].removeprefix(">=")
    for name in pins:
        try:
            wanted = metadata.metadata(name).json.get("requires_python")
        except metadata.PackageNotFoundError:  # an extra that is not installed here
            continue
        assert SpecifierSet(str(wanted or "")).contains(f"{oldest}.0"), (name, wanted)


def test_metadata_pins_nothing_exactly(project: dict[str, Any]) -> None:
    extras = project["project"]["optional-dependencies"].values()
    requirements = project["project"]["dependencies"] + [r for extra in extras for r in extra]
    assert not [requirement for requirement in requirements if re.search("[=~<!]=|<", requirement)]
    assert "torch>=2.6" in requirements


def test_the_installed_version_is_that_of_the_source() -> None:
    if Path(nmtkit.__file__).parents[1] == ROOT and not _installed():
        pytest.skip("run from a checkout that is not installed")
    assert metadata.version("nmtkit") == nmtkit.__version__


def _installed() -> bool:
    try:
        return bool(metadata.version("nmtkit"))
    except metadata.PackageNotFoundError:
        return False


def test_data_files_are_in_the_package() -> None:
    package = resources.files("nmtkit")
    assert (package / "py.typed").is_file()
    names = {entry.name for entry in (package / "recipes").iterdir()}
    assert {"rnnsearch-30.toml", "rnnsearch-50.toml", "rnnsearch-modern.toml"} <= names


def test_the_sdist_has_what_its_makefile_needs_and_no_downloads(tmp_path: Path) -> None:
    pytest.importorskip("setuptools", "77")
    needed = ["Makefile", "CONTRIBUTING.md", "mkdocs.yml", "constraints.txt"]
    for name in [*needed, "MANIFEST.in", "pyproject.toml", "README.md", "LICENSE", "setup.py"]:
        shutil.copy(ROOT / name, tmp_path)
    for name in ("nmtkit/__init__.py", *(f"examples/a/{f}/b" for f in ("code", "data", "work"))):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text('__version__ = "1"\n')
    command = [sys.executable, "setup.py", "-q", "egg_info"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    listed = (tmp_path / "nmtkit.egg-info/SOURCES.txt").read_text().splitlines()
    assert set(needed) <= set(listed)
    assert [name for name in listed if name.startswith("examples/")] == ["examples/a/code/b"]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_the_lines_of_a_terminal_are_not_those_of_the_fault_runs() -> None:
    command = ["make", "-n", "faults"]
    for words, lines in ((command, "30000"), ([*command, "LINES=9"], "9")):
        environment = {**os.environ, "LINES": "50"}
        output = subprocess.check_output(words, cwd=ROOT, env=environment, text=True)
        assert f"--lines {lines}\n" in output


@pytest.mark.parametrize("name", nmtkit.__all__)
def test_public_names_can_be_imported(name: str) -> None:
    assert getattr(nmtkit, name).__doc__
    assert name in dir(nmtkit)


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Translater"):
        nmtkit.Translater  # noqa: B018


def run_checkout(command: Path, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run `command --version` in `folder`, with the Python of these tests as `python3`."""
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    return subprocess.run(
        [command, "--version"],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )


def test_the_checkout_runs_from_any_folder(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text(
        "raise SystemExit('a module of the current folder was imported')"
    )
    completed = run_checkout(ROOT / "bin" / "nmtkit", tmp_path)
    assert (completed.returncode, completed.stderr) == (0, "")
    assert completed.stdout.startswith(f"nmtkit {nmtkit.__version__}\n")


def test_the_checkout_runs_through_a_link(tmp_path: Path) -> None:
    link = tmp_path / "nmtkit"
    link.symlink_to(ROOT / "bin" / "nmtkit")
    assert run_checkout(link, tmp_path).returncode == 0
