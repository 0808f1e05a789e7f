// ---- Preferences: what this browser keeps, colours, languages, API key

const PREFIX = "nmtkit ";

// Storage may be forbidden or full; then values are kept until the page is closed.
const unstored = new Map();

function stored(name, storage = "localStorage") {
  try {
    return unstored.get(name) ?? window[storage].getItem(PREFIX + name) ?? "";
  } catch {
    return "";
  }
}

function store(name, value, storage = "localStorage") {
  try {
    if (value) window[storage].setItem(PREFIX + name, value);
    else window[storage].removeItem(PREFIX + name);
    unstored.delete(name);
  } catch {
    unstored.set(name, value);
  }
}

function startTheme() {
  const apply = (theme) => {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
  };
  const chosen = find("theme");
  chosen.value = stored("theme");
  apply(chosen.value);
  chosen.addEventListener("change", () => {
    apply(chosen.value);
    store("theme", chosen.value);
  });
}

function startSwitch(id, onChange) {
  const box = find(id);
  const kept = stored(id);
  if (kept) box.checked = kept === "on";
  box.addEventListener("change", () => {
    store(id, box.checked ? "on" : "off");
    onChange();
  });
}

function startApiKey(onChange) {
  const field = find("api-key");
  field.value = stored("key", "sessionStorage");
  find("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    field.blur(); // which tells that it has changed
  });
  field.addEventListener("change", () => {
    store("key", field.value, "sessionStorage");
    onChange();
  });
}

function nameOf(code) {
  try {
    return new Intl.DisplayNames("en", { type: "language" }).of(code);
  } catch { // no code of BCP 47
    return code;
  }
}

// The pair of languages, from what the server translates.
class LanguagePair {
  constructor(onChange) {
    this.onChange = onChange;
    this.languages = [];
    this.from = find("source-language");
    this.into = find("target-language");
    this.from.addEventListener("change", () => {
      this.#fillTargets(this.into.value);
      this.#changed();
    });
    this.into.addEventListener("change", () => this.#changed());
  }

  get source() {
    return this.from.value;
  }

  get target() {
    return this.into.value;
  }

  get name() {
    return `${this.source}-${this.target}`;
  }

  // Name of the language through which the pair is translated, or "".
  get through() {
    const code = this.#current()?.through?.[this.target];
    return code ? this.#name(code) : "";
  }

  // Take the answer of /languages: [{code, name, targets, through}, ...].
  setLanguages(languages) {
    this.names = new Map(languages.map(({ code, name }) => [code, name || nameOf(code)]));
    const wanted = this.source ? [this.source, this.target] : stored("pair").split(" ");
    this.languages = languages.filter((language) => this.#targetsOf(language).length);
    this.from.replaceChildren(...this.languages.map(({ code, name }) => createElement("option", { value: code }, name || nameOf(code))));
    if (this.languages.some(({ code }) => code === wanted[0])) this.from.value = wanted[0];
    this.#fillTargets(wanted[1]);
    this.#apply();
  }

  #targetsOf({ code, targets }) {
    return (targets ?? []).filter((target) => target !== code);
  }

  #name(code) {
    return this.names.get(code) ?? nameOf(code);
  }

  #current() {
    return this.languages.find(({ code }) => code === this.source);
  }

  #fillTargets(wanted) {
    const language = this.#current();
    const targets = language ? this.#targetsOf(language) : [];
    const nameIn = (code) => {
      const through = language.through?.[code];
      return through ? `${this.#name(code)} (through ${this.#name(through)})` : this.#name(code);
    };
    this.into.replaceChildren(...targets.map((code) => createElement("option", { value: code }, nameIn(code))));
    if (targets.includes(wanted)) this.into.value = wanted;
  }

  #apply() {
    find("source").lang = this.source;
    find("target").lang = this.target;
    find("swap").disabled = !this.canSwap;
    find("swap").title = this.canSwap ? "" : `This server does not translate from ${this.#name(this.target)}.`;
  }

  #changed() {
    this.#apply();
    store("pair", `${this.source} ${this.target}`);
    this.onChange();
  }

  get canSwap() {
    const back = this.languages.find(({ code }) => code === this.target);
    return Boolean(back && this.#targetsOf(back).includes(this.source));
  }

  swap() {
    const [source, target] = [this.source, this.target];
    this.from.value = target;
    this.#fillTargets(source);
    this.#changed();
  }
}
