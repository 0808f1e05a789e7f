"""Optional dependencies are installed from where nmtkit came from, never by the name of nmtkit."""

import json
import re
import shlex
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from nmtkit import extras
from nmtkit.extras import install_command, installed_from

ROOT = Path(__file__).parents[2]

REQUIREMENTS = [
    "torch>=2.6",
    'matplotlib; extra == "plots"',
    "scikit-learn>=1 ; python_version > '3' and extra == 'plots'",
    'kenlm; extra == "kenlm"',
]


class Distribution:
    """An installed nmtkit with pip's record of where it came from."""

    def __init__(self, record: object, requires: list[str] | None = None) -> None:
        self.record = record
        self.requires = requires

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self.record is None else json.dumps(self.record)


@pytest.fixture
def install(monkeypatch):
    """Return a function that pretends that nmtkit was installed as pip records it."""

    def pretend(record: object) -> None:
        distribution = Distribution(record, REQUIREMENTS)
        monkeypatch.setattr(metadata, "distribution", lambda name: distribution)

    return pretend


def test_a_folder_a_wheel_and_an_address_are_named(install, tmp_path):
    folder, wheel = tmp_path / "my checkout", tmp_path / "nmtkit-1-py3-none-any.whl"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    wheel.touch()
    address = "https://example.org/nmtkit-1.tar.gz"
    repository = {"url": "https://example.org/n.git", "vcs_info": {"vcs": "git", "commit_id": "ab"}}
    for record, command in (
        ({"url": folder.as_uri(), "dir_info": {}}, f"'{folder}[plots]'"),
        ({"url": folder.as_uri(), "dir_info": {"editable": True}}, f"--editable '{folder}[plots]'"),
        ({"url": wheel.as_uri(), "archive_info": {}}, f"'{wheel}[plots]'"),
        ({"url": address, "archive_info": {}}, f"'nmtkit[plots] @ {address}'"),
        (repository, "'nmtkit[plots] @ git+https://example.org/n.git@ab'"),
        (
            {**repository, "subdirectory": "a"},
            "'nmtkit[plots] @ git+https://example.org/n.git@ab#subdirectory=a'",
        ),
    ):
        install(record)
        assert install_command("plots") == f"pip install {command}"
        assert installed_from() in command


@pytest.mark.parametrize("record", [None, {}, [], {"url": "file:///gone/nmtkit", "dir_info": {}}])
def test_without_a_place_the_packages_themselves_are_named(install, record):
    install(record)
    assert install_command("plots") == "pip install matplotlib 'scikit-learn>=1'"
    assert install_command("kenlm") == "pip install kenlm"
    assert installed_from() == ""


def test_a_checkout_that_is_not_installed_is_named(monkeypatch, tmp_path):
    def no_distribution(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", no_distribution)
    assert install_command("kenlm") == shlex.join(["pip", "install", f"{ROOT}[kenlm]"])
    monkeypatch.setattr(extras, "__file__", str(tmp_path / "nmtkit" / "extras.py"))
    assert install_command("kenlm").endswith("the extra 'kenlm' in pyproject.toml")


BY_NAME = re.compile(
    r"\b(?:pip3?|pipx|uv|conda|mamba|poetry)\s+(?:pip\s+|tool\s+)?(?:install|add|inject|run)\b"
    r"[^\n`#;,]*?[\s'\"]nmtkit(?![\w./-]|(?:\[\w+\])? @ )(?=\[|[=<>~!]|['\"`\s;,)]|$)",
    re.MULTILINE,
)
"""A command that installs nmtkit, or an extra, by its bare name."""

EXTRA = re.compile(r"(?<![\w/])nmtkit\[[a-z]\w*\](?! @ )")
"""An extra of nmtkit by its bare name, however it is installed."""


def by_name(text: str) -> list[str]:
    text = re.sub(r"\\?\n\s*(?:#\s*)?['\"]?", " ", text)  # a command may go on in the next line
    found = [match[0] for pattern in (BY_NAME, EXTRA) for match in pattern.finditer(text)]
    return [match for match in found if "uninstall" not in match]


def repository_files() -> list[Path]:
    """Return every file that git tracks or would add, or without git every file of a source."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "-co", "--exclude-standard"]
    try:
        names = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        return [path for path in ROOT.rglob("*") if path.is_file() and ".venv" not in path.parts]
    return [ROOT / name for name in names.split("\0") if name]


def test_nothing_tells_to_install_nmtkit_by_its_name():
    found = {}
    for path in repository_files():
        if path == Path(__file__) or not path.is_file():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if names := by_name(text):
            found[str(path.relative_to(ROOT))] = names
    assert not found


@pytest.mark.parametrize(
    "text",
    [
        "pip install nmtkit",
        "run: pip install 'nmtkit[plots]'",
        'run pip install "nmtkit[plots]", or',
        "`python -m pip install --upgrade nmtkit`",
        "pip install \\\n    nmtkit",
        "uv pip install torch nmtkit==0.2.0",
        "pipx install nmtkit\n",
        "needs nmtkit[kenlm].",
    ],
)
def test_a_bare_name_is_found(text):
    assert by_name(text)


@pytest.mark.parametrize(
    "text",
    [
        "pip install '.[plots]'",
        "pip install /tmp/nmtkit-0.2.0-py3-none-any.whl",
        "pip install -e /src/nmtkit",
        "python -m pip uninstall --quiet --yes nmtkit",
        "pip install 'nmtkit[plots] @ https://example.org/nmtkit.tar.gz'",
    ],
)
def test_a_place_is_no_bare_name(text):
    assert not by_name(text)
