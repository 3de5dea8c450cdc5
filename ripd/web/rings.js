// SPDX-License-Identifier: Apache-2.0
// rings.js - each ring, problems first.

import { foreign, h, svg, table } from "./dom.js";
import { link, literal } from "./links.js";
import { chip } from "./parts.js";
import { bytes, count, plural, UNKNOWN } from "./words.js";

const LISTED = 1000;
const SHOWN = 4; // processes shown per ring

export const requestsOfRings = (filters) => ({ view: `/rings?${new URLSearchParams({ limit: LISTED, ...filters })}` });

const REASONS = { unseen_calls: "some threads wait in calls that the preload library does not see" };

const NEARLY_FULL = 0.9;
const fullness = (ring) => (ring.live === null || !ring.capacity ? null : Math.min(ring.live / ring.capacity, 1));

export function warningsOf(ring) {
  const refused = ring.refused ? ring.refused.full + ring.refused.memory + ring.refused.processes : 0;
  const unattested = (ring.processes || []).filter((process) => !process.dead && process.attested === false).length;
  return [
    ring.health !== "readable" && `${ring.health}${ring.reason ? `: ${ring.reason}` : ""}`,
    !ring.dead && fullness(ring) > NEARLY_FULL && "nearly full: when it is full, new threads are not watched",
    refused > 0 && `${plural(refused, "registration")} refused: these threads are not watched`,
    ring.modules_dropped > 0 && `${plural(ring.modules_dropped, "module")} not recorded: some places have no name`,
    ring.coverage === "partial" &&
      `not all is seen: ${(ring.coverage_reasons || []).map((reason) => REASONS[reason] || reason).join(", ")}`,
    unattested > 0 && `${plural(unattested, "process", "processes")} not attested`,
    ring.unlinked && "its file has been removed",
  ].filter(Boolean);
}

function fill(ring) {
  const share = fullness(ring);
  if (share === null) {
    return UNKNOWN;
  }
  return h("span", { class: "fill" }, `${count(ring.live)} of ${count(ring.capacity)} `,
    svg("svg", { class: "bar", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("rect", { class: "track", width: 100, height: 6 }),
      svg("rect", { class: share > NEARLY_FULL ? "stopped" : "running", width: Math.max(share * 100, ring.live ? 1 : 0), height: 6 })));
}

function row(ring) {
  const warnings = warningsOf(ring);
  const name = foreign(ring.ring ?? "(no name)", { class: "name" });
  const state = ring.health !== "readable" ? chip(ring.health, "stopped") : ring.dead ? chip("dead") : chip("alive", "running");
  const processes = ring.processes || [];
  return { key: `${ring.directory}/${ring.ring}`, class: warnings.length ? "warned" : null, cells: [
    [ring.health === "readable" ? h("a", { href: link("map", [], { ring: literal(ring.ring) }) }, name) : name,
      h("div", { class: "muted" }, foreign(ring.directory ?? ""))],
    [state, ring.source && h("div", { class: "muted" }, ring.source)],
    fill(ring),
    [processes.length === 0 && UNKNOWN, processes.slice(0, SHOWN).map((process) => h("div", {}, foreign(process.comm ?? UNKNOWN),
      h("span", { class: "muted" }, ` pid ${process.pid}${process.dead ? ", dead" : ""}`))),
    processes.length > SHOWN && h("div", { class: "muted" }, `and ${count(processes.length - SHOWN)} more`)],
    h("span", { class: "number" }, bytes(ring.file_bytes)),
    warnings.length ? h("ul", { class: "warnings" }, warnings.map((text) => h("li", {}, foreign(text)))) :
      h("span", { class: "muted" }, "none"),
  ] };
}

export function renderRings({ view }) {
  if (!view.rings || view.rings.length === 0) {
    return [h("p", { class: "empty" }, "There is no ring: no program is traced in the directories that ripd watches.")];
  }
  const rings = [...view.rings].sort((a, b) => (warningsOf(b).length > 0) - (warningsOf(a).length > 0));
  const limited = view.limited || [];
  return [
    limited.length > 0 && h("ul", { class: "warnings" }, limited.map((one) =>
      h("li", {}, `The limit “${one.limit}” of user ${one.uid} was reached ${plural(one.refused, "time")}: some items of this user are missing or late.`))),
    table("Rings", ["ring", "state", "ids", "processes", "file", "warnings"], 0, rings.map(row)),
    view.total > view.returned && h("p", { class: "empty" }, `${plural(view.total - view.returned, "more ring")}.`),
  ];
}
