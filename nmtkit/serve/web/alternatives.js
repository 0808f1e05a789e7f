// ---- Alternatives: a list of other words for one place, at the cursor of the translation

const MAX_ALTERNATIVES = 6;
const MARGIN = 8; // px between the menu and the edges of the window

function wordSegmenter(language) {
  try {
    return new Intl.Segmenter(language, { granularity: "word" });
  } catch { // no code of BCP 47
    return new Intl.Segmenter(undefined, { granularity: "word" });
  }
}

// Bounds of the word at an offset: that of the server, or else of the browser's word segmenter.
function wordBounds(line, at, language) {
  const words = line.words?.target.filter((word) => word.end > word.start) ?? [];
  const inside = words.filter((word) => word.start <= at && at <= word.end);
  const known = inside.find((word) => at < word.end) ?? inside[0];
  if (known) return [known.start, known.end];
  const segments = [...wordSegmenter(language).segment(line.target)];
  const holds = (segment) => segment.index <= at && at <= segment.index + segment.segment.length;
  const near = segments.filter((segment) => segment.isWordLike && holds(segment));
  const found = near.find((segment) => at < segment.index + segment.segment.length) ?? near[0];
  return found ? [found.index, found.index + found.segment.length] : [at, at];
}

// The beginning of an alternative up to its new word, which may have begun in the prefix; a blank after
// the word belongs to it, so that the word is not continued.
function chosenPrefix(alternative, prefix) {
  const { text, word } = alternative;
  if (!word) return text; // the translation ends
  const from = text.startsWith(prefix) ? prefix.length : 0;
  const begun = text.lastIndexOf(word, from);
  const found = begun >= 0 && begun + word.length > from ? begun : text.indexOf(word, from);
  const end = found < 0 ? from : found + word.length;
  return text.slice(0, end) + (text[end] === " " ? " " : "");
}

// What an alternative has in the place of the old word; "" if the translation ends.
function newWord(alternative, prefix) {
  const chosen = chosenPrefix(alternative, prefix);
  return chosen.startsWith(prefix) ? chosen.slice(prefix.length).trim() : alternative.word;
}

// The menu stays beside the cursor; the field keeps the focus and tells which option is active.
class AlternativesMenu {
  #options = [];
  #active = -1;
  #open = null; // what the menu was opened for: {line, number, start, end, prefix}

  constructor(pane, onChoose) {
    this.pane = pane;
    this.onChoose = onChoose;
    this.menu = find("alternatives");
    this.list = find("alternatives-list");
    this.title = find("alternatives-title");
    this.list.addEventListener("pointerdown", (event) => event.preventDefault()); // keep the focus
    this.list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.choose([...this.list.children].indexOf(option));
    });
    this.list.addEventListener("pointermove", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.#activate([...this.list.children].indexOf(option));
    });
    document.addEventListener("pointerdown", (event) => {
      if (this.isOpen && !this.menu.contains(event.target) && event.target !== pane.field) this.close();
    });
    window.addEventListener("resize", () => {
      if (this.isOpen) this.#place();
    });
  }

  get isOpen() {
    return this.#open !== null;
  }

  // Open for a place, with a sentence until the alternatives arrive.
  // :param rectangle: returns where the place is on the screen.
  open(place, rectangle) {
    this.close();
    this.#open = place;
    const word = place.line.target.slice(place.start, place.end);
    this.title.textContent = word ? `Looking for alternatives to \u201c${word}\u201d\u2026` : "Looking for words\u2026";
    this.rectangle = rectangle;
    this.menu.hidden = false;
    this.#place();
  }

  isOpenFor(place) {
    return this.#open === place;
  }

  fill(alternatives, language) {
    const { line, start, end, prefix } = this.#open;
    const word = line.target.slice(start, end);
    const others = alternatives.filter((one) => newWord(one, prefix) !== word).slice(0, MAX_ALTERNATIVES);
    this.#options = others;
    this.list.lang = language;
    this.list.replaceChildren(...others.map((one, i) => this.#option(one, i, prefix)));
    if (!others.length) {
      this.say(`Nothing else fits here.`);
      return;
    }
    this.title.textContent = word ? `Instead of \u201c${word}\u201d` : "Next word";
    this.pane.field.setAttribute("aria-controls", "alternatives-list");
    this.#activate(0);
    this.#place();
  }

  say(sentence) {
    this.#options = [];
    this.list.replaceChildren();
    this.title.textContent = sentence;
    find("announcement").textContent = sentence;
    this.#place();
  }

  #option(alternative, i, prefix) {
    const rest = alternative.text.slice(chosenPrefix(alternative, prefix).trimEnd().length);
    const name = alternative.word || "(end of the line)";
    const content = [createElement("b", {}, name), createElement("span", { class: "rest" }, rest)];
    return createElement("li", { role: "option", id: `alternative-${i}`, dir: "auto", "aria-selected": "false" }, ...content);
  }

  #activate(index) {
    this.#active = index;
    [...this.list.children].forEach((option, i) => option.setAttribute("aria-selected", String(i === index)));
    this.pane.field.setAttribute("aria-activedescendant", `alternative-${index}`);
    const { line, start, end } = this.#open;
    const replaced = line.target.slice(start, end);
    find("announcement").textContent = `${this.#options[index].word || "End of the line"}${replaced && ` instead of ${replaced}`},
      ${index + 1} of ${this.#options.length}`;
  }

  #place() {
    const { menu } = this;
    const rectangle = this.rectangle();
    const width = menu.offsetWidth;
    const room = document.documentElement.clientWidth - MARGIN - width;
    menu.style.left = `${Math.max(MARGIN, Math.min(rectangle.left, room)) + window.scrollX}px`;
    const below = rectangle.bottom + 4;
    const fits = below + menu.offsetHeight + MARGIN <= window.innerHeight || rectangle.top < menu.offsetHeight + MARGIN;
    const top = fits ? below : rectangle.top - menu.offsetHeight - 4;
    menu.style.top = `${top + window.scrollY}px`;
  }

  // Handle a key while the menu is open; return whether it was one of the menu.
  handleKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const count = this.#options.length;
    if (event.key === "Escape") this.close();
    else if (count && event.key === "ArrowDown") this.#activate((this.#active + 1) % count);
    else if (count && event.key === "ArrowUp") this.#activate((this.#active + count - 1) % count);
    else if (count && (event.key === "Enter" || (event.key === "Tab" && !event.shiftKey))) this.choose(this.#active);
    else return false;
    return true;
  }

  choose(index) {
    const [place, alternative] = [this.#open, this.#options[index]];
    this.close();
    if (alternative) this.onChoose(place, alternative, chosenPrefix(alternative, place.prefix));
  }

  close() {
    this.#open = null;
    this.#options = [];
    this.menu.hidden = true;
    this.list.replaceChildren();
    this.pane.field.removeAttribute("aria-activedescendant");
    this.pane.field.removeAttribute("aria-controls");
  }
}
