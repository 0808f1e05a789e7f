// ---- Glossary: lines `source = translation | translation`, kept for each language pair

const GLOSSARY_DELAY = 600; // ms without typing until a changed glossary is used

const fold = (text) => text.normalize("NFC").toLowerCase();

// Return {terms: [[source, "translation|translation"], ...], problem: sentence or ""}.
function parseGlossary(text) {
  const terms = [];
  const problems = [];
  text.split(/\r?\n/).forEach((line, i) => {
    if (!line.trim() || line.startsWith("#")) return;
    const at = line.search(/[=\t]/);
    const source = line.slice(0, Math.max(at, 0)).trim();
    const targets = line.slice(at + 1).split("|").map((part) => part.trim()).filter(Boolean);
    if (at < 0 || !source || !targets.length) problems.push(i + 1);
    else terms.push([source, targets.join("|")]);
  });
  return { terms, problem: describeProblems(problems) };
}

function describeProblems(numbers) {
  if (!numbers.length) return "";
  const lines = numbers.length > 1 ? `Lines ${numbers.slice(0, 5).join(", ")} are` : `Line ${numbers[0]} is`;
  return `${lines} not used: write a term, =, and its translation.`;
}

class Glossary {
  #pair = "";
  #timer = null;

  constructor(onChange) {
    this.onChange = onChange;
    this.field = find("glossary");
    this.names = find("named-glossary");
    this.terms = [];
    this.field.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#changed(), GLOSSARY_DELAY);
    });
    this.field.addEventListener("change", () => this.#changed()); // on leaving the field
    this.names.addEventListener("change", () => onChange());
  }

  get name() {
    return this.names.value;
  }

  // Return the terms that may be in one of the texts.
  termsIn(...texts) {
    const folded = texts.map(fold);
    return this.terms.filter(([source]) => folded.some((text) => text.includes(fold(source))));
  }

  setNames(names) {
    const options = names.map((name) => createElement("option", { value: name }, name));
    this.names.replaceChildren(createElement("option", { value: "" }, "none"), ...options);
    find("named-row").hidden = !names.length;
  }

  setPair(pair) {
    clearTimeout(this.#timer);
    if (this.#pair) store(`glossary ${this.#pair}`, this.field.value);
    this.#pair = pair;
    this.field.value = stored(`glossary ${pair}`);
    this.#read();
  }

  #read() {
    const { terms, problem } = parseGlossary(this.field.value);
    this.terms = terms;
    if (find("glossary-error").textContent !== problem) find("glossary-error").textContent = problem;
  }

  #changed() {
    clearTimeout(this.#timer);
    store(`glossary ${this.#pair}`, this.field.value);
    const before = JSON.stringify(this.terms);
    this.#read();
    if (JSON.stringify(this.terms) !== before) this.onChange();
  }
}

// Say which terms a translation lacks.
function missingSentence(lines) {
  const numbers = new Map();
  lines.forEach((line, number) => {
    for (const term of (line.fresh && line.words?.missing) || []) {
      numbers.set(term, [...(numbers.get(term) ?? []), number + 1]);
    }
  });
  if (!numbers.size) return "";
  const where = (found) => (lines.length > 1 ? ` (line ${found.slice(0, 5).join(", ")})` : "");
  const terms = [...numbers].slice(0, 10).map(([term, found]) => `\u201c${term}\u201d${where(found)}`);
  return `Terms of the glossary that could not be kept: ${terms.join(", ")}.`;
}
