// Details of a translation: word scores, n-best list, large matrix.

function collapsed(title, kind) {
  return createElement("details", { "data-kind": kind }, createElement("summary", {}, title));
}

function fillDetails(details) {
  if (details.childElementCount > 1) return;
  const output = outputOfElement(details);
  details.append(details.dataset.kind === "scores" ? wordScores(output) : nBest(output));
}

function outputOfElement(element) {
  const [number, k] = sentenceAndSystem(element);
  return decodeOutput(sentences[number][2][k]);
}

const sentenceAndSystem = (element) => [
  Number(element.closest(".sentence").dataset.n), Number(element.closest(".row").dataset.k),
];

function wordScores(output) {
  const tokens = output.tokens ? output.tokens.split(" ") : wordsOf(output.line);
  const items = decodeScores(output.wordScores).map((score, i) => {
    const bar = createElement("i");
    bar.style.setProperty("--p", Math.exp(score).toFixed(3));
    return createElement("li", {}, createElement("bdi", { lang: about.languages[1] }, tokens[i] ?? END),
      createElement("span", { class: "number" }, minus(score, 2)), createElement("span", { class: "meter" }, bar));
  });
  return createElement("div", {},
    createElement("p", { class: "note" },
      `Natural log-probabilities; their sum is ${minus(output.score, 3)}. Bars show probabilities.`),
    createElement("ul", { class: "word-scores" }, ...items));
}

function nBest(output) {
  const best = textOf(output.line);
  const rest = output.others.map((other) => [decodeHypothesis(other, best), other[3], other[5]]);
  const items = [[best, output.score, output.finished], ...rest].map(([text, score, finished]) =>
    createElement("li", {}, createElement("span", { class: "number" }, minus(score, 2)),
      createElement("span", { dir: "auto", lang: about.languages[1] }, text), finished ? "" : " (unfinished)"));
  return createElement("ol", { class: "nbest" }, ...items);
}

// Cells of similar weight share a path, so that a large matrix needs few nodes.
function cellPaths(output, columns, size) {
  const paths = new Map();
  for (const [i, j, weight] of decodeAlignment(output.alignment, columns)) {
    const level = Math.max(1, Math.round(weight * 8));
    const cell = `M${j * size} ${i * size}h${size}v${size}h${-size}z`;
    paths.set(level, (paths.get(level) ?? "") + cell);
  }
  return [...paths].map(([level, d]) => createSvg("path", { class: "cells", d, "fill-opacity": level / 8 }));
}

const rowsOf = (output) => wordsOf(output.line).length + (output.finished ? 1 : 0);

function thumbnail(output, columns) {
  const rows = rowsOf(output);
  const cell = Math.min(7, 96 / Math.max(rows, columns));
  return createSvg("svg", {
    viewBox: `0 0 ${columns} ${rows}`, width: columns * cell, height: rows * cell, "aria-hidden": "true",
  }, ...cellPaths(output, columns, 1));
}

function largeMatrix(number, k) {
  const source = [...wordsOf(sentences[number][0]), END];
  const output = decodeOutput(sentences[number][2][k]);
  const target = [...wordsOf(output.line), END].slice(0, rowsOf(output));
  const size = 18;
  const longest = (words) => 7.6 * Math.min(24, Math.max(...words.map((word) => word.length))) + 12;
  const [left, top] = [longest(target), longest(source)];
  const [width, height] = [source.length * size, target.length * size];
  const short = (word) => (word.length > 24 ? word.slice(0, 23) + "\u2026" : word);
  const title = `Alignment of ${systems[k].name}`;
  return createSvg("svg", {
    role: "img", "aria-label": title, width: left + width + 8, height: top + height + 8,
  },
  createSvg("title", {}, title),
  ...source.map((word, j) => createSvg("text",
    { transform: `translate(${left + j * size + 13} ${top - 6}) rotate(-90)` }, short(word))),
  ...target.map((word, i) => createSvg("text",
    { x: left - 6, y: top + i * size + 13.5, "text-anchor": "end" }, short(word))),
  createSvg("g", { transform: `translate(${left} ${top})` },
    ...cellPaths(output, source.length, size),
    createSvg("rect", { class: "frame", width, height })));
}

function toggleMatrix(button) {
  const open = button.getAttribute("aria-expanded") === "true";
  const element = button.closest(".row");
  button.setAttribute("aria-expanded", String(!open));
  if (open) element.querySelector(".matrix").remove();
  else {
    const attributes = { class: "matrix", tabindex: 0, role: "region", "aria-label": "Alignment" };
    element.append(createElement("div", attributes, largeMatrix(...sentenceAndSystem(button))));
  }
}
