"""Addresses of sentences and selections of sentences on a report's page.

`#sentence-17` is a sentence, `#translations?only=missing:0&sort=length` a selection. The page's
script reads and writes them (`script/selection.js`), so that they survive reload and Back.
"""


def selection_address(**parts: str) -> str:
    """Return the address of a selection.

    :param parts: `only`: `KIND:SYSTEM`, or `better:A:B` for sentences in which A has a higher chrF
        than B. `bucket`: `CRITERION:NUMBER`. `difference`: `A:B:LOW:HIGH`, chrF of B minus A.
        `sort`: a key of the page, `largest`: "1" for descending order. Systems and buckets are
        given by index. No value needs quoting.
    """
    return "#translations?" + "&".join(f"{name}={value}" for name, value in parts.items())
