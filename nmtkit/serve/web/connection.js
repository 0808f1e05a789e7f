// ---- Connection: one WebSocket, its requests, and reconnecting with back-off

const FIRST_DELAY = 500; // ms until the first new attempt; each failure doubles it
const MAX_DELAY = 30000; // ms

// States given to `onState`: "connecting", "open", and "waiting" with the ms until the next attempt.
class Connection {
  #socket = null;
  #handlers = new Map(); // id of a request -> function that receives its messages
  #nextId = 1;
  #delay = FIRST_DELAY;
  #timer = null;

  constructor(onState) {
    this.onState = onState;
  }

  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  connect() {
    clearTimeout(this.#timer);
    if (this.#socket && this.#socket.readyState <= WebSocket.OPEN) return;
    this.onState("connecting");
    const url = new URL("stream", document.baseURI);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(url);
    this.#socket = socket;
    socket.addEventListener("open", () => {
      this.#delay = FIRST_DELAY;
      this.onState("open");
    });
    socket.addEventListener("message", (event) => this.#receive(event.data));
    socket.addEventListener("close", () => this.#closed());
  }

  // Send a request; `receive` gets each of its messages, and {lost: true} if the connection ends.
  // The server cancels an older request of the same slot.
  send(request, receive) {
    if (!this.isOpen) {
      receive({ lost: true });
      return 0;
    }
    const id = this.#nextId++;
    this.#handlers.set(id, receive);
    this.#socket.send(JSON.stringify({ id, ...request }));
    return id;
  }

  cancel(id) {
    if (this.isOpen && this.#handlers.has(id)) this.#socket.send(JSON.stringify({ cancel: id }));
  }

  #receive(data) {
    const message = JSON.parse(data);
    const receive = this.#handlers.get(message.id);
    if (message.done || message.error || message.cancelled || message.alternatives) {
      this.#handlers.delete(message.id);
    }
    if (receive) receive(message);
    else if (message.error) this.onState("error", message.error);
  }

  #closed() {
    const waiting = [...this.#handlers.values()];
    this.#handlers.clear();
    const delay = this.#delay * (0.75 + Math.random() / 2); // not all browsers at the same moment
    this.#delay = Math.min(2 * this.#delay, MAX_DELAY);
    this.#timer = setTimeout(() => this.connect(), delay);
    this.onState("waiting", delay);
    for (const receive of waiting) receive({ lost: true });
  }
}
