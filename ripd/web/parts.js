// SPDX-License-Identifier: Apache-2.0
// parts.js - parts that several views share: a state or cause, a location, a process.

import { foreign, h, svg } from "./dom.js";
import { link } from "./links.js";
import { count, placeFile, placeName } from "./words.js";

export const STATES = ["stalled", "running", "idle", "stopped", "exited", "dead"];

export const keyOfId = (item) => `${item.ring}\n${item.id}`;
export const isId = (node) => node.holder === undefined || node.holder === "id";

export const chip = (word, kind = word) => h("span", { class: `chip ${kind}` }, word);

// One bar with the share of each state.
export function shares(counts, total) {
  let x = 0;
  return svg("svg", { class: "bar", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
    STATES.filter((state) => counts[state] > 0).map((state) => {
      const width = (100 * counts[state]) / total;
      x += width;
      return svg("rect", { class: state, x: x - width, width, height: 6 });
    }));
}

// The meaning of the colours, the number of ids of each, and a link to them.
export const stateList = (counts, filters = {}) => h("ul", {}, STATES.map((state) =>
  h("li", { class: counts[state] ? "" : "none" }, h("a", { href: link("threads", [], { ...filters, state }) },
    svg("svg", { class: "swatch", viewBox: "0 0 8 8", "aria-hidden": "true" }, svg("rect", { class: state, width: 8, height: 8 })),
    h("b", {}, count(counts[state] ?? 0)), ` ${state}`))));

export function placeOf(location) {
  const name = placeName(location);
  const file = placeFile(location);
  return h("span", { class: "place" }, name ? foreign(name, { class: "function" }) : h("i", {}, "no breadcrumb"), " ",
    file && foreign(file, { class: "file" }));
}

export function processOf(item) {
  const process = item.process;
  if (!process) {
    return foreign(item.ring ?? "", { class: "muted" });
  }
  return h("span", { class: "muted" }, foreign(process.unit || process.container || process.comm), ` pid\u00a0${process.pid}`);
}
