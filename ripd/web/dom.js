// SPDX-License-Identifier: Apache-2.0
// dom.js - makes elements from values, and updates a tree without losing focus, selection or scroll position.
//
// All text from outside becomes a text node: nothing is ever parsed as HTML. foreign() isolates it from the text around
// it, so that a name in a right-to-left script, or with direction marks, does not reorder that text.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) {
      node.setAttribute(name, value === true ? "" : value);
    }
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);
export const foreign = (text, attributes = {}) => h("bdi", attributes, text === null ? "" : String(text));

// rows: {key, class, cells}; the cell with index `head` names the row. On a phone a row is a card with column names.
export function table(label, columns, head, rows, attributes = {}) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, h("table", attributes,
    h("thead", {}, h("tr", {}, columns.map((column) => h("th", { scope: "col" }, column)))),
    h("tbody", {}, rows.map((row) => h("tr", { "data-key": row.key, class: row.class }, row.cells.map((cell, i) =>
      h(i === head ? "th" : "td", { scope: i === head ? "row" : null, "data-column": columns[i] }, h("div", {}, cell))))))));
}

const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node.getAttribute("data-key") : null);
const sameKind = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && keyOf(a) === keyOf(b);

// Attributes that the user changes: a section that was opened stays open.
const KEPT = new Set(["open"]);

function morphAttributes(old, fresh) {
  for (const { name, value } of [...fresh.attributes]) {
    if (old.getAttribute(name) !== value && !KEPT.has(name)) {
      old.setAttribute(name, value);
    }
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !KEPT.has(name)) {
      old.removeAttribute(name);
    }
  }
}

function morphNode(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) {
      old.nodeValue = fresh.nodeValue;
    }
  } else if (!old.hasAttribute("data-own")) { // data-own: an element that draws itself
    morphAttributes(old, fresh);
    morph(old, [...fresh.childNodes]);
  }
}

// Makes the children of `parent` equal to `fresh`: nodes with the same data-key are moved, others matched in order.
export function morph(parent, fresh) {
  const keyed = new Map();
  for (const child of parent.childNodes) {
    if (keyOf(child) !== null) {
      keyed.set(keyOf(child), child);
    }
  }
  let place = parent.firstChild;
  for (const node of fresh) {
    const key = keyOf(node);
    const match = key !== null ? keyed.get(key) : place;
    if (match && sameKind(match, node)) {
      keyed.delete(key);
      if (match === place) {
        place = place.nextSibling;
      } else {
        parent.insertBefore(match, place);
      }
      morphNode(match, node);
    } else {
      parent.insertBefore(node, place);
    }
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}
