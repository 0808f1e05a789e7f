// The list of sentences, and the controls above and below it.

const usualTitle = document.title;
const TYPING_DELAY = 120; // milliseconds

function render() {
  updateOrder();
  renderPage();
  showControls();
  markSelectedBars();
}

function renderPage() {
  pinned = null;
  highlighted = [];
  const first = (Number(state.page) - 1) * SENTENCES_PER_PAGE;
  const last = Math.min(first + SENTENCES_PER_PAGE, state.order.length);
  list.replaceChildren(...state.order.slice(first, last).map(sentenceArticle));
  list.classList.toggle("columns", Boolean(state.columns));
  const range = state.order.length
    ? `${grouped(first + 1)} to ${grouped(last)} of ${plural(state.order.length, "sentence")}`
    : "No sentence matches";
  const isPart = state.order.length < sentences.length;
  const some = isPart ? `; ${grouped(state.order.length)} of ${plural(sentences.length, "sentence")} found` : "";
  find("count").textContent = state.problem || `${range}${some}.`;
  find("previous").disabled = first === 0;
  find("next").disabled = last >= state.order.length;
}

function showControls() {
  const values = { query: state.q, how: state.how, only: state.only, sort: state.sort, against: state.against };
  for (const [id, value] of Object.entries(values)) if (find(id).value !== value) find(id).value = value;
  if (find("sort").selectedIndex < 0) find("sort").value = "file";
  for (const id of ["how", "only", "against"]) if (find(id).selectedIndex < 0) find(id).selectedIndex = 0;
  find("query").setAttribute("aria-invalid", String(Boolean(state.problem)));
  find("largest").checked = Boolean(state.largest);
  find("columns").checked = Boolean(state.columns);
  for (const box of find("shown").querySelectorAll("input")) box.checked = isShown(box.value);
  const tests = filters();
  const names = [...tests.map(({ name }) => name), ...(state.q.trim() ? [`\u201c${state.q.trim()}\u201d`] : [])];
  const about = state.target === null ? names.join(", ") : `Sentence ${state.target + 1}`;
  document.title = about ? `${about} \u2013 ${usualTitle}` : usualTitle;
  document.body.classList.toggle("selected", Boolean(about)); // what is printed
  find("selection").hidden = !tests.length;
  find("selection").replaceChildren(
    ...tests.flatMap(({ name, key }) => [clearButton(name, { [key]: "", page: "1" }), " "]),
    clearButton("all filters", { ...DEFAULTS, columns: state.columns, against: state.against }));
}

function clearButton(name, changes) {
  const button = createElement("button", { type: "button", class: "clear", "aria-label": `Remove: ${name}` }, `${name} \u00d7`);
  button.addEventListener("click", () => {
    navigate(changes);
    find("only").focus();
  });
  return button;
}

// Change the selection; each change is a step for Back, unless the last one is still being typed.
function navigate(changes, typing = false) {
  Object.assign(state, changes, { target: null });
  history[typing ? "replaceState" : "pushState"](null, "", addressOf());
  render();
}

function followAddress(scroll) {
  if (!readAddress(location.hash)) return;
  render();
  const target = state.target === null ? null : find(`sentence-${state.target + 1}`);
  if (target) {
    target.classList.add("target");
    target.scrollIntoView({ block: "start" });
    setTimeout(() => target.querySelector("h3 a").focus({ preventScroll: true })); // after the browser's own jump
  } else if (scroll && location.hash) find("tools").scrollIntoView({ block: "start" });
}

function changePage(by) {
  navigate({ page: String(Number(state.page) + by) });
  find("count").scrollIntoView({ block: "start" });
}

function saveTranslations(k) {
  const lines = sentences.map((sentence) => textOf(sentence[2][k][0]) + "\n");
  const link = createElement("a", { download: systems[k].name.replaceAll("/", "_") + ".hyp" });
  link.href = URL.createObjectURL(new Blob(lines, { type: "text/plain" }));
  link.click();
  URL.revokeObjectURL(link.href);
}

// ---- Start

const optionOf = ([value, text]) => createElement("option", { value }, text);

function errorOptions() {
  const groups = about.kinds.filter(([kind]) => kind in about.counts).map(([kind, title]) => [
    title,
    systems.map((system, k) => [`${kind}:${k}`, `${title}: ${system.name} (${grouped(about.counts[kind][k] ?? 0)})`])
      .filter((_, k) => about.counts[kind][k]),
  ]);
  const pairs = systems.flatMap((_, a) => systems.map((_, b) => [a, b])).filter(([a, b]) => a !== b);
  groups.push(["better by chrF", pairs.map(([a, b]) => {
    const count = [...sentences.keys()].filter((n) => quality(n, a) > quality(n, b)).length;
    return [`better:${a}:${b}`, `${systems[a].name} better than ${systems[b].name} (${grouped(count)})`];
  })]);
  return groups.filter(([, options]) => options.length)
    .map(([label, options]) => createElement("optgroup", { label }, ...options.map(optionOf)));
}

function addSystem(system, k) {
  const box = createElement("input", { type: "checkbox", value: k });
  box.addEventListener("change", () => {
    const hidden = [...find("shown").querySelectorAll("input")].filter((one) => !one.checked);
    navigate({ hidden: hidden.map((one) => one.value).join(",") });
  });
  find("shown").append(createElement("label", { class: "check" }, box, createElement("bdi", {}, system.name)));
  const button = createElement("button", { type: "button" }, createElement("bdi", {}, system.name));
  button.addEventListener("click", () => saveTranslations(k));
  find("downloads").append(button);
  find("against").append(optionOf([k, system.name]));
}

function start() {
  find("sort").append(...sortOptions().map(optionOf));
  find("only").append(...errorOptions());
  systems.forEach(addSystem);
  find("tools").hidden = false;
  document.querySelector(".pager").hidden = sentences.length <= SENTENCES_PER_PAGE;
  for (const id of ["shown", "against-label", "columns-label"]) find(id).hidden = systems.length < 2;
  find("downloads").hidden = sentences.length < about.sentences; // files would be incomplete
  let timer;
  let typing = false;
  find("query").addEventListener("input", (event) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      navigate({ q: event.target.value, page: "1" }, typing);
      typing = true;
    }, TYPING_DELAY);
  });
  find("query").addEventListener("blur", () => (typing = false));
  for (const [id, key] of [["how", "how"], ["only", "only"], ["sort", "sort"], ["against", "against"]]) {
    find(id).addEventListener("change", (event) => navigate({ [key]: event.target.value, page: "1" }));
  }
  for (const id of ["largest", "columns"]) {
    find(id).addEventListener("change", (event) => navigate({ [id]: event.target.checked ? "1" : "", page: "1" }));
  }
  find("tools").addEventListener("submit", (event) => event.preventDefault());
  find("previous").addEventListener("click", () => changePage(-1));
  find("next").addEventListener("click", () => changePage(1));
  addEventListener("popstate", () => followAddress(true)); // also when a link within the page is followed
  if (!readAddress(location.hash)) readAddress("");
  render();
  followAddress(true);
}

start();
