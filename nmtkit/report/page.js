// Shows the translations of a report page by page, with search, sorting and alignments.
// sentences.py documents the encoding. All text enters the page as text, never as HTML.
"use strict";
(() => {
  const SENTENCES_PER_PAGE = 50; // keeps the document small for any test set
  const MIN_WEIGHT = 0.05; // smaller alignment weights are neither highlighted nor described
  const END = "</s>";
  const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const SVG = "http://www.w3.org/2000/svg";
  const DIGIT_VALUE = new Map([...DIGITS].map((digit, value) => [digit, value]));

  const find = (id) => document.getElementById(id);
  const about = JSON.parse(find("about").textContent);
  const sentences = JSON.parse(find("sentences").textContent);
  const systems = about.systems;
  const list = find("list");
  const shown = new Set(systems.keys());
  const state = { query: "", key: "file", descending: false, first: 0, order: [] };

  // ---- Decoding

  const wordsOf = (line) => (line[0] ? line[0].split(" ") : []);

  function textOf(line) {
    if (line.length > 2) return line[2];
    const joined = new Set(line[1]);
    return wordsOf(line).map((word, i) => (i && !joined.has(i) ? " " : "") + word).join("");
  }

  function decodeOutput(packed) {
    const [line, quality, score, finished, wordScores, tokens, alignment, others] = packed;
    return { line, quality, score, finished, wordScores, tokens, alignment, others };
  }

  // Cells of an alignment with a weight, as [row, column, weight].
  function decodeAlignment(alignment, columns) {
    const cells = [];
    let at = 0;
    for (let i = 0; i < alignment.length; i++) {
      let skipped = 0;
      for (let unit = 1; ; unit *= 32) {
        const digit = DIGIT_VALUE.get(alignment[i++]);
        skipped += (digit % 32) * unit;
        if (digit < 32) break;
      }
      at += skipped;
      cells.push([Math.floor(at / columns), at % columns, DIGIT_VALUE.get(alignment[i]) / 63]);
      at += 1;
    }
    return cells;
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

  // ---- Search and sorting

  const searchTexts = new Array(sentences.length);

  function searchText(number) {
    const [source, reference, outputs] = sentences[number];
    searchTexts[number] ??= [source, reference, ...outputs.map((output) => output[0])]
      .map(textOf).join("\n").toLowerCase();
    return searchTexts[number];
  }

  function sortValue(key, number) {
    const [name, first, second] = key.split(":");
    const [source, , outputs] = sentences[number];
    if (name === "length") return wordsOf(source).length;
    if (name === "quality") return outputs[first][1];
    if (name === "score") return outputs[first][2] / (outputs[first][4].length / 2 || 1);
    if (name === "difference") return outputs[second][1] - outputs[first][1];
    return number;
  }

  function updateOrder() {
    const query = state.query.trim().toLowerCase();
    const found = [...sentences.keys()].filter((n) => !query || searchText(n).includes(query));
    const values = new Map(found.map((n) => [n, sortValue(state.key, n)]));
    const sign = state.descending ? -1 : 1;
    state.order = found.sort((a, b) => sign * (values.get(a) - values.get(b)) || a - b);
    state.first = 0;
    renderPage();
  }

  // ---- Elements

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
  function textLine(line, language, label, aligned, marked, kind) {
    const joined = new Set(line[1]);
    const words = wordsOf(line).map((word, i) => {
      const content = marked.has(i) ? createElement("mark", kind ? { class: kind } : {}, word) : word;
      const attributes = { class: "word", "data-i": i };
      if (aligned) Object.assign(attributes, { role: "button", tabindex: i ? -1 : 0 });
      return [i && !joined.has(i) ? " " : "", createElement("span", attributes, content)];
    });
    const attributes = { class: "text", dir: "auto", lang: language };
    if (aligned) Object.assign(attributes, { role: "group", "aria-label": label });
    return createElement("p", attributes, ...words.flat());
  }

  // Indices of words outside a longest common subsequence: extra in ours, missing from theirs.
  function differences(ours, theirs) {
    const [n, m] = [ours.length, theirs.length];
    const extra = new Set(ours.keys());
    const missing = new Set(theirs.keys());
    if (n * m > 4e6) return { extra: new Set(), missing: new Set() };
    const best = new Uint16Array((n + 1) * (m + 1));
    for (let i = n - 1; i >= 0; i--) {
      for (let j = m - 1; j >= 0; j--) {
        const at = i * (m + 1) + j;
        best[at] = ours[i] === theirs[j]
          ? best[at + m + 2] + 1
          : Math.max(best[at + m + 1], best[at + 1]);
      }
    }
    for (let i = 0, j = 0; i < n && j < m; ) {
      const at = i * (m + 1) + j;
      if (ours[i] === theirs[j]) {
        extra.delete(i++);
        missing.delete(j++);
      } else if (best[at + m + 1] >= best[at + 1]) i++;
      else j++;
    }
    return { extra, missing };
  }

  function sentenceArticle(number) {
    const [source, reference, packed] = sentences[number];
    const outputs = packed.map(decodeOutput);
    const [from, to] = about.languages;
    const theirs = wordsOf(reference);
    const found = outputs.map(({ line }) => differences(wordsOf(line), theirs));
    const visible = [...systems.keys()].filter((k) => shown.has(k));
    const missing = new Set(
      [...theirs.keys()].filter((j) => visible.length && visible.every((k) => found[k].missing.has(j)))
    );
    const aligned = visible.some((k) => outputs[k].alignment);
    const article = createElement("article", {
      class: "sentence", "data-n": number, "aria-labelledby": `n${number + 1}`,
    });
    const header = createElement(
      "header", {}, createElement("h3", { id: `n${number + 1}` }, `Sentence ${grouped(number + 1)}`),
      createElement("span", {}, plural(wordsOf(source).length, "word"))
    );
    if (systems.length === 2) {
      const difference = outputs[1].quality - outputs[0].quality;
      header.append(createElement("span", {}, `${systems[1].name}: chrF ${signed(difference, 1)}`));
    }
    article.append(
      header,
      row("source" + (aligned ? " aligned" : ""), "Source",
        textLine(source, from, "Source; use the arrow keys to move between words", aligned, new Set()), -1),
      row("reference", "Reference", textLine(reference, to, "", false, missing, "missing"))
    );
    for (const k of visible) article.append(outputRow(number, k, outputs[k], found[k].extra, source));
    if (aligned) article.append(createElement("p", { class: "alignment-text", "aria-hidden": "true" }));
    return article;
  }

  function row(kind, who, text, place) {
    const element = createElement("div", { class: `row ${kind}` }, createElement("div", { class: "label" }, who),
      createElement("div", { class: "body" }, text));
    if (place !== undefined) element.dataset.k = place;
    return element;
  }

  function outputRow(number, k, output, extra, source) {
    const aligned = Boolean(output.alignment);
    const label = `${systems[k].name}; use the arrow keys to move between words`;
    const text = textLine(output.line, about.languages[1], label, aligned, extra);
    const element = row("output" + (aligned ? " aligned" : ""), "", text, k);
    const key = document.querySelectorAll("h1 .key")[k].cloneNode(true);
    const who = element.querySelector(".label");
    who.append(
      createElement("span", { class: "name" }, key, createElement("bdi", {}, systems[k].name)),
      createElement("span", { class: "quality" }, `chrF ${output.quality.toFixed(1)}`)
    );
    if (!wordsOf(output.line).length) text.append(createElement("i", { class: "unfinished" }, "(empty)"));
    if (!output.finished) {
      text.append(" ", createElement("span", { class: "unfinished" }, "(unfinished: maximum length reached)"));
    }
    const more = createElement("div", { class: "details" });
    const wide = wordsOf(source).length + 1;
    if (output.wordScores) more.append(collapsed("Word scores", "scores"));
    if (output.others.length) more.append(collapsed(`${output.others.length + 1} best`, "nbest"));
    if (more.childNodes.length) element.querySelector(".body").append(more);
    if (aligned) {
      const name = `Alignment of ${systems[k].name}, sentence ${number + 1}: enlarge`;
      const attributes = { type: "button", class: "thumbnail", "aria-expanded": "false", "aria-label": name };
      element.append(createElement("button", attributes, thumbnail(output, wide)));
    }
    return element;
  }

  function collapsed(title, kind) {
    return createElement("details", { "data-kind": kind }, createElement("summary", {}, title));
  }

  // ---- Details: word scores, n-best list, large matrix

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

  // ---- Alignments: highlight the words aligned to a word

  let highlighted = [];
  let pinned = null;

  function clearHighlights() {
    for (const word of highlighted) {
      word.classList.remove("highlighted", "selected");
      word.style.removeProperty("--weight");
    }
    highlighted = [];
    for (const cursor of list.querySelectorAll(".cursor")) cursor.remove();
    for (const text of list.querySelectorAll(".alignment-text:not(:empty)")) text.textContent = "";
  }

  // Highlight the words aligned to a word, and return a description of them with weights.
  function highlightLinks(word) {
    clearHighlights();
    const [number, k] = sentenceAndSystem(word);
    const place = Number(word.dataset.i);
    const article = word.closest(".sentence");
    const source = article.querySelector(".row.source .text");
    const columns = wordsOf(sentences[number][0]).length + 1;
    word.classList.add("selected");
    highlighted.push(word);
    const descriptions = [];
    for (const element of article.querySelectorAll(".row.output.aligned")) {
      const system = Number(element.dataset.k);
      if (k >= 0 && system !== k) continue;
      const output = decodeOutput(sentences[number][2][system]);
      const cells = decodeAlignment(output.alignment, columns).filter(([i, j]) => (k < 0 ? j : i) === place);
      const others = k < 0 ? element.querySelector(".text") : source;
      const links = cells.map(([i, j, weight]) => [k < 0 ? i : j, weight]);
      for (const [at, weight] of links) if (weight >= MIN_WEIGHT) highlightWord(others, at, weight);
      const name = systems.filter((one) => one.aligns).length > 1 && k < 0 ? `${systems[system].name}: ` : "";
      descriptions.push(name + describeLinks(links, others));
      markInThumbnail(element, k < 0, place, columns, rowsOf(output));
    }
    const arrow = k < 0 ? "\u2192" : "\u2190";
    const sentence = `${word.textContent} ${arrow} ${descriptions.join(" \u00b7 ")}`;
    article.querySelector(".alignment-text").textContent = sentence;
    return sentence;
  }

  function highlightWord(line, place, weight) {
    const word = line.querySelector(`.word[data-i="${place}"]`);
    if (!word) return; // </s> has no element
    word.classList.add("highlighted");
    word.style.setProperty("--weight", weight.toFixed(3));
    highlighted.push(word);
  }

  function describeLinks(links, line) {
    const heavy = links.filter(([, weight]) => weight >= MIN_WEIGHT).sort((a, b) => b[1] - a[1]).slice(0, 4);
    const named = heavy.map(([at, weight]) => {
      const word = line.querySelector(`.word[data-i="${at}"]`);
      return `${word ? word.textContent : "end of sentence"} ${Math.round(weight * 100)}\u00a0%`;
    });
    return named.join(", ") || "nothing above 5\u00a0%";
  }

  function markInThumbnail(element, column, place, columns, rows) {
    const svg = element.querySelector(".thumbnail svg");
    const box = column
      ? { x: place, y: 0, width: 1, height: rows } : { x: 0, y: place, width: columns, height: 1 };
    svg.append(createSvg("rect", { class: "cursor", ...box }));
  }

  const wordAt = (target) => (target.closest ? target.closest(".aligned .word") : null);

  list.addEventListener("pointerover", (event) => {
    const word = event.pointerType === "mouse" && !pinned && wordAt(event.target);
    if (word) highlightLinks(word);
  });
  list.addEventListener("pointerout", (event) => {
    if (event.pointerType === "mouse" && !pinned && wordAt(event.target)) clearHighlights();
  });
  list.addEventListener("focusin", (event) => {
    const word = wordAt(event.target);
    if (word && word.matches(":focus-visible")) find("announcement").textContent = highlightLinks((pinned = word));
  });
  list.addEventListener("focusout", (event) => {
    if (pinned && event.target === pinned) {
      pinned = null;
      clearHighlights();
    }
  });
  list.addEventListener("click", (event) => {
    const thumb = event.target.closest(".thumbnail");
    if (thumb) toggleMatrix(thumb);
    const word = wordAt(event.target);
    if (!word) return;
    const same = pinned === word;
    pinned = same ? null : word;
    if (same) clearHighlights();
    else highlightLinks(word);
  });
  list.addEventListener("keydown", (event) => {
    const word = wordAt(event.target);
    if (!word) return;
    const words = [...word.closest(".text").querySelectorAll(".word")];
    const at = words.indexOf(word);
    const forward = getComputedStyle(word).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    const moves = { ArrowRight: -1, ArrowLeft: -1, [forward]: 1, Home: -at, End: words.length - 1 - at };
    if (event.key in moves) {
      const next = words[at + moves[event.key]];
      event.preventDefault();
      if (!next) return;
      word.tabIndex = -1;
      next.tabIndex = 0;
      next.focus({ focusVisible: true });
    } else if (event.key === "Escape") {
      pinned = null;
      clearHighlights();
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      find("announcement").textContent = highlightLinks((pinned = word));
    }
  });
  list.addEventListener("toggle", (event) => {
    if (event.target.open && event.target.dataset.kind) fillDetails(event.target);
  }, true);

  // ---- List and controls

  function renderPage() {
    pinned = null;
    highlighted = [];
    const last = Math.min(state.first + SENTENCES_PER_PAGE, state.order.length);
    list.replaceChildren(...state.order.slice(state.first, last).map(sentenceArticle));
    const all = plural(sentences.length, "sentence");
    const range = state.order.length
      ? `${grouped(state.first + 1)} to ${grouped(last)} of ${plural(state.order.length, "sentence")}`
      : "No sentence matches";
    const some = state.query.trim() ? `; ${grouped(state.order.length)} of ${all} found` : "";
    find("count").textContent = `${range}${some}.`;
    find("previous").disabled = state.first === 0;
    find("next").disabled = last >= state.order.length;
  }

  function changePage(by) {
    state.first = Math.max(0, state.first + by);
    renderPage();
    find("count").scrollIntoView({ block: "start" });
  }

  function sortOptions() {
    const pairs = systems.flatMap((_, a) => systems.map((_, b) => [a, b])).filter(([a, b]) => a < b);
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

  function saveTranslations(k) {
    const lines = sentences.map((sentence) => textOf(sentence[2][k][0]) + "\n");
    const link = createElement("a", { download: systems[k].name.replaceAll("/", "_") + ".hyp" });
    link.href = URL.createObjectURL(new Blob(lines, { type: "text/plain" }));
    link.click();
    URL.revokeObjectURL(link.href);
  }

  function start() {
    find("sort").append(...sortOptions().map(([value, text]) => createElement("option", { value }, text)));
    systems.forEach((system, k) => {
      const box = createElement("input", { type: "checkbox", checked: "" });
      box.addEventListener("change", () => {
        if (box.checked) shown.add(k);
        else shown.delete(k);
        renderPage();
      });
      find("shown").append(createElement("label", { class: "check" }, box, createElement("bdi", {}, system.name)));
      const button = createElement("button", { type: "button" }, createElement("bdi", {}, system.name));
      button.addEventListener("click", () => saveTranslations(k));
      find("downloads").append(button);
    });
    find("shown").hidden = systems.length < 2;
    find("downloads").hidden = sentences.length < about.sentences; // files would be incomplete
    let searchTimer;
    find("query").addEventListener("input", (event) => {
      clearTimeout(searchTimer);
      searchTimer = setTimeout(() => {
        state.query = event.target.value;
        updateOrder();
      }, 120);
    });
    find("sort").addEventListener("change", (event) => {
      state.key = event.target.value;
      updateOrder();
    });
    find("descending").addEventListener("change", (event) => {
      state.descending = event.target.checked;
      updateOrder();
    });
    find("tools").addEventListener("submit", (event) => event.preventDefault());
    find("previous").addEventListener("click", () => changePage(-SENTENCES_PER_PAGE));
    find("next").addEventListener("click", () => changePage(SENTENCES_PER_PAGE));
    updateOrder();
  }

  start();
})();
