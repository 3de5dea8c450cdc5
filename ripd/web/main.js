// SPDX-License-Identifier: Apache-2.0
// main.js - the table of views, the view that is shown, and the header above it: what is stuck, and how fresh that is.

import { h, morph } from "./dom.js";
import { Feed } from "./feed.js";
import { incidentsOf, requestsOfIncidents, renderIncidents, renderWorst, worstOf } from "./incidents.js";
import { link, parse } from "./links.js";
import {
  requestsOfEvents, requestsOfLocations, requestsOfThreads, renderEvents, renderLocations, renderThreads,
} from "./lists.js";
import { requestsOfMap, renderMap } from "./map.js";
import { requestsOfOne, renderOne } from "./one.js";
import { shares, stateList, STATES } from "./parts.js";
import { requestsOfRings, renderRings } from "./rings.js";
import { duration, plural } from "./words.js";

const TICK_MS = 500; // how often freshness is checked

// requests: paths by name; the first is the link to JSON. filters: those that its path takes.
const VIEWS = {
  incidents: { title: "Incidents", nav: true, filters: ["name", "ring", "cause"], render: renderIncidents,
    requests: (route) => requestsOfIncidents(route.filters) },
  locations: { title: "Locations", nav: true, filters: ["name", "ring"], render: renderLocations,
    requests: (route) => requestsOfLocations(route.filters) },
  threads: { title: "Ids", nav: true, filters: ["name", "ring", "state"], render: renderThreads,
    requests: (route) => requestsOfThreads(route.filters) },
  map: { title: "Map", nav: true, filters: ["name", "ring"], render: renderMap,
    requests: (route) => requestsOfMap(route.filters) },
  rings: { title: "Rings", nav: true, filters: [], render: renderRings, requests: (route) => requestsOfRings(route.filters) },
  events: { title: "Events", nav: true, filters: ["name", "ring", "cause"], render: renderEvents,
    requests: (route) => requestsOfEvents(route.filters) },
  id: { title: "Id", nav: false, filters: [], render: renderOne, requests: (route) => requestsOfOne(route.words) },
};
const CAUSES = ["spinning", "blocked", "sleeping", "uninterruptible", "starved", "deadlock", "parked", "unknown"];
const CHOICES = { cause: CAUSES, state: STATES };

const at = (name) => document.getElementById(name);
const feed = new Feed(draw);
let route = parse(location.hash);

const view = () => VIEWS[route.view] || VIEWS.incidents;
const wanted = () => ({ now: requestsOfIncidents({}).view, ...view().requests(route) });

function nav() {
  return Object.entries(VIEWS).filter(([, one]) => one.nav).map(([name, one]) =>
    h("a", { href: link(name), "aria-current": name === route.view ? "page" : null }, one.title));
}

const FRESHNESS = {
  connecting: () => ["connecting", "connecting to ripd …"],
  live: (fresh) => ["fresh", "live", h("span", { class: "exactly" }, `, scanned ${duration(fresh.age_ms)} ago`)],
  waiting: () => ["connecting", "waiting for the first scan"],
  silent: () => ["stale", "not live"],
  late: () => ["stale", "not live"],
};

// The problem, and the age of the data. The age changes each second and is not announced each time.
function warningOf({ kind, age_ms: age }) {
  const old = age === null ? "There is no data." : `The data shown is ${duration(Math.floor(age / 1000) * 1000)} old.`;
  return { silent: ["ripd does not answer. ", old], late: ["ripd answers, but has not scanned for a while. ", old] }[kind];
}

let title = "ripd"; // title while the data is fresh

function drawFreshness() {
  feed.tick();
  const fresh = feed.freshness();
  const [kind, ...text] = FRESHNESS[fresh.kind](fresh);
  const warning = warningOf(fresh);
  document.body.className = kind;
  document.title = warning ? `stale: ${title}` : title;
  morph(at("live"), [...h("span", {}, h("span", { class: "dot" }), text).childNodes]);
  morph(at("alert"), warning ?
    [h("p", {}, h("strong", {}, "Stale. "), warning[0], h("span", { "aria-live": "off" }, warning[1]))] : []);
}

function states(counts) {
  const total = STATES.reduce((sum, state) => sum + (counts[state] || 0), 0);
  return h("div", { class: "states" }, shares(counts, Math.max(total, 1)), stateList(counts));
}

function verdict({ stuck, ids, asleep }, unreadable, counts) {
  if (stuck > 0) {
    return ["bad", plural(stuck, "incident"), ` ${plural(ids, "id")} stuck`];
  }
  if (unreadable > 0) {
    return ["warn", "Not everything is visible", ""];
  }
  if (STATES.every((state) => !counts[state])) {
    return ["", "Nothing is traced", " Trace a program with “rip run COMMAND”"];
  }
  return ["good", "Nothing is stuck", asleep ? ` ${plural(asleep, "id")} sleeping as requested` : ""];
}

function hero({ now: { body } }) {
  if (!body.stalls) {
    return [h("div", { class: "verdict connecting" }, h("h1", { class: "headline" }, body.detail || "No answer from ripd yet."))];
  }
  const found = incidentsOf(body);
  const unreadable = body.unreadable_rings;
  const [kind, big, small] = verdict(found, unreadable, body.counts);
  const worst = worstOf(found.rows);
  const name = view() === VIEWS.id ? `id ${route.words.join("/")}` : view().title;
  title = `${found.stuck > 0 ? `(${found.stuck}) ` : ""}${name} – ripd ${location.host}`;
  const whole = view() === VIEWS.incidents; // other views have one line
  return [h("div", { class: `verdict ${kind} ${whole ? "" : "brief"}` },
    h("h1", { class: "headline" }, h("b", {}, big), h("span", {}, small)),
    whole && worst && renderWorst(worst),
    unreadable > 0 && h("p", { class: "unreadable" }, h("a", { href: link("rings") },
      `${plural(unreadable, "ring")} cannot be read`), ": their ids are not watched."),
    view() !== VIEWS.map && states(body.counts))]; // the map has them next to its colours
}

function field(name) {
  const value = route.filters[name] || "";
  if (!CHOICES[name]) {
    return h("label", {}, `${name} `, h("input", { name, value, placeholder: "*", autocomplete: "off", spellcheck: "false" }));
  }
  return h("label", {}, `${name} `, h("select", { name }, h("option", { value: "" }, "any"),
    CHOICES[name].map((word) => h("option", { value: word, selected: word === value }, word))));
}

function tools() {
  const json = Object.values(view().requests(route))[0];
  return h("div", { class: view().filters.length > 0 ? "tools" : "tools bare" },
    view().filters.length > 0 && h("form", { "data-key": `filter ${route.view}`, role: "search", "aria-label": "Filter" }, view().filters.map(field)),
    h("a", { class: "json", href: json }, "JSON"));
}

// Keeps what the user typed, except if a link has changed it.
function fillFields() {
  for (const one of at("view").querySelectorAll("form [name]")) {
    if (one !== document.activeElement) {
      one.value = route.filters[one.name] || "";
    }
  }
}

function drawView(answers) {
  const requested = Object.keys(view().requests(route));
  const there = requested.every((name) => answers[name]);
  const problem = there && requested.map((name) => answers[name]).find((one) => one.status !== 200 && one.status !== 404);
  const bodies = Object.fromEntries(requested.map((name) => [name, answers[name] && answers[name].body]));
  const content = !there ? [] : problem ? [h("p", { class: "empty" }, problem.body.detail || problem.body.title)] : view().render(bodies, route);
  morph(at("view"), [tools(), ...content].filter(Boolean));
  fillFields();
}

let spoken = "";
function speak() {
  const text = [...at("hero").querySelectorAll(".headline")].map((one) => one.textContent).join(" ");
  if (text !== spoken) { // announces only changes
    spoken = text;
    at("spoken").textContent = text;
  }
}

function draw() {
  morph(at("nav"), nav());
  if (feed.answers.now) {
    morph(at("hero"), hero(feed.answers));
    speak();
  }
  drawView(feed.answers);
  drawFreshness();
}

function go() {
  const before = route;
  route = parse(location.hash);
  if (before.view !== route.view || before.words.join("/") !== route.words.join("/")) {
    at("view").replaceChildren();
    feed.forget(Object.keys(view().requests(route)));
    at("main").focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  draw();
  feed.restart();
}

// The filter becomes part of the address, so that it can be shared.
function filter(event) {
  const form = event.target.closest("form");
  const given = Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));
  const { after, ...others } = route.filters;
  for (const name of view().filters) {
    delete others[name];
  }
  location.replace(link(route.view, route.words, { ...others, ...given }));
}

at("host").textContent = location.host;
addEventListener("hashchange", go);
addEventListener("input", filter);
addEventListener("submit", (event) => event.preventDefault());
setInterval(drawFreshness, TICK_MS);
draw();
feed.start(wanted);
