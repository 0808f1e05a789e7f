// A sentence: its source, its reference, and each translation.

const isShown = (k) => !state.hidden.split(",").includes(String(k));
const isWord = (text) => /[\p{L}\p{N}]/u.test(text);

function sentenceArticle(number) {
  const [source, reference, packed] = sentences[number];
  const outputs = packed.map(decodeOutput);
  const lengths = [wordsOf(reference).length, wordsOf(source).length];
  for (const output of outputs) output.states = decodeStates(output.states, [wordsOf(output.line).length, ...lengths]);
  const visible = [...systems.keys()].filter(isShown);
  const pattern = queryPattern();
  const hits = (line) => (pattern ? hitsIn(line, pattern) : new Set());
  const aligned = visible.some((k) => outputs[k].alignment);
  const article = createElement("article", {
    class: "sentence", id: `sentence-${number + 1}`, "data-n": number, "aria-labelledby": `n${number + 1}`,
  });
  const [from, to] = about.languages;
  const omitted = (part) => new Map(visible.flatMap((k) => unmatched(outputs[k].states[part]))
    .map((place) => [place, "missing"]));
  article.append(
    sentenceHeader(number, source, outputs),
    row("source" + (aligned ? " aligned" : ""), "Source", textLine(source, {
      language: from, label: "Source; use the arrow keys to move between words", aligned,
      marks: omitted(2), hits: hits(source),
    }), -1),
    row("reference", "Reference", textLine(reference, { language: to, marks: omitted(1), hits: hits(reference) })),
    createElement("div", { class: "outputs" },
      ...visible.map((k) => outputRow(number, k, outputs, hits(outputs[k].line))))
  );
  if (aligned) article.append(createElement("p", { class: "alignment-text", "aria-hidden": "true" }));
  return article;
}

const unmatched = (states) => [...states].filter(([, value]) => value === UNMATCHED).map(([place]) => place);

function sentenceHeader(number, source, outputs) {
  const link = createElement("a", { href: `#sentence-${number + 1}` }, `Sentence ${grouped(number + 1)}`);
  const header = createElement("header", {}, createElement("h3", { id: `n${number + 1}` }, link),
    createElement("span", {}, plural(wordsOf(source).length, "word")));
  if (systems.length === 2) {
    const difference = outputs[1].quality - outputs[0].quality;
    header.append(createElement("span", {}, `${systems[1].name}: chrF ${signed(difference, 1)}`));
  }
  return header;
}

function row(kind, who, text, place) {
  const element = createElement("div", { class: `row ${kind}` }, createElement("div", { class: "label" }, who),
    createElement("div", { class: "body" }, text));
  if (place !== undefined) element.dataset.k = place;
  return element;
}

function outputRow(number, k, outputs, hits) {
  const output = outputs[k];
  const [source, reference] = sentences[number];
  const aligned = Boolean(output.alignment);
  const options = {
    language: about.languages[1], aligned, hits,
    label: `${systems[k].name}; use the arrow keys to move between words`,
    marks: new Map([...output.states[0]].map(([place, value]) => [place, MARKS[value]])),
  };
  const base = state.against === "" ? -1 : Number(state.against);
  if (k === base) options.marks = new Map();
  const text = isSystem(base) && base !== k
    ? differenceLine(output.line, outputs[base].line, options) : textLine(output.line, options);
  const element = row("output" + (aligned ? " aligned" : ""), "", text, k);
  element.querySelector(".label").append(...outputLabel(k, output));
  if (!wordsOf(output.line).length) text.append(createElement("i", { class: "unfinished" }, "(empty)"));
  if (!output.finished) {
    text.append(" ", createElement("span", { class: "unfinished" }, "(unfinished: maximum length reached)"));
  }
  const body = element.querySelector(".body");
  body.append(...omissions("Missing", reference, output.states[1], about.languages[1]),
    ...omissions("Source words without attention", source, output.states[2], about.languages[0]));
  const more = outputDetails(output);
  if (more.childNodes.length) body.append(more);
  if (aligned) element.append(matrixButton(number, k, output, wordsOf(source).length + 1));
  return element;
}

function outputLabel(k, output) {
  const key = document.querySelectorAll("h1 .key")[k].cloneNode(true);
  return [
    createElement("span", { class: "name" }, key, createElement("bdi", {}, systems[k].name)),
    createElement("span", { class: "quality" }, `chrF ${output.quality.toFixed(1)}`),
  ];
}

// What a translation leaves out of a line, as sequences of words without punctuation marks.
function omissions(title, line, states, language) {
  const [words, joined] = [wordsOf(line), new Set(line[1])];
  const runs = [];
  let last = -2;
  for (const place of unmatched(states)) {
    if (place !== last + 1) runs.push("");
    if (isWord(words[place])) runs.push(runs.pop() + (joined.has(place) ? "" : " ") + words[place]);
    last = place;
  }
  const named = runs.map((run) => run.trim()).filter(Boolean);
  if (!named.length) return [];
  const parts = named.flatMap((run, i) => [i ? " \u00b7 " : "", createElement("bdi", { lang: language }, run)]);
  return [createElement("p", { class: "omitted" }, `${title}: `, ...parts)];
}

function outputDetails(output) {
  const more = createElement("div", { class: "details" });
  if (output.wordScores) more.append(collapsed("Word scores", "scores"));
  if (output.others.length) more.append(collapsed(`${output.others.length + 1} best`, "nbest"));
  return more;
}

function matrixButton(number, k, output, columns) {
  const name = `Alignment of ${systems[k].name}, sentence ${number + 1}: enlarge`;
  const attributes = { type: "button", class: "thumbnail", "aria-expanded": "false", "aria-label": name };
  return createElement("button", attributes, thumbnail(output, columns));
}
