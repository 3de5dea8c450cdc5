// SPDX-License-Identifier: Apache-2.0
// links.js - every view has an address: #/VIEW/ARGUMENT...?FILTER=VALUE

export function link(view, words = [], filters = {}) {
  const query = new URLSearchParams(filters).toString();
  return `#/${[view, ...words].map((word) => encodeURIComponent(word)).join("/")}${query ? `?${query}` : ""}`;
}

// As a filter, of which patterns are globs.
export const literal = (name) => name.replace(/[*?[\\]/g, "\\$&");

function decode(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word; // typed by hand
  }
}

export function parse(hash) {
  const [path, query] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [view, ...words] = path.split("/").map(decode);
  return { view: view || "incidents", words, filters: Object.fromEntries(new URLSearchParams(query || "")) };
}
