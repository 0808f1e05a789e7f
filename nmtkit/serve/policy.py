"""Content-Security-Policy of pages that carry their own script and style."""

import base64
import hashlib
import re

_INLINE = re.compile(r"<(script|style)(?:\s[^>]*)?>(.*?)</\1\s*>", re.DOTALL | re.IGNORECASE)


def policy_of(html: str) -> str:
    """Return a policy under which a page may run its own inline scripts and styles alone.

    They are named by their checksums. The page may speak to its own server, and no script may
    make HTML of text (Trusted Types).
    """
    hashes: dict[str, list[str]] = {"script": [], "style": []}
    for tag, content in _INLINE.findall(html):
        digest = base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode()
        hashes[tag.lower()].append(f"'sha256-{digest}'")
    parts = ["default-src 'none'", "connect-src 'self'", "img-src 'self' data:"]
    parts += [f"{tag}-src {' '.join(found)}" for tag, found in hashes.items() if found]
    parts += ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]
    parts += ["require-trusted-types-for 'script'", "trusted-types 'none'"]
    return "; ".join(parts)
