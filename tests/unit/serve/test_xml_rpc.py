"""Calls of XML-RPC are read as Python's own client writes them, and hostile ones are refused."""

import xmlrpc.client

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.serve.errors import RequestError
from nmtkit.serve.xml_rpc import _answer, _value, parse_call

texts = st.text(
    st.characters(exclude_categories=["Cs"], min_codepoint=32, exclude_characters="\ufffe\uffff")
)
values = st.recursive(
    st.one_of(texts, st.booleans(), st.integers(-(2**31), 2**31 - 1)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)


@given(st.lists(values, max_size=3))
def test_calls_of_pythons_client_are_read(arguments):
    if any("\ufffe" in str(a) or "\uffff" in str(a) or "\x7f" in str(a) for a in arguments):
        return
    body = xmlrpc.client.dumps(tuple(arguments), "translate").encode()
    try:
        method, found = parse_call(body)
    except RequestError as error:
        assert "within each other" in error.message or "not well-formed" in error.message
        return
    assert (method, found) == ("translate", arguments)


@given(values)
def test_answers_are_read_by_pythons_client(value):
    xml = f"<methodResponse><params><param>{_value(value)}</param></params></methodResponse>"
    ((found,), _) = xmlrpc.client.loads(xml.encode())
    assert found == value and type(found) is type(value)


CALL = "<methodCall><methodName>m</methodName><params><param>{}</param></params></methodCall>"


def test_a_value_without_a_type_is_a_string():
    assert parse_call(CALL.format("<value> a </value>").encode()) == ("m", [" a "])


@pytest.mark.parametrize(
    "body",
    [
        "",
        "x",
        "<a/>",
        "<methodCall>",
        '<!DOCTYPE a [<!ENTITY b "c">]>' + CALL.format("<value>&b;</value>"),
        '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>' + CALL.format("&b;"),
        CALL.format("<value><array><data>" * 1_000),
        CALL.format("<value><int>" + "9" * 5_000 + "</int></value>"),
        CALL.format("<value><double>1e</double></value>"),
        CALL.format("<value><struct><member><name>a</name></member></struct></value>"),
        CALL.format("<value/>" * 20_000),
    ],
)
def test_hostile_calls_are_refused(body):
    with pytest.raises(RequestError) as caught:
        parse_call(body.encode())
    assert caught.value.status == 400


def placed(*places):
    return [{"text": "", "start": start, "end": end} for start, end in places]


def test_alignments_count_words_between_blanks():
    details = {
        "source_words": placed((0, 2), (3, 6), (6, 7)),
        "target_words": placed((0, 2), (2, 5), (6, 7)),
        "alignment": [[0, 0, 0.4], [0, 1, 0.3], [1, 1, 0.6], [1, 2, 0.3], [2, 2, 0.9]],
    }
    empty: dict[str, list[int]] = {"source_words": [], "target_words": [], "alignment": []}
    result = {
        "text": "l'eau !", "alternatives": ["eau"], "ranking_scores": [-0.5, -0.7],
        **details, "alternative_details": [empty],
    }  # fmt: skip
    answer = _answer("de eau.", result, {"align", "word-align"}, 2)
    links = [(0, 0), (1, 0), (1, 1)]
    word_align = [{"source-word": source, "target-word": target} for source, target in links]
    assert answer["word-align"] == word_align
    assert answer["align"] == [
        {"tgt-start": 0, "src-start": 0, "src-end": 1},
        {"tgt-start": 1, "src-start": 1, "src-end": 1},
    ]
    assert [one["totalScore"] for one in answer["nbest"]] == [-0.5, -0.7]
    assert [one["word-align"] for one in answer["nbest"]] == [word_align, []]
    assert _answer("de eau.", {**result, "alternatives": []}, set(), 0) == {"text": "l'eau !"}


def test_words_of_a_long_line_are_counted_once() -> None:
    class Watched(str):
        copied = 0

        def __getitem__(self, key):
            part = super().__getitem__(key)
            Watched.copied += len(part)
            return part

    line = Watched("word " * 200)
    words = placed(*((start, start + 4) for start in range(0, len(line), 5)))
    details = {"source_words": words, "target_words": words}
    details["alignment"] = [[number, number, 1.0] for number in range(200)]
    answer = _answer(line, {"text": line, **details}, {"word-align"}, 0)
    assert answer["word-align"][-1] == {"source-word": 199, "target-word": 199}
    assert Watched.copied <= len(line)
