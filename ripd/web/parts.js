// SPDX-License-Identifier: Apache-2.0
// parts.js - what several views show in one way: a state or cause, a place, a process.

import { foreign, h } from "./dom.js";
import { placeFile, placeName } from "./words.js";

export const keyOfId = (item) => `${item.ring}\n${item.id}`;
export const isId = (node) => node.holder === undefined || node.holder === "id";

export const chip = (word, kind = word) => h("span", { class: `chip ${kind}` }, word);

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
