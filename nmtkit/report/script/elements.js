// Elements of the page. All text enters it as text, never as HTML.

const SVG = "http://www.w3.org/2000/svg";

function createElement(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function createSvg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const signed = (value, digits) =>
  (value < 0 ? "\u2212" : "+") + Math.abs(value).toFixed(digits);
const minus = (value, digits) => (value < 0 ? "\u2212" : "") + Math.abs(value).toFixed(digits);
const grouped = (value) => value.toLocaleString("en");
const plural = (count, noun) => `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;

// A line of text as words; words with alignments can have the focus.
// marks: class of each marked word. hits: words that the search found.
function textLine(line, { language, label = "", aligned = false, marks = new Map(), hits = new Set() }) {
  const words = wordElements(line, { aligned, marks, hits });
  return textParagraph(words.flatMap(({ space, element }) => [space, element]), language, label, aligned);
}

function textParagraph(content, language, label, aligned) {
  const attributes = { class: "text", dir: "auto", lang: language };
  if (aligned) Object.assign(attributes, { role: "group", "aria-label": label });
  return createElement("p", attributes, ...content);
}

function wordElements(line, { aligned, marks, hits }) {
  const joined = new Set(line[1]);
  return wordsOf(line).map((word, i) => {
    const mark = marks.get(i);
    const content = mark ? createElement("mark", { class: mark }, word) : word;
    const attributes = { class: hits.has(i) ? "word hit" : "word", "data-i": i };
    if (aligned) Object.assign(attributes, { role: "button", tabindex: i ? -1 : 0 });
    return { space: i && !joined.has(i) ? " " : "", element: createElement("span", attributes, content) };
  });
}

// Positions of a longest common subsequence of words, as [ours, theirs].
function commonWords(ours, theirs) {
  const [n, m] = [ours.length, theirs.length];
  if (n * m > 4e6) return [];
  const best = new Uint16Array((n + 1) * (m + 1));
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      const at = i * (m + 1) + j;
      best[at] = ours[i] === theirs[j]
        ? best[at + m + 2] + 1
        : Math.max(best[at + m + 1], best[at + 1]);
    }
  }
  const pairs = [];
  for (let i = 0, j = 0; i < n && j < m; ) {
    const at = i * (m + 1) + j;
    if (ours[i] === theirs[j]) pairs.push([i++, j++]);
    else if (best[at + m + 1] >= best[at + 1]) i++;
    else j++;
  }
  return pairs;
}

// A translation with its differences from another one: inserted words, and deleted ones before them.
function differenceLine(line, other, options) {
  const words = wordElements(line, { ...options, marks: new Map() });
  const theirs = wordsOf(other);
  const pairs = [...commonWords(wordsOf(line), theirs), [words.length, theirs.length]];
  const content = [];
  let [i, j] = [0, 0];
  for (const [nextOurs, nextTheirs] of pairs) {
    if (nextTheirs > j) content.push(content.length ? " " : "", createElement("del", {}, theirs.slice(j, nextTheirs).join(" ")));
    if (nextOurs > i) {
      const inserted = words.slice(i, nextOurs).flatMap(({ space, element }, at) => (at ? [space, element] : [element]));
      content.push(nextTheirs > j ? " " : words[i].space, createElement("ins", {}, ...inserted));
    }
    if (words[nextOurs]) content.push(nextTheirs > j && nextOurs === i ? " " : words[nextOurs].space, words[nextOurs].element);
    [i, j] = [nextOurs + 1, nextTheirs + 1];
  }
  return textParagraph(content, options.language, options.label, options.aligned);
}
