"""Loading models again: no signal is lost, and a failure leaves the older model ready."""

import httpx
import pytest

from nmtkit.errors import ModelError
from nmtkit.serve import model_pool
from nmtkit.serve.model_host import check_languages
from tests.integration.serving import Running, running
from tests.unit.serve.fake_hosts import FakeHosts


def readiness(server: Running) -> int:
    return server.http.get("/ready").status_code


def metric(server: Running, name: str) -> str:
    """Return the value of the only line of a metric."""
    lines = server.http.get("/metrics").text.splitlines()
    (line,) = [line for line in lines if line.startswith(name)]
    return line.rsplit(" ", 1)[1]


def test_a_signal_during_a_reload_leads_to_another(hosts: FakeHosts, tmp_path) -> None:
    with running(tmp_path) as server:
        hosts.hold_load = 0.5
        server.call(server.server.reload)
        server.wait_until(lambda: len(hosts.starts) == 2)  # it has begun to read the files
        for _ in range(3):
            server.call(server.server.reload)
        server.wait_until(lambda: len(server.events("model_loaded")) == 3)
        hosts.hold_load = 0.0
        server.call(server.server.reload)
        server.wait_until(lambda: len(server.events("model_loaded")) == 4)
        assert len(hosts.starts) == 4


def test_a_signal_during_another_loading_leads_to_another(hosts: FakeHosts, tmp_path) -> None:
    """A loading that was begun by a request, or by a new folder, may have read older files."""
    with running(tmp_path) as server:
        hosts.hold_load = 0.5
        server.call(server.service.engine.pool.models["en", "fr"].load)
        server.wait_until(lambda: len(hosts.starts) == 2)
        server.call(server.server.reload)
        server.wait_until(lambda: len(server.events("model_loaded")) == 3)


@pytest.mark.parametrize("name", ["params.best.safetensors", "fast.json", "calibration.json"])
def test_what_commands_write_into_a_folder_is_loaded(hosts: FakeHosts, tmp_path, name) -> None:
    with running(tmp_path) as server:
        (tmp_path / name).write_bytes(b"")
        server.wait_until(lambda: len(server.events("model_loaded")) == 2, seconds=10)


def test_a_failed_reload_leaves_the_server_ready(hosts: FakeHosts, tmp_path) -> None:
    with running(tmp_path) as server:
        assert readiness(server) == 200 and metric(server, "nmtkit_model_failed") == "0"
        hosts.failure = "broken"
        server.call(server.server.reload)
        server.wait_until(lambda: server.events("model_failed"))
        assert readiness(server) == 200 and server.text("one") == "ONE"
        assert metric(server, "nmtkit_model_failed") == "1"
        hosts.failure = None
        server.call(server.server.reload)
        server.wait_until(lambda: len(server.events("model_loaded")) == 2)
        assert readiness(server) == 200 and metric(server, "nmtkit_model_failed") == "0"


def test_a_host_knows_the_languages_that_were_loaded_before(hosts: FakeHosts, tmp_path) -> None:
    with running(tmp_path) as server:
        server.call(server.server.reload)
        server.wait_until(lambda: len(server.events("model_loaded")) == 2)
        assert [start["languages"] for start in hosts.starts] == [None, [["en", "fr"]]]


def test_a_model_of_another_pair_is_refused() -> None:
    check_languages(["a"], [["en", "fr"]], None)
    check_languages(["a", "b"], [["en", "fr"], ["en", "fr"]], [["en", "fr"], ["", ""]])
    with pytest.raises(ModelError, match="b: translates en into zh-TW, but is served for en into"):
        check_languages(["a", "b"], [["en", "fr"], ["en", "zh-TW"]], [["en", "fr"], ["en", "fr"]])


def test_a_model_that_is_gone_is_not_ready_until_it_can_be_loaded(
    hosts: FakeHosts, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No request is needed for it: a balancer sends none to a server that is not ready."""
    monkeypatch.setattr(model_pool, "RETRY_SECONDS", 0.2)
    with running(tmp_path) as server:
        hosts.failure = "broken"
        server.call_async(hosts.hosts[0].end)
        server.wait_until(lambda: len(server.events("model_failed")) >= 2)
        assert readiness(server) == 503
        assert httpx.get(f"{server.url}/health").status_code == 200
        hosts.failure = None
        server.wait_until(lambda: readiness(server) == 200)
        assert server.text("one") == "ONE"


def test_an_idle_model_is_ready(hosts: FakeHosts, tmp_path) -> None:
    with running(tmp_path, unload_idle=0.1) as server:
        server.wait_until(lambda: server.events("model_unloaded"))
        assert readiness(server) == 200
        assert metric(server, "nmtkit_model_loaded") == "0"
