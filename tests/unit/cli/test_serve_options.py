"""Each option of `nmtkit serve` reaches the setting that it names."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from nmtkit.cli.main import cli
from nmtkit.serve import server
from nmtkit.serve.settings import Limits, ServerSettings

Settings = Callable[..., ServerSettings]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Return a function that gives the settings with which a command line would serve."""
    (tmp_path / "config.toml").touch()

    def call(*options: object) -> ServerSettings:
        found: list[ServerSettings] = []
        monkeypatch.setattr(server, "serve", found.append)
        words = ["serve", "--pair", f"en-fr={tmp_path}", *map(str, options)]
        result = CliRunner().invoke(cli, words)
        assert result.exit_code == 0, result.output
        return found[0]

    return call


def test_defaults_are_those_of_the_settings(settings: Settings) -> None:
    found = settings()
    default = ServerSettings(found.models)
    assert found == default and found.models.params == "best"


def test_each_limit_has_its_option(settings: Settings) -> None:
    options = ["--max-body", 1, "--max-characters", 2, "--max-lines", 3, "--timeout", "4s"]
    options += ["--max-queue", 5, "--max-file", 6, "--rate", 7, "--max-connections", 8]
    assert settings(*options).limits == Limits(
        body=1, characters=2, lines=3, seconds=4.0, queue=5, file=6, rate=7, connections=8
    )


def test_each_setting_of_the_models_has_its_option(settings: Settings) -> None:
    options = ["--params", "last", "--fast", "--unload-idle", "9s", "--batch-size", 10]
    found = settings(*options, "--threads", 11, "--device", "cpu").models
    assert (found.params, found.fast, found.unload_idle) == ("last", True, 9.0)
    assert (found.batch_size, found.cores, found.device) == (10, 11, "cpu")
    assert settings("--pivot", "en", "--pivot", "fr").models.pivots == ("en", "fr")


def test_each_setting_of_the_server_has_its_option(settings: Settings) -> None:
    options = ["--host", "::1", "--port", 12, "--drain", "13s", "--allow-host", "a", "--log-texts"]
    found = settings(*options, "--keys", "keys")
    assert (found.host, found.port, found.drain, found.hosts) == ("::1", 12, 13.0, ("a",))
    assert (found.log_texts, found.keys) == (True, Path("keys"))


def test_a_model_is_not_named_in_vain_beside_a_new_key(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    words = ["serve", str(tmp_path), "--new-key", "omegat", "--keys", str(keys)]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 2 and not keys.exists()
    assert "--new-key and MODEL exclude each other" in result.stderr
