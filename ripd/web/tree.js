// SPDX-License-Identifier: Apache-2.0
// tree.js - which ids wait for which, from the chains of the stalls: the root, or the deadlock, at the top, and below
// each member those that wait for it.

import { foreign, h } from "./dom.js";
import { link } from "./links.js";
import { chip, isId, keyOfId, placeOf } from "./parts.js";
import { count, duration, nameOf } from "./words.js";

const SHOWN = 12; // waiters shown per member; the others are counted
const DEPTH = 40;

const keyOf = (node) => (isId(node) ? keyOfId(node) : `${node.holder} ${node.tid}`);

function nodeOf(nodes, about) {
  const key = keyOf(about);
  if (!nodes.has(key)) {
    nodes.set(key, { key, about, item: null, next: null, waiters: [] });
  }
  return nodes.get(key);
}

// Collects the links of all chains. The last member of a shortened chain does not follow the one before it.
export function nodesOf(items) {
  const nodes = new Map();
  for (const item of items) {
    const chain = item.waits_for || [];
    let node = nodeOf(nodes, item);
    node.item = item;
    chain.forEach((about, i) => {
      const next = nodeOf(nodes, about);
      const follows = !item.waits_for_left_out || i + 1 < chain.length;
      if (follows && !node.next) {
        node.next = next;
      }
      node = next;
    });
  }
  for (const node of nodes.values()) {
    if (node.next && node.next !== node) {
      node.next.waiters.push(node);
    }
  }
  return nodes;
}

// Returns the root to which a node leads, or the members of the deadlock, each waiting for the next.
export function topOf(node) {
  const seen = [];
  for (let at = node; at; at = at.next) {
    if (seen.includes(at)) {
      return seen.slice(seen.indexOf(at));
    }
    seen.push(at);
  }
  return seen.slice(-1);
}

function size(node, cycle) {
  return node.waiters.filter((waiter) => !cycle.has(waiter)).reduce((sum, waiter) => sum + 1 + size(waiter, cycle), 0);
}

function line(node, current) {
  const { about, item } = node;
  const name = foreign(nameOf(about), { class: "name" });
  return h("span", { class: "node" },
    isId(about)
      ? h("a", { href: link("id", [about.ring, about.id]), "aria-current": node.key === current ? "true" : null }, name)
      : name,
    " ", item ? placeOf(item.location) : about.state && chip(about.state), " ",
    item && h("span", { class: "muted" }, duration(item.frozen_for_ms)));
}

function waiters(node, cycle, current, depth) {
  const those = node.waiters.filter((waiter) => !cycle.has(waiter));
  if (those.length === 0 || depth > DEPTH) {
    return null;
  }
  // the id of the page comes first, then those that hold others up
  those.sort((a, b) => (b.key === current) - (a.key === current) || size(b, cycle) - size(a, cycle));
  const rest = those.slice(SHOWN);
  const hidden = rest.reduce((sum, waiter) => sum + 1 + size(waiter, cycle), 0);
  return h("ul", {}, those.slice(0, SHOWN).map((waiter) =>
    h("li", {}, line(waiter, current), waiters(waiter, cycle, current, depth + 1))),
  hidden > 0 && h("li", { class: "muted" }, `and ${count(hidden)} more wait for it`));
}

// Returns the tree with this id, or null if it waits for none and none waits for it.
export function renderTree(items, id) {
  const node = nodesOf(items).get(keyOfId(id));
  if (!node || (!node.next && node.waiters.length === 0)) {
    return null;
  }
  const top = topOf(node);
  const current = node.key;
  if (top[0].next) {
    const cycle = new Set(top);
    const held = top.filter((member) => member.waiters.some((waiter) => !cycle.has(waiter)));
    return h("div", { class: "tree deadlock" },
      h("p", {}, top.length === 1 ? "It waits for a lock that it holds itself:" : "Each waits for a lock that the next one holds, and the last for the first:"),
      h("ol", { class: "cycle" }, top.map((member) => h("li", {}, line(member, current)))), // all on one screen
      held.map((member) => [
        h("p", {}, `${count(size(member, cycle))} more held up by `, foreign(nameOf(member.about), { class: "name" }), ":"),
        h("ul", {}, h("li", {}, waiters(member, cycle, current, 1)))]));
  }
  return h("div", { class: "tree" }, h("p", {}, "Below each, those that wait for it:"),
    h("ul", {}, h("li", {}, line(top[0], current), waiters(top[0], new Set(), current, 1))));
}
