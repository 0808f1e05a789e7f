// ---- Editing: alternatives, what the user writes, undoing, words under the pointer and at the cursor

const MAX_UNDO = 200;
const CURSOR_DELAY = 500; // ms until the word at the cursor is described to screen readers

const textsOf = (side) => state.lines.map((line) => line[side]);
const cursorLine = (side) => locate(textsOf(side), panes[side].field.selectionStart).number;

function remember(line) {
  state.undo.push(snapshot(line));
  if (state.undo.length > MAX_UNDO) state.undo.shift();
}

function undo() {
  menu.close();
  const last = state.undo.pop();
  if (!last || !state.lines.includes(last.line)) return last ? undo() : show();
  Object.assign(last.line, last.state);
  translate();
  return setCursor(state.lines.indexOf(last.line), last.line.target.length);
}

function setCursor(number, at) {
  const offset = offsetOf(textsOf("target"), number) + at;
  panes.target.field.setSelectionRange(offset, offset);
}

function openAlternatives(touch) {
  const { number, at } = locate(textsOf("target"), panes.target.field.selectionStart);
  const line = state.lines[number];
  if (!line.source.trim() || !line.fresh) return;
  const [start, end] = wordBounds(line, at, pair.target);
  const place = { line, number, start, end, prefix: line.target.slice(0, start) };
  menu.open(place, () => cursorRectangle(state.lines.indexOf(line), start));
  find("type-instead").hidden = !touch;
  const terms = glossary.termsIn(line.source);
  const message = { ...currentJob(), alternatives: true, text: line.source, terms, prefix: place.prefix, n: MAX_ALTERNATIVES };
  connection.send(withKey({ ...message, slot: "alternatives" }), (answer) => {
    if (!menu.isOpenFor(place)) return;
    if (answer.alternatives) menu.fill(answer.alternatives, pair.target);
    else if (answer.error) menu.say(sentence(answer.error.message));
    else if (answer.lost) menu.say("No connection to the server.");
  });
}

// Rectangle of a character on the screen, by the mirror.
function cursorRectangle(number, at) {
  const block = panes.target.mirror.children[number];
  const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    range.setStart(node, Math.min(at, node.length));
    if (at < node.length) break;
    at -= node.length;
  }
  range.collapse(true);
  return range.getBoundingClientRect();
}

function chooseAlternative({ line, number }, alternative, prefix) {
  if (!state.lines.includes(line)) return;
  remember(line);
  if (alternative.word) Object.assign(line, { prefix, target: alternative.text, edited: false, fresh: false, words: null });
  else applyEdit(line, alternative.text.trimEnd()); // no prefix makes the server end there
  translate();
  setCursor(number, prefix.trimEnd().length);
  panes.target.field.focus();
}

function continueFromCursor() {
  menu.close();
  const { number, at } = locate(textsOf("target"), panes.target.field.selectionStart);
  const line = state.lines[number];
  if (!line.source.trim()) return;
  remember(line);
  Object.assign(line, { prefix: line.target.slice(0, at), edited: false, fresh: false });
  translate();
  panes.target.field.focus();
  setCursor(number, at);
}

function takeEdit() {
  if (!panes.source.field.value.trim()) return show(); // there is nothing to translate
  const texts = panes.target.field.value.split("\n");
  menu.close();
  if (texts.length !== state.lines.length) {
    state.error = "Each line of the text has one line of translation; start new lines in the text.";
    return show();
  }
  texts.forEach((text, number) => {
    const line = state.lines[number];
    if (text === line.target) return;
    if (!line.edited) remember(line);
    applyEdit(line, text);
  });
  return show();
}

// ---- Words under the pointer and at the cursor

let cursorTimer = null;

function describeWord(side, word, aloud) {
  const text = word ? alignments.show(state.lines, side, word) : (alignments.clear(), "");
  if (find("word-info").textContent !== text) find("word-info").textContent = text;
  clearTimeout(cursorTimer);
  if (aloud && text) cursorTimer = setTimeout(() => { find("announcement").textContent = text; }, CURSOR_DELAY);
}

function startPane(side) {
  const pane = panes[side];
  pane.editor.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse" && !event.buttons) describeWord(side, pane.wordAtPoint(event.clientX, event.clientY));
  });
  pane.editor.addEventListener("pointerleave", () => describeWord(side, null));
  pane.field.addEventListener("keyup", (event) => {
    if (/^(Arrow|Home|End|Page)/.test(event.key) && !menu.isOpen) describeWord(side, pane.wordAtCursor(state.lines), true);
  });
  pane.field.addEventListener("blur", () => describeWord(side, null));
}

function startTarget() {
  let touch = false; // of the last pointer: not all browsers tell that of a click
  const { field } = panes.target;
  field.addEventListener("input", takeEdit);
  field.addEventListener("click", (event) => {
    menu.close();
    if (field.selectionStart !== field.selectionEnd) return;
    describeWord("target", panes.target.wordAtCursor(state.lines));
    openAlternatives(touch);
  });
  field.addEventListener("pointerdown", (event) => {
    touch = event.pointerType === "touch";
    field.inputMode = touch && document.activeElement !== field ? "none" : field.inputMode;
  });
  field.addEventListener("keydown", (event) => {
    const control = event.ctrlKey || event.metaKey;
    if (menu.isOpen && menu.handleKey(event)) event.preventDefault();
    else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      if (control) continueFromCursor();
      else openAlternatives(false);
    } else if (control && event.key.toLowerCase() === "z" && !event.shiftKey) {
      event.preventDefault();
      undo();
    } else if (menu.isOpen && /^(Arrow|Home|End|Page)/.test(event.key)) menu.close();
  });
  field.addEventListener("blur", () => menu.close());
  find("type-instead").addEventListener("pointerdown", (event) => event.preventDefault());
  find("type-instead").addEventListener("click", () => {
    menu.close();
    field.inputMode = "text";
    field.blur();
    field.focus();
  });
}

async function copyTranslation() {
  const { field } = panes.target;
  try {
    await navigator.clipboard.writeText(field.value);
  } catch { // no permission, or no https
    field.select();
    document.execCommand("copy");
  }
  find("copy").textContent = "Copied";
  find("announcement").textContent = "The translation is copied.";
  setTimeout(() => { find("copy").textContent = "Copy"; }, ANNOUNCE_DELAY);
}

function swapLanguages() {
  const text = panes.target.field.value;
  if (text) panes.source.field.value = text;
  state.lines = updateLines(state.lines, panes.source.field.value.split("\n"));
  pair.swap();
}
