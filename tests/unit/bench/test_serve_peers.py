"""Another server is started, waited for and measured with the clients of ours."""

import sys
from argparse import Namespace
from pathlib import Path

import pytest
from serve_load import PAIR
from serve_peers import compare, libretranslate, options_of, server_options, settings_of
from timing import BenchError

FAKE = """
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        fields = json.loads(self.rfile.read(int(self.headers["content-length"])))
        assert (fields["source"], fields["target"]) == ("en", "fr")
        body = json.dumps({"translatedText": "le " + fields["q"]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass

port = int(sys.argv[sys.argv.index("--port") + 1])
ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


def program_of(tmp_path: Path, code: str) -> Path:
    program = tmp_path / "libretranslate"
    program.write_text(f"#!{sys.executable}\n{code}")
    program.chmod(0o755)
    return program


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    for pair in ("en_fr", "fr_en"):
        (tmp_path / "packages" / pair).mkdir(parents=True)
        (tmp_path / "packages" / pair / "metadata.json").write_text("{}")
    return tmp_path / "packages"


def test_settings_are_ours_unless_the_environment_has_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARGOS_INTRA_THREADS", "2")
    monkeypatch.setenv("XDG_DATA_HOME", "/elsewhere")
    settings = settings_of(Path("packages"), tmp_path, threads=3, beam=5)
    assert settings["ARGOS_PACKAGES_DIR"] == str(Path("packages").absolute())
    threads = (settings["ARGOS_INTER_THREADS"], settings["ARGOS_INTRA_THREADS"])
    assert threads == ("3", "2")
    assert settings["ARGOS_BEAM_SIZE"] == "5"
    assert settings["XDG_DATA_HOME"] == str(tmp_path / "XDG_DATA_HOME")
    assert settings["ORT_DISABLE_TELEMETRY"] == "1"


def test_servers_are_measured_in_turns(tmp_path: Path, packages: Path) -> None:
    assert PAIR == {"source": "en", "target": "fr"}
    program = program_of(tmp_path, FAKE)
    lines = [f"line {number} ." for number in range(20)]
    references = [f"le {line}" for line in lines]
    options = Namespace(clients=4, rounds=2)
    with (
        libretranslate(program, packages, 1, 4) as one,
        libretranslate(program, packages, 1, 4) as other,
    ):
        result = compare({"one": one, "other": other}, lines, options, references)
    assert one.process.poll() is not None and other.process.poll() is not None
    assert (result["lines"], result["clients"]) == (20, 4)
    for name in ("one", "other"):
        assert {kind: len(rounds) for kind, rounds in result["rounds"][name].items()} == {
            kind: 2 for kind in ("full", "idle", "half", "equal")
        }
        assert result["medians"][name]["full"]["words_per_line"] == 4
        assert result["medians"][name]["full"]["lines_per_s"] > 0
        assert result["medians"][name]["full"]["bleu"] == 100
    equal = [result["rounds"][name]["equal"] for name in ("one", "other")]
    rates = [[figures["requests_per_s"] for figures in rounds] for rounds in equal]
    assert rates[0] == rates[1]


def test_a_server_that_does_not_start_is_reported(tmp_path: Path, packages: Path) -> None:
    program = program_of(tmp_path, "raise SystemExit('no such language')")
    with (
        pytest.raises(BenchError, match="does not start: no such language"),
        libretranslate(program, packages, 1, 4),
    ):
        pass


def test_a_download_is_prevented(tmp_path: Path, packages: Path) -> None:
    (packages / "fr_en" / "metadata.json").unlink()
    with (
        pytest.raises(BenchError, match="has no two packages"),
        libretranslate(tmp_path / "none", packages, 1, 4),
    ):
        pass


def test_our_server_runs_on_the_cpu_as_the_other_does() -> None:
    options = options_of(["model", "text", "--argos", "packages", "--threads", "2", "--fast"])
    words = server_options(options)
    assert words == ["--device", "cpu", "--threads", "2", "--beam", "4", "--fast"]
