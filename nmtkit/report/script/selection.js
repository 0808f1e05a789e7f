// Which sentences are shown, in which order: search, filters, sorting, and their address in the
// page's URL (addresses.py), so that they survive reload and Back.

const SENTENCES_PER_PAGE = 50; // keeps the document small for any test set
const DEFAULTS = {
  q: "", how: "part", only: "", bucket: "", difference: "", sort: "file", largest: "", against: "",
  columns: "", hidden: "", page: "1",
};
const state = { ...DEFAULTS, target: null, order: [], problem: "" };

// ---- Address

function readAddress(hash) {
  const single = /^#sentence-(\d{1,9})$/.exec(hash);
  if (single) {
    const number = Math.min(Number(single[1]), sentences.length) - 1;
    if (number < 0) return false;
    const page = String(Math.floor(number / SENTENCES_PER_PAGE) + 1);
    Object.assign(state, DEFAULTS, { page, target: number });
    return true;
  }
  if (hash !== "" && !hash.startsWith("#translations")) return false;
  const given = new URLSearchParams(hash.slice("#translations?".length));
  Object.assign(state, DEFAULTS, { target: null });
  for (const key of Object.keys(DEFAULTS)) if (given.has(key)) state[key] = given.get(key);
  return true;
}

function addressOf(changes = {}) {
  const wanted = { ...state, ...changes };
  const parts = new URLSearchParams();
  for (const [key, usual] of Object.entries(DEFAULTS)) if (wanted[key] !== usual) parts.set(key, wanted[key]);
  const text = parts.toString().replaceAll("%3A", ":");
  return text ? `#translations?${text}` : "#translations";
}

// ---- Search

const fold = (text) => text.normalize("NFKD").replace(/\p{M}+/gu, "").toLowerCase();
const literal = (text) => text.replace(/[\\^$.*+?()[\]{}|\/]/g, "\\$&");

// The pattern that is searched for, or null for an empty query or a wrong expression.
function queryPattern() {
  state.problem = "";
  if (!state.q.trim()) return null;
  if (state.how !== "regex") {
    const text = literal(fold(state.q.trim()));
    return new RegExp(state.how === "word" ? `(?<![\\p{L}\\p{N}])${text}(?![\\p{L}\\p{N}])` : text, "gu");
  }
  try {
    return new RegExp(state.q, "giu");
  } catch (error) {
    state.problem = `Not a regular expression: ${error.message}`;
    return null;
  }
}

// A line as it is searched, and the beginning of each of its words in it.
function searchable(line, exact) {
  const joined = new Set(line[1]);
  const starts = [];
  let text = "";
  wordsOf(line).forEach((word, i) => {
    if (i && !joined.has(i)) text += " ";
    starts.push(text.length);
    text += exact ? word : fold(word);
  });
  return { text, starts };
}

// Indices of the words of a line that a pattern hits.
function hitsIn(line, pattern) {
  const { text, starts } = searchable(line, state.how === "regex");
  const hits = new Set();
  for (const match of text.matchAll(pattern)) {
    const end = match.index + match[0].length;
    for (let i = 0; match[0] && i < starts.length; i++) {
      if (starts[i] < end && (starts[i + 1] ?? text.length + 1) > match.index) hits.add(i);
    }
  }
  return hits;
}

const searchTexts = { exact: [], folded: [] };

function isFound(number, pattern) {
  const kept = searchTexts[state.how === "regex" ? "exact" : "folded"];
  const [source, reference, outputs] = sentences[number];
  kept[number] ??= [source, reference, ...outputs.map((output) => output[0])]
    .map((line) => searchable(line, state.how === "regex").text);
  return kept[number].some((text) => {
    pattern.lastIndex = 0;
    const match = pattern.exec(text);
    return match && (match[0] || [...text.matchAll(pattern)].some(([hit]) => hit));
  });
}

// ---- Filters and order

const quality = (number, k) => sentences[number][2][k][1];
const isSystem = (k) => Number.isInteger(k) && k >= 0 && k < systems.length;

// What the address selects, as tests of a sentence's number with their names; wrong parts select
// nothing less.
function filters() {
  const tests = [];
  const [kind, first, second] = state.only.split(":");
  const [a, b] = [Number(first), Number(second)];
  const bit = about.kinds.findIndex(([name]) => name === kind);
  if (kind === "better" && isSystem(a) && isSystem(b)) {
    tests.push({
      name: `${systems[a].name} has a higher chrF than ${systems[b].name}`,
      key: "only", test: (n) => quality(n, a) > quality(n, b),
    });
  } else if (bit >= 0 && isSystem(a)) {
    tests.push({
      name: `${systems[a].name}: ${about.kinds[bit][1]}`,
      key: "only", test: (n) => (sentences[n][2][a][9] >> bit) & 1,
    });
  }
  const [by, index] = state.bucket.split(":");
  const bucket = Object.hasOwn(about.buckets, by) ? about.buckets[by] : null;
  const wanted = Number(index);
  if (bucket && bucket.names[wanted]) {
    const first = (n) => DIGIT_VALUE.get(bucket.sentences[n]) ?? Infinity;
    const test = bucket.cumulative ? (n) => first(n) <= wanted : (n) => first(n) === wanted;
    tests.push({ name: `sentences ${bucket.names[wanted]}`, key: "bucket", test });
  }
  const [x, y, low, high] = state.difference.split(":").map(Number);
  if (isSystem(x) && isSystem(y) && low <= high) {
    // Equal sentences are in a range on both sides of 0, or alone.
    const equal = low === high ? low === 0 : low < 0 && high > 0;
    tests.push({
      name: `chrF of ${systems[y].name} \u2212 ${systems[x].name} from ${signed(low, 0)} to ${signed(high, 0)}`,
      key: "difference",
      test: (n) => {
        const value = quality(n, y) - quality(n, x);
        return value === 0 ? equal : value >= low && value < high;
      },
    });
  }
  return tests;
}

// Tokens of an output with </s>; words, if its word scores were left out for the page's size.
const tokenCount = (output) => output[4].length / 2 || wordsOf(output[0]).length + 1;

function sortValue(key, number) {
  const [name, first, second] = key.split(":");
  const [source, , outputs] = sentences[number];
  if (name === "length") return wordsOf(source).length;
  if (name === "quality") return outputs[first][1];
  if (name === "score") return outputs[first][2] / tokenCount(outputs[first]);
  if (name === "difference") return outputs[second][1] - outputs[first][1];
  return number;
}

function updateOrder() {
  const pattern = queryPattern();
  const tests = filters();
  const found = [...sentences.keys()].filter(
    (n) => tests.every(({ test }) => test(n)) && (!pattern || isFound(n, pattern)));
  const key = sortOptions().some(([name]) => name === state.sort) ? state.sort : "file";
  const values = new Map(found.map((n) => [n, sortValue(key, n)]));
  const sign = state.largest ? -1 : 1;
  state.order = found.sort((a, b) => sign * (values.get(a) - values.get(b)) || a - b);
  const pages = Math.max(1, Math.ceil(state.order.length / SENTENCES_PER_PAGE));
  const page = Math.floor(Number(state.page)) || 1;
  state.page = String(Math.min(Math.max(page, 1), pages));
}

function sortOptions() {
  const pairs = systems.flatMap((_, a) => systems.map((_, b) => [a, b])).filter(([a, b]) => a !== b);
  return [
    ["file", "order in the file"],
    ["length", "length of the source"],
    ...systems.map((system, k) => [`quality:${k}`, `chrF of ${system.name}`]),
    ...systems.map((system, k) => [`score:${k}`, `score per token of ${system.name}`])
      .filter((_, k) => systems[k].model),
    ...pairs.map(([a, b]) => [
      `difference:${a}:${b}`, `chrF: ${systems[b].name} \u2212 ${systems[a].name}`,
    ]),
  ];
}
