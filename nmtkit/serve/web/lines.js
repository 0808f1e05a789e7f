// ---- Lines: one line of the text, and what its translation is known to be

const MAX_RESULTS = 1000; // translations remembered, so that undoing and retyping need no server

// source: text of the line. target: text shown beside it. fresh: it is the translation of the source.
// prefix: beginning that the user chose. edited: the user wrote the rest, too.
// words: {source, target, links, ...} of a fresh translation, with offsets in UTF-16.
function newLine(source, target = "") {
  const blank = !source.trim();
  return { source, target: blank ? "" : target, prefix: "", edited: false, fresh: blank, words: null };
}

// Return the lines for new texts. Equal lines at the beginning and at the end stay the same objects;
// a changed line shows its old translation until the new one arrives.
function updateLines(lines, texts) {
  const most = Math.min(lines.length, texts.length);
  let head = 0;
  while (head < most && lines[head].source === texts[head]) head++;
  let tail = 0;
  const equalAt = (back) => lines[lines.length - back].source === texts[texts.length - back];
  while (tail < most - head && equalAt(tail + 1)) tail++;
  const changed = texts.slice(head, texts.length - tail).map((text, i) => {
    const old = head + i < lines.length - tail ? lines[head + i].target : "";
    return newLine(text, old);
  });
  return [...lines.slice(0, head), ...changed, ...lines.slice(lines.length - tail)];
}

// Offsets of the server count code points, those of JavaScript UTF-16 units.
function utf16Offsets(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (offset) => offset;
  const offsets = [];
  let at = 0;
  for (const character of text) {
    offsets.push(at);
    at += character.length;
  }
  return (offset) => offsets[offset] ?? at;
}

function countCharacters(text) {
  let count = text.length;
  for (let i = 0; i < text.length; i++) if ((text.charCodeAt(i) & 0xfc00) === 0xdc00) count--;
  return count;
}

const hasPlace = (word) => Number.isInteger(word.start) && Number.isInteger(word.end);

function placeWords(words, text) {
  const convert = utf16Offsets(text);
  return (words ?? []).map((word, index) => (hasPlace(word)
    ? { index, start: convert(word.start), end: convert(word.end) } : { index, start: 0, end: 0 }));
}

// Convert a message of the server for one line.
function readResult(message, source) {
  const text = message.text.replace(/[\r\n]+/g, " "); // one line stays one line
  return {
    text,
    source: placeWords(message.source_words, source),
    target: placeWords(message.target_words, message.text),
    links: message.alignment ?? [],
    confidence: message.confidence ?? null,
    wordConfidences: message.word_confidences ?? null,
    missing: message.missing_terms ?? [],
  };
}

class Results {
  #results = new Map();

  get(key) {
    return this.#results.get(key);
  }

  add(key, result) {
    this.#results.delete(key);
    this.#results.set(key, result);
    if (this.#results.size > MAX_RESULTS) this.#results.delete(this.#results.keys().next().value);
  }
}

function applyResult(line, result) {
  Object.assign(line, { target: result.text, words: result, fresh: true, edited: false });
}

// Take over what the user wrote. Words outside the change keep their alignment.
function applyEdit(line, text) {
  const old = line.target;
  const most = Math.min(old.length, text.length);
  let head = 0;
  while (head < most && old[head] === text[head]) head++;
  let tail = 0;
  while (tail < most - head && old[old.length - 1 - tail] === text[text.length - 1 - tail]) tail++;
  const shift = text.length - old.length;
  if (line.words) {
    const target = line.words.target.map((word) => {
      if (word.end < head || (word.end === head && head < text.length && /\s/.test(text[head]))) return word;
      if (word.start > old.length - tail) return { ...word, start: word.start + shift, end: word.end + shift };
      return { ...word, start: 0, end: 0 };
    });
    line.words = { ...line.words, target, confidence: null };
  }
  Object.assign(line, { target: text, edited: true, fresh: true });
}

const snapshot = (line) => ({ line, state: { ...line } });

// Number of the line, and offset in it, of an offset in all of the text.
function locate(texts, offset) {
  for (let number = 0; number < texts.length; number++) {
    if (offset <= texts[number].length) return { number, at: offset };
    offset -= texts[number].length + 1;
  }
  return { number: texts.length - 1, at: texts.at(-1).length };
}

function offsetOf(texts, number) {
  return texts.slice(0, number).reduce((sum, text) => sum + text.length + 1, 0);
}
