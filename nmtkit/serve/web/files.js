// ---- Files: chosen or dropped, translated one after the other, and offered as downloads

const DOWNLOAD_NAME = /filename\*?=(?:UTF-8'')?"?([^";]+)/i;

class Files {
  #queue = [];
  #busy = false;

  // `parameters` returns the fields to send with a file.
  // `refresh` asks the server anew what it takes, and calls `enable`.
  constructor(parameters, refresh) {
    this.refresh = refresh;
    this.parameters = parameters;
    this.formats = [];
    this.list = find("file-list");
    find("choose-file").addEventListener("click", () => find("file-input").click());
    find("file-input").addEventListener("change", (event) => {
      this.add([...event.target.files]);
      event.target.value = "";
    });
    this.#acceptDrops();
  }

  // :param formats: endings of files that the server takes.
  enable(formats) {
    this.formats = formats;
    find("choose-file").hidden = !formats.length;
    find("file-input").accept = formats.join(",");
  }

  #acceptDrops() {
    const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
    let depth = 0;
    const hint = (shown) => {
      find("drop-hint").hidden = !shown;
    };
    document.addEventListener("dragenter", (event) => {
      if (hasFiles(event)) hint(++depth > 0);
    });
    document.addEventListener("dragleave", (event) => {
      if (hasFiles(event)) hint((depth = Math.max(0, depth - 1)) > 0);
    });
    document.addEventListener("dragover", (event) => {
      if (hasFiles(event)) event.preventDefault();
    });
    document.addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      hint((depth = 0) > 0);
      this.add([...event.dataTransfer.files]);
    });
  }

  #reads(file) {
    return this.formats.some((ending) => file.name.toLowerCase().endsWith(ending.toLowerCase()));
  }

  async add(files) {
    if (!files.every((file) => this.#reads(file))) await this.refresh(); // it may have said nothing before
    find("files").hidden = false;
    for (const file of files) {
      const entry = this.#entry(file);
      const known = this.#reads(file);
      if (!this.formats.length) this.#finish(entry, "This server translates no files.");
      else if (!known) this.#finish(entry, `This server cannot read such a file; it reads ${this.formats.join(", ")}.`);
      else this.#queue.push(entry);
    }
    this.#next();
  }

  #entry(file) {
    const state = createElement("span", { class: "note", role: "status" }, "waiting");
    const bar = createElement("progress", { max: 1, value: 0, "aria-label": `Progress of ${file.name}` });
    const stop = createElement("button", { type: "button", "aria-label": `Stop ${file.name}` }, "Stop");
    const item = createElement("li", {}, createElement("bdi", { class: "file-name" }, file.name), state, bar, stop);
    this.list.append(item);
    const fields = this.parameters(); // those at this moment: the pair may change while the file waits
    const entry = { file, fields, item, state, bar, stop, request: null, stopped: false };
    stop.addEventListener("click", () => {
      entry.stopped = true;
      if (entry.request) entry.request.abort();
      else this.#finish(entry, "Stopped.");
    });
    return entry;
  }

  #next() {
    if (this.#busy) return;
    const entry = this.#queue.shift();
    if (!entry) return;
    if (entry.stopped) return this.#next();
    this.#busy = true;
    this.#translate(entry).catch((error) => this.#finish(entry, entry.stopped ? "Stopped." : error.message))
      .finally(() => {
        this.#busy = false;
        this.#next();
      });
  }

  async #translate(entry) {
    const form = new FormData();
    for (const [name, value] of Object.entries(entry.fields)) form.append(name, value);
    form.append("file", entry.file, entry.file.name);
    const answer = await this.#send(entry, "POST", "translate_file", form);
    if (!(answer.getResponseHeader("Content-Type") ?? "").includes("application/json")) {
      return this.#offer(entry, answer);
    }
    const { translatedFileUrl } = JSON.parse(await answer.response.text());
    const { pathname, search } = new URL(translatedFileUrl, document.baseURI);
    return this.#offer(entry, await this.#send(entry, "GET", pathname + search, null)); // from this server alone
  }

  // Send a request, with progress; reject with a sentence.
  #send(entry, method, url, body) {
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      entry.request = request;
      request.open(method, url);
      request.responseType = "blob";
      entry.state.textContent = body ? "sending" : "fetching";
      request.upload.addEventListener("progress", (event) => {
        if (event.lengthComputable) entry.bar.value = event.loaded / event.total;
      });
      request.upload.addEventListener("load", () => {
        entry.state.textContent = "translating\u2026";
        entry.bar.removeAttribute("value");
      });
      request.addEventListener("load", async () => {
        if (request.status < 400) resolve(request);
        else reject(new Error(await errorOf(request)));
      });
      request.addEventListener("error", () => reject(new Error("The server cannot be reached; drop the file again later.")));
      request.addEventListener("abort", () => reject(new Error("Stopped.")));
      request.send(body);
    });
  }

  #offer(entry, answer) {
    const named = DOWNLOAD_NAME.exec(answer.getResponseHeader("Content-Disposition") ?? "");
    const name = named ? safeDecode(named[1]) : translatedName(entry.file.name, entry.fields.target);
    const link = createElement("a", { download: name, class: "download" }, "Save ", createElement("bdi", {}, name));
    link.href = URL.createObjectURL(answer.response);
    entry.item.append(link);
    this.#finish(entry, "translated");
  }

  #finish(entry, sentence) {
    const hadFocus = document.activeElement === entry.stop;
    entry.state.textContent = sentence;
    entry.bar.remove();
    entry.stop.remove();
    if (hadFocus) (entry.item.querySelector("a") ?? find("choose-file")).focus();
  }
}

async function errorOf(request) {
  try {
    const { error } = JSON.parse(await request.response.text());
    if (typeof error === "string") return error;
  } catch { /* not JSON: the status says what is known */ }
  return `The server refused the file (status ${request.status}).`;
}

function safeDecode(name) {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

const translatedName = (name, language) => name.replace(/(\.[^.]+)?$/, (ending) => `.${language}${ending}`);
