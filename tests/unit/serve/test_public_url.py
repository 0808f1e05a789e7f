"""The address of a server behind a proxy."""

import pytest

from nmtkit.errors import ConfigError
from nmtkit.serve.public_url import parse_origin, parse_public_url
from tests.integration.serving import running
from tests.unit.serve.fake_hosts import FakeHosts


@pytest.mark.parametrize(
    ("text", "base", "host", "origin"),
    [
        ("https://example.org", "https://example.org", "example.org", "https://example.org"),
        ("HTTPS://Example.org:443/", "https://example.org", "example.org", "https://example.org"),
        ("http://a.b:81/x/y/", "http://a.b:81/x/y", "a.b", "http://a.b:81"),
        ("http://[::1]:80/x", "http://[::1]/x", "::1", "http://[::1]"),
    ],
)
def test_the_parts_of_an_address(text: str, base: str, host: str, origin: str) -> None:
    assert parse_public_url(text) == (base, host, origin)


@pytest.mark.parametrize(
    "text",
    ["", "example.org", "ftp://example.org", "https://", "https:///x", "https://a@example.org",
     "https://example.org?x", "https://example.org/#x", "https://example.org:99999", "http://[x",
     "https://exa mple.org", "https://a.org/\r\nx", "https://a.org\\x"],
)  # fmt: skip
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--public-url"):
        parse_public_url(text)


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("*", "*"),
        ("null", "null"),
        ("https://example.org", "https://example.org"),
        ("HTTPS://Example.org:443", "https://example.org"),
        ("http://localhost:8080", "http://localhost:8080"),
        ("http://[::1]:80", "http://[::1]"),
        ("chrome-extension://abc", "chrome-extension://abc"),
    ],
)
def test_an_origin_is_as_browsers_send_it(text: str, origin: str) -> None:
    assert parse_origin(text) == origin


@pytest.mark.parametrize(
    "text",
    ["", "foo", "example.org", "https://", "https://example.org/", "https://example.org/x",
     "https://a@example.org", "https://example.org?x", "https://example.org:99999", "http://[x",
     "https://exa mple.org", "https://*.example.org", "https://a.org\n"],
)  # fmt: skip
def test_what_is_no_origin_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--cors"):
        parse_origin(text)


def test_files_and_documents_have_the_public_address(hosts: FakeHosts, tmp_path) -> None:
    public = parse_public_url("https://example.org/translator/")
    form = {"source": "en", "target": "fr"}
    with running(tmp_path, public_url=public) as server:
        answer = server.http.post("/translate_file", data=form, files={"file": ("a.txt", b"one")})
        prefix, _, token = answer.json()["translatedFileUrl"].rpartition("/")
        assert prefix == "https://example.org/translator/download_file"
        assert server.http.get(f"/download_file/{token}").content == b"one"
        servers = server.http.get("/openapi.json").json()["servers"]
        assert servers == [{"url": "https://example.org/translator"}]


def test_the_public_name_and_origin_are_the_servers_own(hosts: FakeHosts, tmp_path) -> None:
    public = parse_public_url("https://example.org/translator")
    own = {"origin": "https://example.org"}
    with running(tmp_path) as server:
        assert server.http.get("/languages", headers=own).status_code == 403
        assert server.http.get("/languages", headers={"host": "example.org"}).status_code == 403
    with running(tmp_path, public_url=public) as server:
        for headers in (own, {"host": "example.org"}, {**own, "host": "example.org"}):
            assert server.http.get("/languages", headers=headers).status_code == 200
        for headers in ({"origin": "http://example.org"}, {"host": "example.com"}):
            assert server.http.get("/languages", headers=headers).status_code == 403
