"""Markdown: imports and exports at the beginning of a file with components."""

import pytest

from nmtkit.documents.modules import MAX_LINES, end_of_modules
from tests.unit.documents.stand_ins import translated

STATEMENTS = [
    "import Tabs from '@theme/Tabs';",
    'import Tabs, { TabItem } from "@theme/Tabs"',
    "import * as All from './all'",
    "import type {A} from './a'",
    "import {\n  One,\n  Two,\n} from './numbers'",
    "import './style.css'",
    "import data from './a.json' with { type: 'json' }",
    "import A from 'a'; import B from 'b'",
    "export const title = 'Some text'",
    "export const Box = ({ children }) => (\n  <b>\n\n    {children}\n  </b>\n)",
    "export const list = [\n  'a (b',\n\n  'c', // d {\n]",
    "export default function Page(props) {\n\n  return props.children\n}",
    "export async function load() {}",
    "export default ({children}) => <Layout>{children}</Layout>",
    "export default Layout",
    "export { a, b } from './c'",
    "export * from './d'",
    "export class A extends B {\n}",
]
PROSE = [
    "import data from a file, 'x' say.",
    "import data from 'x.csv' into a table.",
    "Import Tabs from '@theme/Tabs';",
    "import the module and\nexport default settings",
    "export default settings to a file.",
    "export const and let",
    "export class diagrams of a project",
    "export functions are many (three)",
    "imports x from 'y';",
    "    import x from 'y'",
]


@pytest.mark.parametrize("code", STATEMENTS)
@pytest.mark.parametrize("front", ["", "---\ntitle: a\n---\n", "\n", "{/* a */}\n\n<!-- b -->\n"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_modules_are_kept(code: str, front: str, newline: str) -> None:
    before = f"{front}import a from 'a'\n\n{code}\n\n".replace("\n", newline)
    changed = translated(f"{before}one two", "md", str.upper).data.decode()
    assert changed == f"{before}ONE TWO"


@pytest.mark.parametrize("text", PROSE)
def test_prose_that_begins_alike_is_no_module(text: str) -> None:
    assert end_of_modules(text, 0) == 0


def test_modules_behind_other_text_are_text() -> None:
    text = "one\n\nimport x from 'y'"
    assert translated(text, "md", str.upper).segments == 2


def test_brackets_that_do_not_close_end_at_the_first_empty_line() -> None:
    code = "export const a = {\n\n"
    assert end_of_modules(f"{code}one\n\ntwo", 0) == len(code)
    assert end_of_modules(code + "one\n\n" * MAX_LINES, 0) == len(code)
