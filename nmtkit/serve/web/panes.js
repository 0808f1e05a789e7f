// ---- Panes: a text field, and behind it a mirror of its text whose words can be marked

const MIN_WEIGHT = 0.05; // smaller alignment weights are neither highlighted nor described
const UNCERTAIN = 0.8; // confidences below are underlined
const DOUBTFUL = 0.5;
const ARROWS = { source: "\u2192", target: "\u2190" };

const find = (id) => document.getElementById(id);
const percent = (share) => (share > 0 && share < 0.01 ? "under 1\u00a0%" : `${Math.round(100 * share)}\u00a0%`);
const grouped = (number) => number.toLocaleString("en");
const plural = (count, noun) => `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;

function createElement(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

class Pane {
  #rendered = []; // what each block of the mirror shows: [text, words, class]

  constructor(side) {
    this.side = side;
    this.field = find(side);
    this.mirror = find(`${side}-mirror`);
    this.editor = find(`${side}-editor`);
  }

  // Show lines in the mirror; blocks of lines that are as before are kept.
  render(lines, classOf) {
    const blocks = this.mirror.children;
    lines.forEach((line, number) => {
      const text = line[this.side];
      const words = (this.side === "target" ? line.words : line.fresh && line.words) || null;
      const shown = [text, words, line.fresh, classOf];
      const before = this.#rendered[number];
      if (before && shown.every((part, i) => part === before[i])) return;
      const block = this.#block(text, words, line, classOf);
      if (blocks[number]) blocks[number].replaceWith(block);
      else this.mirror.append(block);
      this.#rendered[number] = shown;
    });
    while (blocks.length > lines.length) blocks[lines.length].remove();
    this.#rendered.length = lines.length;
  }

  #block(text, words, line, classOf) {
    const block = createElement("div", { class: line.fresh ? "line" : "line stale" });
    let at = 0;
    const placed = words ? words[this.side].filter((word) => word.end > word.start) : [];
    for (const word of placed.sort((a, b) => a.start - b.start)) {
      if (word.start < at) continue;
      block.append(text.slice(at, word.start));
      const kind = this.side === "target" ? classOf(words, word.index) : "";
      const span = createElement("span", { class: `word ${kind}`.trim(), "data-i": word.index });
      span.append(text.slice(word.start, word.end));
      block.append(span);
      at = word.end;
    }
    block.append(text.slice(at) || "\u200b");
    return block;
  }

  // Word under a point of the screen: the mirror lies behind the field.
  wordAtPoint(x, y) {
    const span = document.elementsFromPoint(x, y).find((element) => element.matches("span.word[data-i]"));
    if (!span || !this.mirror.contains(span)) return null;
    return { number: [...this.mirror.children].indexOf(span.parentElement), index: Number(span.dataset.i) };
  }

  spanOf(number, index) {
    return this.mirror.children[number]?.querySelector(`[data-i="${index}"]`) ?? null;
  }

  // Word at the cursor, or null.
  wordAtCursor(lines) {
    const texts = lines.map((line) => line[this.side]);
    const { number, at } = locate(texts, this.field.selectionStart);
    const words = lines[number].words?.[this.side] ?? [];
    const inside = words.filter((word) => word.start <= at && at <= word.end && word.end > word.start);
    const word = inside.find((one) => at < one.end) ?? inside[0];
    return word ? { number, index: word.index } : null;
  }

  // The cursor stays in its line, whose beginning other lines may move.
  setText(text) {
    if (this.field.value === text) return;
    const [before, after] = [this.field.value.split("\n"), text.split("\n")];
    const moved = (offset) => {
      if (before.length !== after.length) return offset;
      const { number, at } = locate(before, offset);
      return offsetOf(after, number) + Math.min(at, after[number].length);
    };
    const [start, end] = [moved(this.field.selectionStart), moved(this.field.selectionEnd)];
    this.field.value = text;
    if (document.activeElement === this.field) this.field.setSelectionRange(start, end);
  }
}

// Highlights the words that are aligned to one word, in both panes.
class Alignments {
  #marked = [];

  constructor(panes) {
    this.panes = panes;
  }

  clear() {
    for (const element of this.#marked) {
      element.classList.remove("highlighted", "selected", "active");
      element.style.removeProperty("--weight");
    }
    this.#marked = [];
  }

  // Highlight, and return a description for the screen and for screen readers.
  show(lines, side, { number, index }) {
    this.clear();
    const words = lines[number]?.words;
    if (!words) return "";
    const other = side === "source" ? "target" : "source";
    const [mine, its] = side === "source" ? [1, 0] : [0, 1];
    const links = words.links.filter((link) => link[mine] === index && link[2] >= MIN_WEIGHT)
      .map((link) => [link[its], link[2]]).sort((a, b) => b[1] - a[1]);
    this.#mark(this.panes[side].spanOf(number, index), "selected");
    for (const pane of Object.values(this.panes)) {
      if (lines.length > 1) this.#mark(pane.mirror.children[number], "active");
    }
    for (const [place, weight] of links) this.#mark(this.panes[other].spanOf(number, place), "highlighted", weight);
    return this.#describe(lines[number], side, index, links);
  }

  #mark(element, kind, weight = 1) {
    if (!element) return;
    element.classList.add(kind);
    element.style.setProperty("--weight", weight.toFixed(3));
    this.#marked.push(element);
  }

  #describe(line, side, index, links) {
    const other = side === "source" ? "target" : "source";
    const textOf = (from, place) => {
      const word = line.words[from][place];
      return word && word.end > word.start ? line[from].slice(word.start, word.end) : null;
    };
    const named = links.slice(0, 4).map(([place, weight]) => [textOf(other, place), weight])
      .filter(([text]) => text).map(([text, weight]) => `${text} ${percent(weight)}`);
    const aligned = line.words.links.length ? named.join(", ") || `nothing above ${percent(MIN_WEIGHT)}` : "";
    const sure = side === "target" ? line.words.wordConfidences?.[index] : null;
    const confidence = sure == null ? "" : `${aligned ? "; " : ": "}${percent(sure)} sure${bandName(sure)}`;
    return `${textOf(side, index) ?? ""}${aligned && ` ${ARROWS[side]} ${aligned}`}${confidence}`;
  }
}

const bandName = (sure) => (sure < DOUBTFUL ? ", doubtful" : sure < UNCERTAIN ? ", uncertain" : "");

function confidenceClass(words, index) {
  const sure = words.wordConfidences?.[index];
  if (sure == null || sure >= UNCERTAIN) return "";
  return sure < DOUBTFUL ? "doubtful" : "uncertain";
}

const noClass = () => "";
