"""Numbers in place of tags, and back."""

import pytest
from trained_tags import numbered, numbered_pair, restored

SOURCE = 'Press <b>A</b> or <a href="/en">B <b>C</b></a><br/>now'


def test_elements_have_numbers_in_the_order_of_the_source() -> None:
    line, opening = numbered(SOURCE)
    assert line == "Press <t1>A</t1> or <t2>B <t3>C</t3></t2><t4/>now"
    assert opening == {1: "<b>", 2: '<a href="/en">', 3: "<b>", 4: "<br/>"}
    assert restored(line, SOURCE) == SOURCE


def test_a_target_has_the_numbers_of_its_source() -> None:
    target = '<a href="/de">B <b>A</b></a> drücken<br/> <b>C</b> <i>D</i>'
    assert numbered_pair(SOURCE, target) == (
        "Press <t1>A</t1> or <t2>B <t3>C</t3></t2><t4/>now",
        "<t2>B <t1>A</t1></t2> drücken<t4/> <t3>C</t3> <t0>D</t0>",
    )


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("<t2>x</t2> <t1>y</t1>", '<a href="/en">x</a> <b>y</b>'),
        ("<t9>x</t9> <t1>y", "x <b>y"),
        ("no tags", "no tags"),
    ],
)
def test_tags_come_back_and_unknown_ones_are_left_out(output: str, text: str) -> None:
    assert restored(output, SOURCE) == text


def test_tags_without_a_partner_do_no_harm() -> None:
    assert numbered("</b>a<i>")[0] == "</t0>a<t1>"
