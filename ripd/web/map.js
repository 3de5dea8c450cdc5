// SPDX-License-Identifier: Apache-2.0
// map.js - every id as a cell with the colour of its state: tens of thousands on one screen.
//
// One canvas of the size of the window stays in place while the page scrolls, and shows the visible part of the map.
// Each ring is an image with one pixel per id, made once per answer. Drawing scales the image, so a frame costs the
// same for a hundred ids as for a million.

import { foreign, h } from "./dom.js";
import { link } from "./links.js";
import { stateList } from "./parts.js";
import { count, plural, UNKNOWN } from "./words.js";

const LISTED = 200000;
const HEAD = 26; // pixels, above each ring
const GAP = 12; // below it
const LETTERS = { r: "running", i: "idle", s: "stalled", t: "stopped", e: "exited", d: "dead" };
// The more ids, the smaller the cells.
const CELLS = [[2000, 16], [20000, 11], [Infinity, 8]];
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export const requestsOfMap = (filters) => ({ view: `/states?${new URLSearchParams({ limit: LISTED, ...filters })}` });

// A ring is received in pieces.
export function ringsOf(pieces) {
  const rings = new Map();
  for (const piece of pieces) {
    const ring = rings.get(piece.ring) || { name: piece.ring, letters: "", runs: [] };
    ring.letters += piece.letters;
    for (const [first, length] of piece.ids) {
      const before = ring.runs.at(-1);
      ring.runs.push({ at: before ? before.at + before.length : 0, first, length });
    }
    rings.set(piece.ring, ring);
  }
  return [...rings.values()].filter((ring) => ring.letters.length > 0);
}

export function idAt(ring, index) {
  let low = 0;
  let high = ring.runs.length - 1;
  while (low < high) { // finds the last run that begins at or before it
    const middle = (low + high + 1) >> 1;
    if (ring.runs[middle].at <= index) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return ring.runs[low].first + index - ring.runs[low].at;
}

function coloursNow() {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(`--${name}`).trim();
  const states = Object.fromEntries(Object.entries(LETTERS).map(([letter, state]) => [letter, value(state)]));
  return { states, ground: value("surface"), text: value("text"), muted: value("muted"), mark: value("text"), line: value("line") };
}

// Converts #rrggbb or #rgb to 0xAABBGGRR, the order of pixels in memory.
function pixelOf(colour) {
  const hex = colour.length === 4 ? colour.replace(/[^#]/g, "$&$&") : colour;
  const number = Number.parseInt(hex.slice(1), 16);
  return (0xff000000 | ((number & 0xff) << 16) | (number & 0xff00) | (number >> 16)) >>> 0;
}

class Board {
  constructor() {
    this.canvas = h("canvas", { tabindex: "0", role: "img", "aria-label": "Map of all ids" });
    this.said = h("p", { class: "said", role: "status" });
    this.spacer = h("div", { class: "spacer" }, this.canvas);
    this.element = h("div", { class: "map", "data-own": "", "data-key": "map" }, this.said, this.spacer);
    this.rings = [];
    this.mark = null; // {ring, index}: the position of the keyboard or the pointer
    this.frame = 0;
    const again = () => this.schedule();
    addEventListener("scroll", again, { passive: true });
    addEventListener("resize", () => this.arrange());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.arrange());
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("click", (event) => {
      this.point(event);
      if (event.pointerType !== "touch") { // a finger is larger than a cell: it selects, and the link opens
        this.open();
      }
    });
    this.canvas.addEventListener("keydown", (event) => this.press(event));
  }

  show(rings) {
    this.rings = rings;
    if (this.mark) { // the same position, if it still exists
      const ring = rings.find((one) => one.name === this.mark.ring.name);
      this.mark = ring && this.mark.index < ring.letters.length ? { ring, index: this.mark.index } : null;
    }
    this.arrange();
  }

  // Sets the position of each ring, and its image.
  arrange() {
    const total = this.rings.reduce((sum, ring) => sum + ring.letters.length, 0);
    this.cell = CELLS.find(([most]) => total <= most)[1];
    this.width = this.spacer.clientWidth || this.element.clientWidth;
    this.columns = Math.max(Math.floor(this.width / this.cell), 1);
    this.colours = coloursNow();
    let y = 0;
    for (const ring of this.rings) {
      ring.y = y + HEAD;
      ring.rows = Math.ceil(ring.letters.length / this.columns);
      ring.image = ring.head = null; // made when the ring becomes visible
      y = ring.y + ring.rows * this.cell + GAP;
    }
    this.spacer.style.height = `${Math.max(y, innerHeight / 2)}px`;
    this.schedule();
  }

  imageOf(ring) {
    if (!ring.image) {
      const pixels = Object.fromEntries(Object.entries(this.colours.states).map(([letter, value]) => [letter, pixelOf(value)]));
      const data = new ImageData(this.columns, ring.rows);
      const cells = new Uint32Array(data.data.buffer);
      for (let i = 0; i < ring.letters.length; i++) {
        cells[i] = pixels[ring.letters[i]] || 0;
      }
      ring.image = new OffscreenCanvas(this.columns, ring.rows);
      ring.image.getContext("2d").putImageData(data, 0, 0);
    }
    return ring.image;
  }

  // The name, cut to the width, and the number of ids.
  headOf(context, ring) {
    const size = ` (${count(ring.letters.length)})`;
    let { name } = ring;
    while (name.length > 1 && context.measureText(name + size).width > this.width) {
      name = `${name.slice(0, -2)}…`;
    }
    return `\u2068${name}\u2069${size}`; // isolated, as in foreign()
  }

  schedule() {
    if (!this.frame && this.element.isConnected) {
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.draw();
      });
    }
  }

  draw() {
    const scale = devicePixelRatio || 1;
    const height = this.canvas.clientHeight;
    const { canvas } = this;
    if (canvas.width !== Math.round(this.width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(this.width * scale);
      canvas.height = Math.round(height * scale);
    }
    const context = canvas.getContext("2d");
    const top = canvas.getBoundingClientRect().top - this.spacer.getBoundingClientRect().top;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.fillStyle = this.colours.ground;
    context.fillRect(0, 0, this.width, height);
    context.translate(0, -top);
    for (const ring of this.rings) {
      if (ring.y - HEAD < top + height && ring.y + ring.rows * this.cell > top) {
        this.drawRing(context, ring, top, top + height);
      }
    }
  }

  drawRing(context, ring, from, to) {
    const { cell, columns, colours } = this;
    const first = Math.max(Math.floor((from - ring.y) / cell), 0);
    const last = Math.min(Math.ceil((to - ring.y) / cell), ring.rows);
    context.font = "600 13px system-ui, sans-serif";
    context.fillStyle = colours.text;
    ring.head ??= this.headOf(context, ring);
    context.fillText(ring.head, 0, ring.y - 8);
    if (last > first) {
      context.imageSmoothingEnabled = false;
      context.drawImage(this.imageOf(ring), 0, first, columns, last - first, 0, ring.y + first * cell, columns * cell, (last - first) * cell);
      context.fillStyle = colours.ground;
      for (let column = 1; column <= columns; column++) {
        context.fillRect(column * cell - 1, ring.y + first * cell, 1, (last - first) * cell);
      }
      for (let row = first + 1; row <= last; row++) {
        context.fillRect(0, ring.y + row * cell - 1, columns * cell, 1);
      }
    }
    if (this.mark && this.mark.ring === ring) {
      const { index } = this.mark;
      context.strokeStyle = colours.mark;
      context.lineWidth = 2;
      context.strokeRect((index % columns) * cell - 1, ring.y + Math.floor(index / columns) * cell - 1, cell + 1, cell + 1);
    }
  }

  point(event) {
    const box = this.spacer.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) / this.cell);
    const y = event.clientY - box.top;
    const ring = this.rings.find((one) => y >= one.y && y < one.y + one.rows * this.cell);
    const index = ring ? Math.floor((y - ring.y) / this.cell) * this.columns + column : -1;
    this.set(ring && column < this.columns && index < ring.letters.length ? { ring, index } : null);
  }

  press(event) {
    if (event.key === "Enter") {
      this.open();
    } else if (KEYS[event.key] && this.rings.length > 0) {
      event.preventDefault();
      this.step(...KEYS[event.key]);
    }
  }

  // At its end, goes to the next ring.
  step(across, down) {
    if (!this.mark) {
      this.set({ ring: this.rings[0], index: 0 });
      return;
    }
    let { ring, index } = this.mark;
    index += across + down * this.columns;
    const at = this.rings.indexOf(ring) + (index < 0 ? -1 : index >= ring.letters.length ? 1 : 0);
    if (ring !== this.rings[at]) {
      ring = this.rings[at];
      index = index < 0 && ring ? ring.letters.length - 1 : 0;
    }
    if (ring) {
      this.set({ ring, index });
      const y = this.spacer.getBoundingClientRect().top + ring.y + Math.floor(index / this.columns) * this.cell;
      if (y < 120 || y > innerHeight - 60) {
        scrollBy(0, y - innerHeight / 2);
      }
    }
  }

  set(mark) {
    this.mark = mark;
    this.said.replaceChildren(...(mark ? [
      h("a", { href: this.address() }, foreign(mark.ring.name), `, id ${idAt(mark.ring, mark.index)}`),
      `: ${LETTERS[mark.ring.letters[mark.index]] || UNKNOWN}`] : ["Point at a cell to see its id, or use the arrow keys and Enter."]));
    this.schedule();
  }

  address() {
    return link("id", [this.mark.ring.name, idAt(this.mark.ring, this.mark.index)]);
  }

  open() {
    if (this.mark) {
      location.hash = this.address();
    }
  }
}

let board = null;

function legend(rings, filters) {
  const counts = {};
  for (const ring of rings) {
    for (const letter of ring.letters) {
      counts[letter] = (counts[letter] || 0) + 1;
    }
  }
  const words = Object.fromEntries(Object.entries(LETTERS).map(([letter, state]) => [state, counts[letter] || 0]));
  return h("div", { class: "legend" }, stateList(words, filters));
}

export function renderMap({ view }, { filters }) {
  const rings = ringsOf(view.states || []);
  if (rings.length === 0) {
    return [h("p", { class: "empty" }, "There is no live id.")];
  }
  if (!board) {
    board = new Board();
    board.set(null);
  }
  queueMicrotask(() => board.show(rings)); // after it was added to the page and has a width
  return [legend(rings, filters), board.element,
    view.total > view.returned && h("p", { class: "empty" }, `${plural(view.total - view.returned, "more id")} not shown.`)];
}
