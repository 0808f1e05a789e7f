// Alignments: highlight the words aligned to a word, by mouse, finger and keyboard.

const MIN_WEIGHT = 0.05; // smaller alignment weights are neither highlighted nor described

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
  if (!word || event.altKey || event.ctrlKey || event.metaKey) return; // Alt and an arrow: Back
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
