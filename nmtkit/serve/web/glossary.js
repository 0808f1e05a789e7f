// ---- Glossary: lines `source = translation | translation`, kept for each language pair

const MAX_TERM_LENGTH = 1000; // of a term and of its translations: the server refuses more
const GLOSSARY_DELAY = 600; // ms without typing until a changed glossary is used
const MAX_TERMS = 100; // of a request: the server refuses more
const MAX_TEXTS = 5000; // whose terms are remembered

// Of a text what counts for terms, as the server finds them: not capitals, blanks, marks of letters,
// what is not seen, and which of the apostrophes and hyphens it is.
function fold(text) {
  const plain = text.normalize("NFKD").toLowerCase().toUpperCase().normalize("NFKD");
  return plain.replace(/[\p{M}\p{Cf}\s]+/gu, "").replace(/[\u2018\u2019\u02bc]/g, "'").replace(/[\u2010\u2011]/g, "-");
}

// Return {terms: [[source, "translation|translation"], ...], problem: sentence or ""}.
function parseGlossary(text) {
  const terms = [];
  const problems = [];
  text.split(/\r?\n/).forEach((line, i) => {
    if (!line.trim() || line.startsWith("#")) return;
    const at = line.search(/[=\t]/);
    const source = line.slice(0, Math.max(at, 0)).trim();
    const targets = line.slice(at + 1).split("|").map((part) => part.trim()).filter(Boolean);
    const texts = [source, targets.join("|")];
    const fits = texts.every((part) => part.length <= MAX_TERM_LENGTH && !part.includes("\t"));
    if (at < 0 || !source || !targets.length || !fits) problems.push(i + 1);
    else terms.push(texts);
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
  #through = "";
  #timer = null;
  #found = new Map(); // text -> its terms

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
    return this.#through ? "" : this.names.value;
  }

  // Return the terms that may be in one of the texts, at most as many as a request may have.
  termsIn(...texts) {
    const found = new Set(texts.flatMap((text) => this.#allIn(text)));
    return this.terms.filter((term) => found.has(term)).slice(0, MAX_TERMS);
  }

  #allIn(text) {
    if (!this.#found.has(text)) {
      if (this.#found.size >= MAX_TEXTS) this.#found.clear();
      const folded = fold(text);
      this.#found.set(text, this.terms.filter(([source]) => folded.includes(fold(source))));
    }
    return this.#found.get(text);
  }

  // Divide texts into parts whose terms together are at most as many as a request may have.
  parts(texts) {
    const parts = [];
    let terms = new Set();
    for (const text of texts) {
      const own = this.termsIn(text);
      const together = new Set([...terms, ...own]);
      const fits = parts.length > 0 && together.size <= MAX_TERMS;
      if (fits) parts.at(-1).push(text);
      else parts.push([text]);
      terms = fits ? together : new Set(own);
    }
    return parts;
  }

  // Say in which lines there are more terms than a request may have.
  tooManySentence(lines) {
    if (this.terms.length <= MAX_TERMS) return "";
    const numbers = lines.flatMap((line, i) => (this.#allIn(line.source).length > MAX_TERMS ? [i + 1] : []));
    if (!numbers.length) return "";
    const where = `${numbers.length > 1 ? "Lines" : "Line"} ${numbers.slice(0, 5).join(", ")}`;
    return `${where}: only the first ${MAX_TERMS} of the terms there are used; put fewer into a line.`;
  }

  setNames(names) {
    const options = names.map((name) => createElement("option", { value: name }, name));
    this.names.replaceChildren(createElement("option", { value: "" }, "none"), ...options);
    find("named-row").hidden = !names.length;
  }

  // :param through: language through which the pair is translated, where terms cannot be applied.
  setPair(pair, through) {
    clearTimeout(this.#timer);
    if (this.#pair && this.#timer) store(`glossary ${this.#pair}`, this.field.value); // else another tab may have a newer one
    this.#timer = null;
    this.#pair = pair;
    this.#through = through;
    this.field.disabled = this.names.disabled = Boolean(through);
    this.field.value = stored(`glossary ${pair}`);
    this.#read();
  }

  #read() {
    const { terms, problem } = this.#through
      ? { terms: [], problem: `Terms cannot be applied through ${this.#through}.` } : parseGlossary(this.field.value);
    this.terms = terms;
    this.#found.clear();
    if (find("glossary-error").textContent !== problem) find("glossary-error").textContent = problem;
  }

  #changed() {
    clearTimeout(this.#timer);
    this.#timer = null;
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
  const where = (found) => (lines.length > 1 ? ` (line${found.length > 1 ? "s" : ""} ${found.slice(0, 5).join(", ")})` : "");
  const terms = [...numbers].slice(0, 10).map(([term, found]) => `\u201c${term}\u201d${where(found)}`);
  return `Terms of the glossary that could not be kept: ${terms.join(", ")}.`;
}
