// SPDX-License-Identifier: Apache-2.0
// incidents.js - the incidents. Stalls with one root are one incident; a stall without a root is one of its own.
// Those of one process, one cause and one location share a row.

import { foreign, h } from "./dom.js";
import { link, literal } from "./links.js";
import { chip, isId, keyOfId, placeOf, processOf } from "./parts.js";
import { count, duration, nameOf, plural, sentence, waitsOn } from "./words.js";

const LISTED = 200; // maximum of a list on one screen
const NAMED = 3; // members of a deadlock that are named

// A cycle has no first member: it begins with the root.
function startingWith(cycle, root) {
  const first = Math.max(cycle.findIndex((member) => isId(root) && keyOfId(member) === keyOfId(root)), 0);
  return [...cycle.slice(first), ...cycle.slice(0, first)];
}

function incidentOf({ count: ids, longest_ms: age_ms, root, deadlock, deadlock_left_out: leftOut, example }) {
  const members = deadlock ? deadlock.length + leftOut : 0;
  const shown = root ?? example;
  return {
    key: root ? (isId(root) ? keyOfId(root) : `${root.holder} ${root.tid}`) : `alone ${keyOfId(example)}`,
    shown, example, age_ms, members,
    named: deadlock ? startingWith(deadlock, root) : [shown],
    cause: deadlock ? "deadlock" : shown.cause,
    state: shown.state,
    waiting: root ? ids - members - (members === 0 && root.state === "stalled" ? 1 : 0) : 0,
    alike: root ? 0 : ids - 1,
    ids: root ? ids : 1, // in one incident
  };
}

// Sleeping ids have chosen to sleep: unless others wait for them, they are listed last and not counted as stuck.
const isQuiet = (incident) => incident.cause === "sleeping" && incident.waiting === 0;

// Rows from /stalls?group=incident.
export function incidentsOf(body) {
  const rows = body.stalls.map(incidentOf);
  rows.sort((a, b) => isQuiet(a) - isQuiet(b)); // stable: the longest first, as in the answer
  return { rows, stuck: body.incidents - body.asleep, asleep: body.asleep, ids: body.counts.stalled - body.asleep };
}

// The incident that holds up most ids.
export const worstOf = (rows) =>
  rows.filter((one) => !isQuiet(one)).sort((a, b) => b.ids - a.ids || b.age_ms - a.age_ms)[0] ?? null;

const waiting = ({ waiting: number, members }) =>
  number > 0 && `${count(number)} wait${number === 1 ? "s" : ""} for ${members > 1 ? "them" : "it"}`;

export function renderWorst(incident) {
  const { alike, example } = incident;
  const more = waiting(incident) || (alike > 0 && `${count(alike)} more like it`);
  return h("p", { class: "worst" }, h("a", { href: link("id", [example.ring, example.id]) }, foreign(sentence(example))),
    more && ` – and ${more}`);
}

// The state of a root that is not a stall.
function verdictChip({ cause, state }) {
  return cause ? chip(cause) : state === "stalled" ? chip("not examined", "unexamined") : chip(state || "no id");
}

function nameLink(item, example) {
  const { ring, id } = isId(item) ? item : example;
  return h("a", { href: link("id", [ring, id]) }, foreign(nameOf(item), { class: "name" }));
}

// The number, if another has the same name.
const numberOf = (item, named) =>
  isId(item) && named.some((other) => other !== item && nameOf(other) === nameOf(item)) && ` (id ${item.id})`;

// A link to a list of the other ids.
function alikeLink({ alike, cause, example: { ring } }) {
  const filters = { state: "stalled", ring: literal(ring), ...(cause ? { cause } : {}) };
  return alike > 0 && h("a", { href: link("threads", [], filters) }, `and ${count(alike)} more like it`);
}

function row(incident) {
  const { named, members, example } = incident;
  const place = incident.shown.location ?? example.location;
  const on = waitsOn(incident.shown.kernel ?? example.kernel);
  const others = waiting(incident);
  return h("li", { "data-key": incident.key, class: `incident ${incident.cause || "other"}` },
    h("span", { class: "age" }, duration(incident.age_ms)),
    h("span", { class: "cause" }, verdictChip(incident)),
    h("span", { class: "who" },
      named.slice(0, NAMED).map((item, i) => [i > 0 && " ⇄ ", nameLink(item, example), numberOf(item, named)]),
      members > NAMED && ` and ${count(members - NAMED)} more`, " ", processOf(example)),
    h("span", { class: "where" }, placeOf(place), on && h("span", { class: "on" }, " ", foreign(on)),
      example.note && h("span", { class: "note" }, foreign(example.note))),
    h("span", { class: "more" }, members > 1 && `${count(members)} ids wait for each other`,
      others && `${members > 1 ? ", and " : ""}${others}`, alikeLink(incident)));
}

export const requestsOfIncidents = (filters) => ({
  view: `/stalls?${new URLSearchParams({ group: "incident", limit: LISTED, ...filters })}`,
});

export function renderIncidents({ view }) {
  const { rows } = incidentsOf(view);
  if (rows.length === 0) {
    return [h("p", { class: "empty" }, "No id is stalled.")];
  }
  return [
    h("ol", { class: "incidents", "aria-label": "Incidents, longest first" }, rows.map(row)),
    view.total > rows.length &&
      h("p", { class: "empty" }, `${plural(view.total - rows.length, "more kind")} of incident: group them by location, or use the filter.`),
  ];
}
