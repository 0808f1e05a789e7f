"""The page of the server: one file that fetches nothing, under a strict policy."""

import base64
import hashlib
import re
from importlib import resources

from nmtkit.serve.page import SCRIPTS, load_page


def html() -> str:
    return load_page().html.decode()


def inline(tag: str) -> list[str]:
    return re.findall(rf"<{tag}>(.*?)</{tag}>", html(), re.DOTALL)


def test_the_policy_allows_the_script_and_the_style_of_the_page() -> None:
    policy = load_page().headers["Content-Security-Policy"]
    for tag in ("script", "style"):
        (content,) = inline(tag)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert "connect-src 'self'" in policy


def test_every_file_of_the_page_is_in_it() -> None:
    folder = resources.files("nmtkit.serve") / "web"
    names = {path.name for path in folder.iterdir()}
    assert names == {"page.html", "page.css", *SCRIPTS}
    for name in SCRIPTS:
        assert (folder / name).read_text(encoding="utf-8") in html()
    assert "{{" not in html()


def test_nothing_comes_from_elsewhere_and_no_handler_is_inline() -> None:
    (script,), (style,) = inline("script"), inline("style")
    markup = html().replace(script, "").replace(style, "")
    assert not re.findall(r"\s(?:src|on\w+|style)=", markup)
    links = set(re.findall(r'href="([^"]*)"', markup))
    assert {link for link in links if not link.startswith(("#", "data:"))} == {"docs"}
    assert not re.findall(r"url\(|@import|https?://", style + script)


def test_data_enters_the_page_as_text_alone() -> None:
    (script,) = inline("script")
    unsafe = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
    assert not re.findall(unsafe, script)
