// The report's data, and its decoding. sentences.py documents the encoding.

const END = "</s>";
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const DIGIT_VALUE = new Map([...DIGITS].map((digit, value) => [digit, value]));
const MARKS = [null, "different", "added", "repeated"]; // by the state of a word
const UNMATCHED = 2;

const find = (id) => document.getElementById(id);
const about = JSON.parse(find("about").textContent);
const sentences = JSON.parse(find("sentences").textContent);
const systems = about.systems;
const list = find("list");

const wordsOf = (line) => (line[0] ? line[0].split(" ") : []);

function textOf(line) {
  if (line.length > 2) return line[2];
  const joined = new Set(line[1]);
  return wordsOf(line).map((word, i) => (i && !joined.has(i) ? " " : "") + word).join("");
}

function decodeOutput(packed) {
  const [line, quality, score, finished, wordScores, tokens, alignment, others, states] = packed;
  return { line, quality, score, finished, wordScores, tokens, alignment, others, states };
}

// Numbers other than 0 of a list, as [index, number].
function decodeSparse(packed) {
  const numbers = [];
  let at = 0;
  for (let i = 0; i < packed.length; i++) {
    let skipped = 0;
    for (let unit = 1; ; unit *= 32) {
      const digit = DIGIT_VALUE.get(packed[i++]);
      skipped += (digit % 32) * unit;
      if (digit < 32) break;
    }
    at += skipped;
    numbers.push([at, DIGIT_VALUE.get(packed[i])]);
    at += 1;
  }
  return numbers;
}

// Cells of an alignment with a weight, as [row, column, weight].
const decodeAlignment = (alignment, columns) =>
  decodeSparse(alignment).map(([at, weight]) => [Math.floor(at / columns), at % columns, weight / 63]);

// States of the words of a translation, its reference and its source, as maps from index to state.
function decodeStates(packed, lengths) {
  const maps = lengths.map(() => new Map());
  for (const [at, state] of decodeSparse(packed)) {
    let [part, place] = [0, at];
    while (place >= lengths[part]) place -= lengths[part++];
    maps[part].set(place, state);
  }
  return maps;
}

function decodeScores(packed) {
  const scores = [];
  for (let i = 0; i < packed.length; i += 2) {
    scores.push(-(DIGIT_VALUE.get(packed[i]) * 64 + DIGIT_VALUE.get(packed[i + 1])) / 100);
  }
  return scores;
}

function decodeHypothesis(other, best) {
  const [begin, end, between] = other;
  const words = best.split(" ");
  const parts = [...words.slice(0, begin), ...(between ? between.split(" ") : [])];
  return [...parts, ...words.slice(words.length - end)].join(" ");
}
