// SPDX-License-Identifier: Apache-2.0
// links.js - the address of each view: #/VIEW/ARGUMENT...?FILTER=VALUE

export function link(view, words = [], filters = {}) {
  const query = new URLSearchParams(filters).toString();
  return `#/${[view, ...words].map((word) => encodeURIComponent(word)).join("/")}${query ? `?${query}` : ""}`;
}

// Escapes a text for a filter, in which patterns are globs.
export const literal = (name) => name.replace(/[*?[\\]/g, "\\$&");

function decode(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word; // an address typed by hand
  }
}

export function parse(hash) {
  const [path, query] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [view, ...words] = path.split("/").map(decode);
  return { view: view || "incidents", words, filters: Object.fromEntries(new URLSearchParams(query || "")) };
}
