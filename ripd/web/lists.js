// SPDX-License-Identifier: Apache-2.0
// lists.js - ids by place, ids of a state, and the time line of events.

import { foreign, h, svg, table } from "./dom.js";
import { link } from "./links.js";
import { chip, placeOf, processOf, shares, STATES } from "./parts.js";
import { count, duration, nameOf, plural, time, UNKNOWN } from "./words.js";

const LISTED = 200;

export const questionsOfLocations = ({ all, ...filters }) => ({
  view: `${all ? "/locations" : "/stalls"}?${new URLSearchParams({ ...(all ? {} : { group: "location" }), limit: LISTED, ...filters })}`,
});

function groupRow(group, most) {
  const words = STATES.filter((state) => group.states[state] > 0).map((state) => `${count(group.states[state])} ${state}`);
  const example = group.example;
  const { build_id: build, module, offset } = group.location || {};
  return { key: `${build} ${module} ${offset}`, cells: [
    h("span", { class: "big" }, count(group.count)),
    [placeOf(group.location), h("div", { class: "share" }, shares(group.states, most))],
    words.join(", "),
    duration(group.longest_ms),
    example && h("a", { href: link("id", [example.ring, example.id]) }, foreign(nameOf(example))),
  ] };
}

export function renderLocations({ view }, { filters }) {
  const groups = view.locations || view.stalls || [];
  const most = Math.max(...groups.map((group) => group.count), 1);
  const { all, ...others } = filters;
  return [
    h("p", { class: "switch" },
      h("a", { href: link("locations", [], others), "aria-current": all ? null : "true" }, "stalled ids"), " ",
      h("a", { href: link("locations", [], { ...others, all: 1 }), "aria-current": all ? "true" : null }, "all ids")),
    groups.length === 0 ? h("p", { class: "empty" }, all ? "No id is live." : "No id stands still past its threshold.") :
      table("Locations", ["ids", "last at", "states", "longest", "for example"], 1,
        groups.map((group) => groupRow(group, most))),
    view.total > view.returned && h("p", { class: "empty" }, `${plural(view.total - view.returned, "more place")}.`),
  ];
}

export const questionsOfThreads = (filters) => ({
  view: `/threads?${new URLSearchParams({ limit: LISTED, ...filters })}`,
});

function threadRow(item) {
  return { key: `${item.ring} ${item.id}`, cells: [
    duration(item.frozen_for_ms),
    [h("a", { href: link("id", [item.ring, item.id]) }, foreign(nameOf(item), { class: "name" })), " ", processOf(item)],
    [chip(item.state), " ", item.cause && chip(item.cause)],
    [placeOf(item.location), item.note && h("div", { class: "note" }, foreign(item.note))],
  ] };
}

export function renderThreads({ view }, { filters }) {
  const items = view.threads || [];
  const { after, ...others } = filters;
  return [
    items.length === 0 ? h("p", { class: "empty" }, "No id matches.") :
      table("Ids", ["still for", "id", "state", "last at"], 1, items.map(threadRow), { class: "ids" }),
    h("p", { class: "empty" }, `${count(items.length)} of ${plural(view.total ?? 0, "id")}. `,
      after && h("a", { href: link("threads", [], others) }, "First"), " ",
      view.next && h("a", { href: link("threads", [], { ...filters, after: view.next }) }, "Next")),
  ];
}

export const questionsOfEvents = (filters) => ({ view: `/events?${new URLSearchParams({ limit: LISTED, ...filters })}` });

const LANES = 60;

// Incidents, newest first: since when, and until when if all its stalls have ended.
function lanesOf(events) {
  const lanes = new Map();
  const ended = new Set(events.filter((event) => event.kind === "end").map((event) => event.episode));
  for (const event of events) {
    const lane = lanes.get(event.incident) || { from: Infinity, to: 0, open: false };
    lane.from = Math.min(lane.from, event.since ? Date.parse(event.since) : Date.parse(event.at));
    lane.to = Math.max(lane.to, Date.parse(event.at));
    lane.open = lane.open || (event.kind === "begin" && !ended.has(event.episode));
    lanes.set(event.incident, lane);
  }
  return [...lanes.values()].slice(0, LANES);
}

// A bar an incident, on one axis of time.
function timeLine(events, now) {
  const lanes = lanesOf(events);
  const first = Math.min(...lanes.map((lane) => lane.from));
  const span = Math.max(now - first, 1);
  const place = (moment) => (1000 * (moment - first)) / span;
  const began = time(new Date(first).toISOString());
  return h("figure", { class: "timeline" },
    svg("svg", { viewBox: `0 0 1000 ${Math.max(lanes.length, 6) * 6}`, preserveAspectRatio: "none", role: "img",
      "aria-label": `${plural(lanes.length, "incident")} from ${began} until now` },
    lanes.map((lane, i) => svg("rect", { class: lane.open ? "stalled" : "ended", x: place(lane.from), y: i * 6 + 1,
      width: Math.max(place(lane.open ? now : lane.to) - place(lane.from), 3), height: 4 }))),
    h("figcaption", { class: "muted" }, h("span", {}, began), h("span", {}, "a bar an incident; red: not over"),
      h("span", {}, "now")));
}

function eventRow(event, more = []) {
  const end = event.kind === "end";
  return h("li", { "data-key": String(event.sequence), class: `event ${event.kind}` },
    h("time", { datetime: event.at }, time(event.at)),
    h("span", { class: "what" }, end ? chip(event.reason || "end", "running") : chip(event.cause || "begin", event.cause || "unexamined")),
    h("span", { class: "who" }, event.ring === null ? UNKNOWN :
      h("a", { href: link("id", [event.ring, event.id]) }, foreign(nameOf(event), { class: "name" })), " ", processOf(event)),
    h("span", { class: "where" }, placeOf(event.location),
      event.root && h("span", { class: "muted" }, " held up by ", foreign(nameOf(event.root)))),
    h("span", { class: "age" }, end ? `after ${duration(event.lasted_ms)}` : "began"),
    more.length > 0 && h("details", { class: "more" },
      h("summary", {}, `and ${count(more.length)} more of this incident ${end ? "ended" : "began"}`),
      h("ol", {}, more.map((one) => eventRow(one)))));
}

// What begins or ends for one reason is one row.
function folded(events) {
  const rows = new Map();
  for (const event of events) {
    const key = `${event.incident} ${event.kind}`;
    rows.set(key, [...(rows.get(key) || []), event]);
  }
  return [...rows.values()].map((group) => {
    const first = group.at(-1); // the oldest of them
    return eventRow(first, group.slice(0, -1));
  });
}

export function renderEvents({ view }) {
  const events = view.events || [];
  if (events.length === 0) {
    return [h("p", { class: "empty" }, "Nothing has begun or ended yet.")];
  }
  return [
    timeLine(events, Date.parse(view.generated_at)),
    h("ol", { class: "events", "aria-label": "Events, newest first" }, folded(events)),
    view.suppressed > 0 && h("p", { class: "empty" }, `${plural(view.suppressed, "stall")} became no event: too many at once.`),
  ];
}
