// Shows the translations of a report: searched, sorted, a page at a time, with their alignments.
// How they are packed is told in sentences.py. All text enters the page as text, never as HTML.
"use strict";
(() => {
  const PAGE = 50; // sentences in the document at a time, whatever the test set
  const LEAST = 0.05; // weight of an alignment that lights up and is told
  const END = "</s>";
  const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const SVG = "http://www.w3.org/2000/svg";
  const VALUE = new Map([...DIGITS].map((digit, value) => [digit, value]));

  const find = (id) => document.getElementById(id);
  const about = JSON.parse(find("about").textContent);
  const sentences = JSON.parse(find("sentences").textContent);
  const systems = about.systems;
  const list = find("list");
  const shown = new Set(systems.keys());
  const state = { query: "", key: "file", descending: false, first: 0, order: [] };

  // ---- What is packed

  const wordsOf = (line) => (line[0] ? line[0].split(" ") : []);

  function textOf(line) {
    if (line.length > 2) return line[2];
    const joined = new Set(line[1]);
    return wordsOf(line).map((word, i) => (i && !joined.has(i) ? " " : "") + word).join("");
  }

  function outputOf(packed) {
    const [line, quality, score, finished, wordScores, tokens, alignment, others] = packed;
    return { line, quality, score, finished, wordScores, tokens, alignment, others };
  }

  // The cells of an alignment that have a weight: [row, column, weight].
  function cellsOf(alignment, columns) {
    const cells = [];
    let at = 0;
    for (let i = 0; i < alignment.length; i++) {
      let passed = 0;
      for (let unit = 1; ; unit *= 32) {
        const digit = VALUE.get(alignment[i++]);
        passed += (digit % 32) * unit;
        if (digit < 32) break;
      }
      at += passed;
      cells.push([Math.floor(at / columns), at % columns, VALUE.get(alignment[i]) / 63]);
      at += 1;
    }
    return cells;
  }

  function scoresOf(packed) {
    const scores = [];
    for (let i = 0; i < packed.length; i += 2) {
      scores.push(-(VALUE.get(packed[i]) * 64 + VALUE.get(packed[i + 1])) / 100);
    }
    return scores;
  }

  function otherText(other, best) {
    const [begin, end, between] = other;
    const words = best.split(" ");
    const parts = [...words.slice(0, begin), ...(between ? between.split(" ") : [])];
    return [...parts, ...words.slice(words.length - end)].join(" ");
  }

  // ---- Searching and sorting

  const texts = new Array(sentences.length);

  function haystack(number) {
    const [source, reference, outputs] = sentences[number];
    texts[number] ??= [source, reference, ...outputs.map((output) => output[0])]
      .map(textOf).join("\n").toLowerCase();
    return texts[number];
  }

  function valueOf(key, number) {
    const [name, first, second] = key.split(":");
    const [source, , outputs] = sentences[number];
    if (name === "length") return wordsOf(source).length;
    if (name === "quality") return outputs[first][1];
    if (name === "score") return outputs[first][2] / (outputs[first][4].length / 2 || 1);
    if (name === "difference") return outputs[second][1] - outputs[first][1];
    return number;
  }

  function arrange() {
    const query = state.query.trim().toLowerCase();
    const found = [...sentences.keys()].filter((n) => !query || haystack(n).includes(query));
    const values = new Map(found.map((n) => [n, valueOf(state.key, n)]));
    const sign = state.descending ? -1 : 1;
    state.order = found.sort((a, b) => sign * (values.get(a) - values.get(b)) || a - b);
    state.first = 0;
    show();
  }

  // ---- Making parts of the page

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  function draw(tag, attributes = {}, ...children) {
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

  // A line of text, in words that can be reached where it is aligned.
  function textLine(line, language, label, aligned, marked, kind) {
    const joined = new Set(line[1]);
    const words = wordsOf(line).map((word, i) => {
      const content = marked.has(i) ? make("mark", kind ? { class: kind } : {}, word) : word;
      const attributes = { class: "w", "data-i": i };
      if (aligned) Object.assign(attributes, { role: "button", tabindex: i ? -1 : 0 });
      return [i && !joined.has(i) ? " " : "", make("span", attributes, content)];
    });
    const attributes = { class: "text", dir: "auto", lang: language };
    if (aligned) Object.assign(attributes, { role: "group", "aria-label": label });
    return make("p", attributes, ...words.flat());
  }

  // The places of words that are in one line and not in the other, on both sides: what a longest
  // common subsequence leaves over.
  function differences(ours, theirs) {
    const [n, m] = [ours.length, theirs.length];
    const extra = new Set(ours.keys());
    const missed = new Set(theirs.keys());
    if (n * m > 4e6) return { extra: new Set(), missed: new Set() };
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
        missed.delete(j++);
      } else if (best[at + m + 1] >= best[at + 1]) i++;
      else j++;
    }
    return { extra, missed };
  }

  function sentenceArticle(number) {
    const [source, reference, packed] = sentences[number];
    const outputs = packed.map(outputOf);
    const [from, to] = about.languages;
    const theirs = wordsOf(reference);
    const found = outputs.map(({ line }) => differences(wordsOf(line), theirs));
    const visible = [...systems.keys()].filter((k) => shown.has(k));
    const missed = new Set(
      [...theirs.keys()].filter((j) => visible.length && visible.every((k) => found[k].missed.has(j)))
    );
    const aligned = visible.some((k) => outputs[k].alignment);
    const article = make("article", {
      class: "sentence", "data-n": number, "aria-labelledby": `n${number + 1}`,
    });
    const header = make(
      "header", {}, make("h3", { id: `n${number + 1}` }, `Sentence ${grouped(number + 1)}`),
      make("span", {}, plural(wordsOf(source).length, "word"))
    );
    if (systems.length === 2) {
      const apart = outputs[1].quality - outputs[0].quality;
      header.append(make("span", {}, `${systems[1].name}: chrF ${signed(apart, 1)}`));
    }
    article.append(
      header,
      row("source" + (aligned ? " aligned" : ""), "Source",
        textLine(source, from, "Source; the arrow keys go from word to word", aligned, new Set()), -1),
      row("reference", "Reference", textLine(reference, to, "", false, missed, "missed"))
    );
    for (const k of visible) article.append(outputRow(number, k, outputs[k], found[k].extra, source));
    if (aligned) article.append(make("p", { class: "told", "aria-hidden": "true" }));
    return article;
  }

  function row(kind, who, text, place) {
    const element = make("div", { class: `row ${kind}` }, make("div", { class: "who" }, who),
      make("div", { class: "body" }, text));
    if (place !== undefined) element.dataset.k = place;
    return element;
  }

  function outputRow(number, k, output, extra, source) {
    const aligned = Boolean(output.alignment);
    const label = `${systems[k].name}; the arrow keys go from word to word`;
    const text = textLine(output.line, about.languages[1], label, aligned, extra);
    const element = row("output" + (aligned ? " aligned" : ""), "", text, k);
    const key = document.querySelectorAll("h1 .key")[k].cloneNode(true);
    const who = element.querySelector(".who");
    who.append(
      make("span", { class: "name" }, key, make("bdi", {}, systems[k].name)),
      make("span", { class: "quality" }, `chrF ${output.quality.toFixed(1)}`)
    );
    if (!wordsOf(output.line).length) text.append(make("i", { class: "unfinished" }, "(empty)"));
    if (!output.finished) {
      text.append(" ", make("span", { class: "unfinished" }, "(unfinished: the longest length)"));
    }
    const more = make("div", { class: "more" });
    const wide = wordsOf(source).length + 1;
    if (output.wordScores) more.append(onRequest("Word scores", "scores"));
    if (output.others.length) more.append(onRequest(`${output.others.length + 1} best`, "nbest"));
    if (more.childNodes.length) element.querySelector(".body").append(more);
    if (aligned) {
      const name = `Alignment of ${systems[k].name}, sentence ${number + 1}: enlarge`;
      const attributes = { type: "button", class: "thumb", "aria-expanded": "false", "aria-label": name };
      element.append(make("button", attributes, thumbnail(output, wide)));
    }
    return element;
  }

  function onRequest(title, kind) {
    return make("details", { "data-kind": kind }, make("summary", {}, title));
  }

  // ---- On request: scores of words, the n-best list, the matrix

  function fill(details) {
    if (details.childElementCount > 1) return;
    const output = outputAt(details);
    details.append(details.dataset.kind === "scores" ? wordScores(output) : nBest(output));
  }

  function outputAt(element) {
    const [number, k] = placeOf(element);
    return outputOf(sentences[number][2][k]);
  }

  const placeOf = (element) => [
    Number(element.closest(".sentence").dataset.n), Number(element.closest(".row").dataset.k),
  ];

  function wordScores(output) {
    const tokens = output.tokens ? output.tokens.split(" ") : wordsOf(output.line);
    const items = scoresOf(output.wordScores).map((score, i) => {
      const bar = make("i");
      bar.style.setProperty("--p", Math.exp(score).toFixed(3));
      return make("li", {}, make("bdi", { lang: about.languages[1] }, tokens[i] ?? END),
        make("span", { class: "number" }, minus(score, 2)), make("span", { class: "meter" }, bar));
    });
    return make("div", {},
      make("p", { class: "note" },
        `Natural logarithms of probabilities; together ${minus(output.score, 3)}. Bars: the probability.`),
      make("ul", { class: "words" }, ...items));
  }

  function nBest(output) {
    const best = textOf(output.line);
    const rest = output.others.map((other) => [otherText(other, best), other[3], other[5]]);
    const items = [[best, output.score, output.finished], ...rest].map(([text, score, finished]) =>
      make("li", {}, make("span", { class: "number" }, minus(score, 2)),
        make("span", { dir: "auto", lang: about.languages[1] }, text), finished ? "" : " (unfinished)"));
    return make("ol", { class: "nbest" }, ...items);
  }

  // Cells of like weight are one path: a matrix costs few nodes, however large it is.
  function cellPaths(output, columns, size) {
    const paths = new Map();
    for (const [i, j, weight] of cellsOf(output.alignment, columns)) {
      const level = Math.max(1, Math.round(weight * 8));
      const cell = `M${j * size} ${i * size}h${size}v${size}h${-size}z`;
      paths.set(level, (paths.get(level) ?? "") + cell);
    }
    return [...paths].map(([level, d]) => draw("path", { class: "cells", d, "fill-opacity": level / 8 }));
  }

  const rowsOf = (output) => wordsOf(output.line).length + (output.finished ? 1 : 0);

  function thumbnail(output, columns) {
    const rows = rowsOf(output);
    const cell = Math.min(7, 96 / Math.max(rows, columns));
    return draw("svg", {
      viewBox: `0 0 ${columns} ${rows}`, width: columns * cell, height: rows * cell, "aria-hidden": "true",
    }, ...cellPaths(output, columns, 1));
  }

  function largeMatrix(number, k) {
    const source = [...wordsOf(sentences[number][0]), END];
    const output = outputOf(sentences[number][2][k]);
    const target = [...wordsOf(output.line), END].slice(0, rowsOf(output));
    const size = 18;
    const longest = (words) => 7.6 * Math.min(24, Math.max(...words.map((word) => word.length))) + 12;
    const [left, top] = [longest(target), longest(source)];
    const [width, height] = [source.length * size, target.length * size];
    const short = (word) => (word.length > 24 ? word.slice(0, 23) + "\u2026" : word);
    const title = `Alignment of ${systems[k].name}`;
    return draw("svg", {
      role: "img", "aria-label": title, width: left + width + 8, height: top + height + 8,
    },
    draw("title", {}, title),
    ...source.map((word, j) => draw("text",
      { transform: `translate(${left + j * size + 13} ${top - 6}) rotate(-90)` }, short(word))),
    ...target.map((word, i) => draw("text",
      { x: left - 6, y: top + i * size + 13.5, "text-anchor": "end" }, short(word))),
    draw("g", { transform: `translate(${left} ${top})` },
      ...cellPaths(output, source.length, size),
      draw("rect", { class: "frame", width, height })));
  }

  function toggleMatrix(button) {
    const open = button.getAttribute("aria-expanded") === "true";
    const element = button.closest(".row");
    button.setAttribute("aria-expanded", String(!open));
    if (open) element.querySelector(".matrix").remove();
    else {
      const attributes = { class: "matrix", tabindex: 0, role: "region", "aria-label": "Alignment" };
      element.append(make("div", attributes, largeMatrix(...placeOf(button))));
    }
  }

  // ---- Alignments: a word lights up those that belong to it

  let lit = [];
  let pinned = null;

  function dark() {
    for (const word of lit) {
      word.classList.remove("lit", "on");
      word.style.removeProperty("--w");
    }
    lit = [];
    for (const cursor of list.querySelectorAll(".cursor")) cursor.remove();
    for (const told of list.querySelectorAll(".told:not(:empty)")) told.textContent = "";
  }

  // Light up what belongs to a word; in words: what they are and how much they weigh.
  function light(word) {
    dark();
    const [number, k] = placeOf(word);
    const place = Number(word.dataset.i);
    const article = word.closest(".sentence");
    const source = article.querySelector(".row.source .text");
    const columns = wordsOf(sentences[number][0]).length + 1;
    word.classList.add("on");
    lit.push(word);
    const told = [];
    for (const element of article.querySelectorAll(".row.output.aligned")) {
      const system = Number(element.dataset.k);
      if (k >= 0 && system !== k) continue;
      const output = outputOf(sentences[number][2][system]);
      const cells = cellsOf(output.alignment, columns).filter(([i, j]) => (k < 0 ? j : i) === place);
      const others = k < 0 ? element.querySelector(".text") : source;
      const links = cells.map(([i, j, weight]) => [k < 0 ? i : j, weight]);
      for (const [at, weight] of links) if (weight >= LEAST) glow(others, at, weight);
      const name = systems.filter((one) => one.aligns).length > 1 && k < 0 ? `${systems[system].name}: ` : "";
      told.push(name + spoken(links, others));
      point(element, k < 0, place, columns, rowsOf(output));
    }
    const arrow = k < 0 ? "\u2192" : "\u2190";
    const sentence = `${word.textContent} ${arrow} ${told.join(" \u00b7 ")}`;
    article.querySelector(".told").textContent = sentence;
    return sentence;
  }

  function glow(line, place, weight) {
    const word = line.querySelector(`.w[data-i="${place}"]`);
    if (!word) return; // the end of the sentence
    word.classList.add("lit");
    word.style.setProperty("--w", weight.toFixed(3));
    lit.push(word);
  }

  function spoken(links, line) {
    const heavy = links.filter(([, weight]) => weight >= LEAST).sort((a, b) => b[1] - a[1]).slice(0, 4);
    const named = heavy.map(([at, weight]) => {
      const word = line.querySelector(`.w[data-i="${at}"]`);
      return `${word ? word.textContent : "end of sentence"} ${Math.round(weight * 100)}\u00a0%`;
    });
    return named.join(", ") || "nothing above 5\u00a0%";
  }

  function point(element, column, place, columns, rows) {
    const svg = element.querySelector(".thumb svg");
    const box = column
      ? { x: place, y: 0, width: 1, height: rows } : { x: 0, y: place, width: columns, height: 1 };
    svg.append(draw("rect", { class: "cursor", ...box }));
  }

  const wordAt = (target) => (target.closest ? target.closest(".aligned .w") : null);

  list.addEventListener("pointerover", (event) => {
    const word = event.pointerType === "mouse" && !pinned && wordAt(event.target);
    if (word) light(word);
  });
  list.addEventListener("pointerout", (event) => {
    if (event.pointerType === "mouse" && !pinned && wordAt(event.target)) dark();
  });
  list.addEventListener("focusin", (event) => {
    const word = wordAt(event.target);
    if (word && word.matches(":focus-visible")) find("spoken").textContent = light((pinned = word));
  });
  list.addEventListener("focusout", (event) => {
    if (pinned && event.target === pinned) {
      pinned = null;
      dark();
    }
  });
  list.addEventListener("click", (event) => {
    const thumb = event.target.closest(".thumb");
    if (thumb) toggleMatrix(thumb);
    const word = wordAt(event.target);
    if (!word) return;
    const same = pinned === word;
    pinned = same ? null : word;
    if (same) dark();
    else light(word);
  });
  list.addEventListener("keydown", (event) => {
    const word = wordAt(event.target);
    if (!word) return;
    const words = [...word.closest(".text").querySelectorAll(".w")];
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
      dark();
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      find("spoken").textContent = light((pinned = word));
    }
  });
  list.addEventListener("toggle", (event) => {
    if (event.target.open && event.target.dataset.kind) fill(event.target);
  }, true);

  // ---- The list and its tools

  function show() {
    pinned = null;
    lit = [];
    const last = Math.min(state.first + PAGE, state.order.length);
    list.replaceChildren(...state.order.slice(state.first, last).map(sentenceArticle));
    const all = plural(sentences.length, "sentence");
    const told = state.order.length
      ? `${grouped(state.first + 1)} to ${grouped(last)} of ${plural(state.order.length, "sentence")}`
      : "No sentence is like that";
    const some = state.query.trim() ? `; ${grouped(state.order.length)} of ${all} found` : "";
    find("count").textContent = `${told}${some}.`;
    find("earlier").disabled = state.first === 0;
    find("later").disabled = last >= state.order.length;
  }

  function turn(by) {
    state.first = Math.max(0, state.first + by);
    show();
    find("count").scrollIntoView({ block: "start" });
  }

  function sortings() {
    const pairs = systems.flatMap((_, a) => systems.map((_, b) => [a, b])).filter(([a, b]) => a < b);
    return [
      ["file", "the order of the file"],
      ["length", "length of the source"],
      ...systems.map((system, k) => [`quality:${k}`, `chrF of ${system.name}`]),
      ...systems.map((system, k) => [`score:${k}`, `score per token of ${system.name}`])
        .filter((_, k) => systems[k].model),
      ...pairs.map(([a, b]) => [
        `difference:${a}:${b}`, `chrF: ${systems[b].name} \u2212 ${systems[a].name}`,
      ]),
    ];
  }

  function save(k) {
    const lines = sentences.map((sentence) => textOf(sentence[2][k][0]) + "\n");
    const link = make("a", { download: systems[k].name.replaceAll("/", "_") + ".hyp" });
    link.href = URL.createObjectURL(new Blob(lines, { type: "text/plain" }));
    link.click();
    URL.revokeObjectURL(link.href);
  }

  function start() {
    find("sort").append(...sortings().map(([value, text]) => make("option", { value }, text)));
    systems.forEach((system, k) => {
      const box = make("input", { type: "checkbox", checked: "" });
      box.addEventListener("change", () => {
        if (box.checked) shown.add(k);
        else shown.delete(k);
        show();
      });
      find("shown").append(make("label", { class: "check" }, box, make("bdi", {}, system.name)));
      const button = make("button", { type: "button" }, make("bdi", {}, system.name));
      button.addEventListener("click", () => save(k));
      find("saved").append(button);
    });
    find("shown").hidden = systems.length < 2;
    find("saved").hidden = sentences.length < about.sentences; // they would not be whole
    let waiting;
    find("query").addEventListener("input", (event) => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        state.query = event.target.value;
        arrange();
      }, 120);
    });
    find("sort").addEventListener("change", (event) => {
      state.key = event.target.value;
      arrange();
    });
    find("descending").addEventListener("change", (event) => {
      state.descending = event.target.checked;
      arrange();
    });
    find("tools").addEventListener("submit", (event) => event.preventDefault());
    find("earlier").addEventListener("click", () => turn(-PAGE));
    find("later").addEventListener("click", () => turn(PAGE));
    arrange();
  }

  start();
})();
