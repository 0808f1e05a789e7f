// ---- The page: what is shown, and when it is translated

const TYPING_DELAY = 150; // ms without typing until the text is translated
const RETRY_DELAY = 3000; // ms until a request is repeated that the server had no time for
const ANNOUNCE_DELAY = 1500; // ms without a change until a translation is announced
const SHORT_TEXT = 160; // characters; longer texts are set smaller
const LONG_TEXT = 1200;
const FORBIDDEN = 403; // statuses of HTTP
const TOO_MANY_REQUESTS = 429;
const UNAVAILABLE = 503;

const panes = { source: new Pane("source"), target: new Pane("target") };
const alignments = new Alignments(panes);
const results = new Results();
const state = { lines: [newLine("")], limit: 0, undo: [], timer: null, retry: null, error: "" };
const pair = new LanguagePair(changePair);
const glossary = new Glossary(changeJob);
const menu = new AlternativesMenu(panes.target, chooseAlternative);
const connection = new Connection(showConnection);
const files = new Files(() => {
  const fields = { source: pair.source, target: pair.target };
  return withKey(glossary.name ? { ...fields, glossary: glossary.name } : fields);
}, () => getJson("frontend/settings").then(enableFiles).catch(() => {}));

function enableFiles(settings) {
  files.enable(settings.filesTranslation ? settings.supportedFilesFormat ?? [] : []);
}

function withKey(request) {
  const key = find("api-key").value;
  return key ? { ...request, api_key: key } : request;
}

// What a translation depends on besides its line, its prefix and the glossary written here.
function currentJob() {
  const job = { source: pair.source, target: pair.target };
  if (glossary.name) job.glossary = glossary.name;
  if (find("markup").checked) job.markup = "html";
  if (find("show-confidence").checked) job.confidence = true;
  return job;
}

// Terms count only where they occur, so that a new one changes the lines that have it, and no others.
function resultKey(job, prefix, source) {
  return JSON.stringify([job, glossary.termsIn(source), prefix, source]);
}

// ---- Translating

function takeText() {
  state.lines = updateLines(state.lines, panes.source.field.value.split("\n"));
  state.error = "";
  menu.close();
  show();
  clearTimeout(state.timer);
  state.timer = setTimeout(translate, TYPING_DELAY);
}

const isTooLong = () => state.limit > 0 && countCharacters(panes.source.field.value) > state.limit;

// Request what is missing. Lines without a prefix go together, the one with the cursor first.
function translate() {
  clearTimeout(state.timer);
  clearTimeout(state.retry);
  if (!pair.target || isTooLong()) return show();
  const job = currentJob();
  for (const line of state.lines) {
    const known = line.fresh ? null : results.get(resultKey(job, line.prefix, line.source));
    if (known) applyResult(line, known);
  }
  const missing = state.lines.filter((line) => !line.fresh);
  const plain = missing.filter((line) => !line.prefix).map((line) => line.source);
  const first = state.lines[cursorLine("source")].source;
  const texts = [...new Set(plain.includes(first) ? [first, ...plain] : plain)];
  replaceRunning(glossary.parts(texts).map(
    (part, number) => request(job, part, "", number ? `translation ${number}` : "translation")));
  for (const line of missing) {
    if (line.prefix) request(job, [line.source], line.prefix, `line ${state.lines.indexOf(line)}`);
  }
  return show();
}

let running = []; // ids of the requests without a prefix, by their slot

// The server cancels the older request of a slot that is used again; the others are cancelled here.
function replaceRunning(ids) {
  for (const id of running.slice(ids.length)) connection.cancel(id);
  running = ids;
}

function request(job, texts, prefix, slot) {
  const keys = texts.map((text) => resultKey(job, prefix, text));
  const message = withKey({ ...job, text: texts.join("\n"), terms: glossary.termsIn(...texts), slot });
  if (prefix) message.prefix = prefix;
  return connection.send(message, (answer) => {
    if (answer.error) fail(answer.error, prefix);
    else if (answer.line !== undefined) receive(keys[answer.line], prefix, texts[answer.line], answer);
    show();
  });
}

// Remember a translation, and show it where it still belongs: a late answer changes nothing else.
function receive(key, prefix, source, answer) {
  const result = readResult(answer, source);
  results.add(key, result);
  state.error = "";
  if (key !== resultKey(currentJob(), prefix, source)) return;
  for (const line of state.lines) {
    if (!line.fresh && line.source === source && line.prefix === prefix) applyResult(line, result);
  }
}

// :param prefix: of the request, "" if it had none, or if the error concerns no request.
function fail({ status, message }, prefix = "") {
  state.error = sentence(message) || `The server cannot translate this (status ${status}).`;
  if (status === FORBIDDEN && !find("key-form").hidden) state.error += " Enter the API key below.";
  if (status === TOO_MANY_REQUESTS || status === UNAVAILABLE) {
    state.error += ` Trying again in ${RETRY_DELAY / 1000} seconds.`;
    clearTimeout(state.retry);
    state.retry = setTimeout(translate, RETRY_DELAY);
  } else if (prefix) {
    for (const line of state.lines) { // what is shown stays, as if the user had written it
      if (!line.fresh && line.prefix === prefix) Object.assign(line, { fresh: true, edited: true });
    }
  }
}

function sentence(message) {
  const text = String(message ?? "").trim();
  const end = !text || /[.!?]$/.test(text) ? "" : ".";
  return text.slice(0, 1).toUpperCase() + text.slice(1) + end;
}

// The settings changed: what they concern is translated anew, except what the user wrote.
function changeJob() {
  for (const line of [...state.lines, ...state.undo.map((entry) => entry.state)]) {
    if (!line.edited && line.source.trim()) line.fresh = false;
  }
  state.error = "";
  translate();
}

function changePair() {
  glossary.setPair(pair.name, pair.through);
  state.lines = state.lines.map((line) => newLine(line.source, line.target));
  state.undo = [];
  changeJob();
}

// ---- Showing

function show() {
  const { lines } = state;
  const busy = lines.some((line) => !line.fresh);
  const target = lines.map((line) => line.target).join("\n");
  const empty = !panes.source.field.value.trim();
  panes.target.setText(empty ? "" : target);
  alignments.clear();
  find("word-info").textContent = ""; // of words that may be others now
  panes.source.render(lines, noClass);
  panes.target.render(lines, find("show-confidence").checked ? confidenceClass : noClass);
  const size = Math.max(countCharacters(panes.source.field.value), countCharacters(target));
  find("card").dataset.size = size > LONG_TEXT ? "long" : size > SHORT_TEXT ? "medium" : "short";
  find("counter").textContent = counterText();
  find("counter").classList.toggle("problem", isTooLong());
  find("clear").hidden = !panes.source.field.value;
  find("undo").disabled = !state.undo.length;
  find("copy").disabled = !panes.target.field.value;
  find("continue").disabled = empty;
  find("confidence").textContent = empty ? "" : confidenceText(lines);
  showLegend(lines);
  panes.target.editor.setAttribute("aria-busy", String(busy));
  showSentence("error", isTooLong() ? tooLongSentence() : state.error);
  showSentence("missing", [glossary.tooManySentence(lines), missingSentence(lines)].filter(Boolean).join(" "));
  showStatus(busy && !isTooLong() && !state.error);
}

function showLegend(lines) {
  const wanted = find("show-confidence").checked;
  const answers = lines.filter((line) => line.fresh && line.words && !line.edited);
  const unknown = answers.length > 0 && answers.every((line) => !line.words.wordConfidences && line.words.confidence === null);
  find("legend").hidden = !wanted || unknown;
  find("uncalibrated").hidden = !wanted || !unknown;
  find("uncalibrated").textContent = pair.through
    ? `Not known for translations through ${pair.through}.` : "This model cannot say: it is not calibrated.";
}

function showSentence(id, text) {
  if (find(id).textContent !== text) find(id).textContent = text;
  find(id).hidden = !text;
}

function counterText() {
  const count = countCharacters(panes.source.field.value);
  return state.limit ? `${grouped(count)} of ${grouped(state.limit)} characters` : plural(count, "character");
}

function tooLongSentence() {
  const count = countCharacters(panes.source.field.value);
  return `The text has ${grouped(count)} characters; this server takes ${grouped(state.limit)}. Shorten it, or translate it in parts.`;
}

function confidenceText(lines) {
  const known = lines.map((line, i) => [line.fresh ? line.words?.confidence : null, i + 1]).filter(([sure]) => sure != null);
  if (!known.length || !find("show-confidence").checked) return "";
  const [lowest, number] = known.reduce((a, b) => (b[0] < a[0] ? b : a));
  return known.length > 1 ? `Least sure: line ${number}, ${percent(lowest)}` : `${percent(lowest)} sure`;
}

let connectionText = "Connecting\u2026";
let announceTimer = null;

function showStatus(busy) {
  find("status").textContent = connectionText || (busy ? "Translating\u2026" : "");
  find("status").classList.toggle("problem", connectionText.startsWith("No connection"));
  clearTimeout(announceTimer);
  if (busy || !panes.target.field.value || panes.target.field.value === announced) return;
  announceTimer = setTimeout(announceTranslation, ANNOUNCE_DELAY);
}

let announced = "";

// Screen readers hear that a translation is there, once typing pauses, and its words if they are few.
function announceTranslation() {
  announced = panes.target.field.value;
  if (document.activeElement === panes.target.field) return;
  find("announcement").textContent = announced.length <= SHORT_TEXT
    ? `Translation: ${announced}` : `Translation of ${plural(state.lines.length, "line")} is ready.`;
}

function showConnection(now, detail) {
  if (now === "error") {
    fail(detail);
    return show();
  }
  const seconds = Math.max(1, Math.round((detail ?? 0) / 1000));
  const waiting = `No connection to the server; trying again in ${seconds} s.`;
  connectionText = now === "open" ? "" : now === "connecting" && !connectionText.startsWith("No") ? "Connecting\u2026" : waiting;
  if (now === "waiting") find("announcement").textContent = "No connection to the server; trying again.";
  if (now === "open") {
    if (pair.target) translate();
    else loadServer();
  }
  return show();
}

// ---- Starting

async function getJson(path) {
  const answer = await fetch(path, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(`${path}: status ${answer.status}`);
  return answer.json();
}

// Learn what the server offers. Only the languages are needed.
async function loadServer() {
  try {
    const [languages, settings, names] = await Promise.all([
      getJson("languages"), getJson("frontend/settings").catch(() => ({})), getJson("glossaries").catch(() => []),
    ]);
    state.limit = Math.max(0, settings.charLimit ?? 0);
    find("key-form").hidden = !(settings.apiKeys || settings.keyRequired);
    enableFiles(settings);
    glossary.setNames(Array.isArray(names) ? names : []);
    pair.setLanguages(languages);
    changePair();
    if (!pair.target) {
      state.error = "This server has no model that translates between two languages.";
      show();
    }
  } catch (error) {
    state.error = "The server does not say which languages it translates; reload the page later.";
    show();
  }
}

function start() {
  startTheme();
  startSwitch("show-confidence", changeJob);
  startSwitch("markup", changeJob);
  startApiKey(changeJob);
  startPane("source");
  startPane("target");
  startTarget();
  panes.source.field.addEventListener("input", takeText);
  panes.source.field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) translate();
  });
  find("clear").addEventListener("click", () => {
    panes.source.field.value = "";
    takeText();
    panes.source.field.focus();
  });
  find("swap").addEventListener("click", swapLanguages);
  find("undo").addEventListener("click", undo);
  find("continue").addEventListener("click", continueFromCursor);
  find("copy").addEventListener("click", copyTranslation);
  window.addEventListener("online", () => connection.connect());
  find("main").hidden = false;
  takeText(); // what the browser kept in the field on reloading
  loadServer();
  connection.connect();
}

start();
