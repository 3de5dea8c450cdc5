// SPDX-License-Identifier: Apache-2.0
// lists.js - ids by location, ids by state, and the time line of events.

import { foreign, h, svg, table } from "./dom.js";
import { link } from "./links.js";
import { chip, placeOf, processOf, shares, STATES } from "./parts.js";
import { count, duration, nameOf, plural, time, UNKNOWN } from "./words.js";

const LISTED = 200;

export const requestsOfLocations = ({ all, ...filters }) => ({
  view: `${all ? "/locations" : "/stalls"}?${new URLSearchParams({ ...(all ? {} : { group: "location" }), limit: LISTED, ...filters })}`,
});

function groupRow(group, most) {
  const words = STATES.filter((state) => group.states[state] > 0).map((state) => `${count(group.states[state])} ${state}`);
  const example = group.example;
  const { build_id: build, module, offset, function: name, file, line } = group.location || {};
  return { key: module ? `${build} ${module} ${offset}` : `${name} ${file} ${line}`, cells: [
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
    groups.length === 0 ? h("p", { class: "empty" }, all ? "There is no live id." : "No id is stalled.") :
      table("Locations", ["ids", "last at", "states", "longest", "for example"], 1,
        groups.map((group) => groupRow(group, most))),
    view.total > view.returned && h("p", { class: "empty" }, `${plural(view.total - view.returned, "more place")}.`),
  ];
}

export const requestsOfThreads = (filters) => ({
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

export const requestsOfEvents = (filters) => ({ view: `/events?${new URLSearchParams({ limit: LISTED, ...filters })}` });

const LANES = 60;
const TOGETHER_MS = 2000;

// Groups events, newest first: events of one incident, and equal events that happened together.
function together(events) {
  const groups = [];
  const open = new Map();
  for (const event of events) {
    const { module, offset } = event.location || {};
    const at = Date.parse(event.at);
    const ofIncident = `${event.kind} ${event.incident}`;
    const alike = [event.kind, event.ring, event.process?.pid, event.cause, event.reason, module, offset].join("\n");
    const near = open.get(alike);
    let group = open.get(ofIncident) ?? (near && near.at - at < TOGETHER_MS ? near : null);
    if (!group) {
      group = { events: [] };
      groups.push(group);
    }
    group.events.push(event);
    group.at = at;
    open.set(ofIncident, group).set(alike, group);
  }
  return groups.map((group) => group.events);
}

// Gets the begin of each incident, and its end if all its stalls have ended. Simultaneous incidents share a bar.
function lanesOf(groups) {
  const lanes = new Map();
  const ended = new Set(groups.flat().filter((event) => event.kind === "end").map((event) => event.episode));
  for (const group of groups) {
    for (const event of group) {
      const lane = lanes.get(event.incident) || { from: Infinity, to: 0, open: false, group };
      lane.from = Math.min(lane.from, Date.parse(event.since ?? event.at));
      lane.to = Math.max(lane.to, Date.parse(event.at));
      lane.open = lane.open || (event.kind === "begin" && !ended.has(event.episode));
      lanes.set(event.incident, lane);
    }
  }
  const bars = new Map();
  for (const lane of lanes.values()) {
    const bar = bars.get(lane.group);
    bars.set(lane.group, bar ? { from: Math.min(bar.from, lane.from), to: Math.max(bar.to, lane.to), open: bar.open || lane.open } : lane);
  }
  return [...bars.values()].slice(0, LANES);
}

// One bar per incident, on one time axis that ends now, or with the newest of older events.
function timeLine(groups, end, endWord) {
  const lanes = lanesOf(groups);
  const first = Math.min(...lanes.map((lane) => lane.from));
  const span = Math.max(end - first, 1);
  const place = (moment) => (1000 * (moment - first)) / span;
  const began = time(new Date(first).toISOString());
  return h("figure", { class: "timeline" },
    svg("svg", { viewBox: `0 0 1000 ${Math.max(lanes.length, 6) * 6}`, preserveAspectRatio: "none", role: "img",
      "aria-label": `${plural(lanes.length, "bar")} from ${began} until ${endWord}` },
    lanes.map((lane, i) => svg("rect", { class: lane.open ? "stalled" : "ended", x: place(lane.from), y: i * 6 + 1,
      width: Math.max(place(lane.open ? end : lane.to) - place(lane.from), 3), height: 4 }))),
    h("figcaption", { class: "muted" }, h("span", {}, began),
      h("span", {}, "one bar for events that began together; red: not ended"), h("span", {}, endWord)));
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
      h("summary", {}, `and ${count(more.length)} more ${end ? "ended" : "began"} with it`),
      h("ol", {}, more.map((one) => eventRow(one)))));
}

export function renderEvents({ view }, { filters }) {
  const events = view.events || [];
  const { after, ...others } = filters;
  if (events.length === 0) {
    return [h("p", { class: "empty" }, after ? "There is no older event." : "No stall has begun or ended yet.")];
  }
  const groups = together(events);
  return [
    timeLine(groups, ...(after ? [Date.parse(events[0].at), time(events[0].at)] : [Date.parse(view.generated_at), "now"])),
    h("ol", { class: "events", "aria-label": "Events, newest first" },
      groups.map((group) => eventRow(group.at(-1), group.slice(0, -1)))), // the oldest represents the group
    h("p", { class: "empty" }, `${count(events.length)} of ${plural(view.total, "event")}. `,
      after && h("a", { href: link("events", [], others) }, "Newest"), " ",
      view.next && h("a", { href: link("events", [], { ...filters, after: view.next }) }, "Older")),
    view.suppressed > 0 && h("p", { class: "empty" }, `${plural(view.suppressed, "stall")} made no event: too many at once.`),
  ];
}
