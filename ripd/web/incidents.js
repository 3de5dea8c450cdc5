// SPDX-License-Identifier: Apache-2.0
// incidents.js - stalls that have one root are one incident; a stall that nobody holds up is one by itself.

import { foreign, h } from "./dom.js";
import { link } from "./links.js";
import { chip, isId, keyOfId, placeOf, processOf } from "./parts.js";
import { nodesOf, treeOf } from "./tree.js";
import { count, duration, nameOf, plural, sentence, waitsOn } from "./words.js";

const LISTED = 200; // of a list, on one screen

// A root that is no id (a process, a thread that has no ring) is shown by the first that waits for it.
function shownFor(group, items) {
  const root = group.root;
  if (isId(root)) {
    return items.find((item) => keyOfId(item) === keyOfId(root)) || root;
  }
  return items.find((item) => {
    const last = (item.waits_for || []).at(-1);
    return last && last.holder === root.holder && last.tid === root.tid;
  }) || null;
}

function incidentOfGroup(group, items) {
  const shown = shownFor(group, items);
  const members = group.deadlock ? group.deadlock.length + group.deadlock_left_out : 0;
  return {
    key: isId(group.root) ? keyOfId(group.root) : `${group.root.holder} ${group.root.tid}`,
    shown,
    root: group.root,
    cause: group.deadlock ? "deadlock" : group.root.cause,
    state: group.root.state,
    age_ms: Math.max(group.longest_ms, group.root.frozen_for_ms || 0),
    // all that stand still because of it, the root among them if it does
    ids: group.count + (!group.deadlock && group.root.state === "stalled" ? 1 : 0),
    members,
    others: group.count - members,
  };
}

const incidentOfStall = (item) => ({
  key: keyOfId(item), shown: item, root: item, cause: item.cause, state: item.state, age_ms: item.frozen_for_ms,
  ids: 1, members: 0, others: 0,
});

// Sleeping ids asked for it: unless somebody waits for them they are listed last, and count as nothing that is stuck.
export const isQuiet = (incident) => incident.cause === "sleeping" && incident.others === 0;

// What /stalls and /stalls?group=root say together.
export function incidentsOf(stalls, roots) {
  const incidents = roots.stalls.map((group) => incidentOfGroup(group, stalls.stalls));
  const grouped = new Set(incidents.map((incident) => incident.key));
  const alone = stalls.stalls.filter((item) => (item.waits_for || []).length === 0 && !grouped.has(keyOfId(item)));
  const rootsAlone = roots.stalls.filter(
    (group) => group.deadlock === null && isId(group.root) && group.root.state === "stalled").length;
  incidents.push(...alone.map(incidentOfStall));
  incidents.sort((a, b) => isQuiet(a) - isQuiet(b) || b.age_ms - a.age_ms);
  const total = Math.max(roots.total + roots.alone - rootsAlone, incidents.length);
  return { incidents, total, quiet: incidents.filter(isQuiet).length };
}

export function worstOf(incidents) {
  return incidents.filter((one) => !isQuiet(one)).sort((a, b) => b.ids - a.ids || b.age_ms - a.age_ms)[0] || null;
}

function others(incident) {
  const { members } = incident;
  return incident.others > 0 &&
    `and ${count(incident.others)} wait${incident.others === 1 ? "s" : ""} for ${members > 1 ? "them" : "it"}`;
}

const detail = (incident) => [
  incident.members > 1 && `${count(incident.members)} ids wait for each other`, others(incident),
].filter(Boolean).join(", ");

export const worstSentence = (incident) =>
  sentence(incident.shown || incident.root) + (others(incident) ? ` – ${others(incident)}` : "");

// Of a root that is no stall itself, what it is instead.
export function verdictChip({ cause, state }) {
  return cause ? chip(cause) : state === "stalled" ? chip("not examined", "unexamined") : chip(state || "no id");
}

function row(incident, nodes) {
  const item = incident.shown || incident.root;
  const on = waitsOn(item.kernel);
  const more = detail(incident);
  const title = foreign(nameOf(incident.root), { class: "name" });
  const target = isId(item) ? link("id", [item.ring, item.id]) : null;
  return h("li", { "data-key": incident.key, class: `incident ${incident.cause || "other"}` },
    h("span", { class: "age" }, duration(incident.age_ms)),
    h("span", { class: "cause" }, verdictChip(incident)),
    h("span", { class: "who" }, target ? h("a", { href: target }, title) : title, " ", processOf(item)),
    h("span", { class: "where" }, placeOf(item.location), on && h("span", { class: "on" }, " ", foreign(on)),
      item.note && h("span", { class: "note" }, foreign(item.note))),
    more && h("details", { class: "more" }, h("summary", {}, more), treeOf(nodes, isId(item) ? keyOfId(item) : null)));
}

export const questions = (filters) => ({
  stalls: `/stalls?${new URLSearchParams({ limit: LISTED, trail: 0, ...filters })}`,
  roots: `/stalls?${new URLSearchParams({ group: "root", limit: LISTED, ...filters })}`,
});

export function renderIncidents({ stalls, roots }) {
  const { incidents, total } = incidentsOf(stalls, roots);
  if (incidents.length === 0) {
    return [h("p", { class: "empty" }, "No id stands still past its threshold.")];
  }
  const nodes = nodesOf(stalls.stalls);
  return [
    h("ol", { class: "incidents", "aria-label": "Incidents, longest first" }, incidents.map((one) => row(one, nodes))),
    total > incidents.length &&
      h("p", { class: "empty" }, `${plural(total - incidents.length, "more incident")}: see them by location, or use the filter.`),
  ];
}
