"use strict";
// Which model the page talks to: {server, model, version, label}, all strings.

const STORED_UNDER = "rnnsearch-page";

function defaultSettings() {
  const served = location.protocol === "http:" || location.protocol === "https:";
  const server = served ? location.origin : "http://localhost:8501";
  return { server, model: "rnnsearch", version: "", label: "" };
}

// Those of the page's own address; without any there, what this browser has kept. A link leads
// everybody to the same model, so the two are not mixed.
function loadSettings() {
  const given = settingsInAddress();
  return { ...defaultSettings(), ...(Object.keys(given).length ? given : keptSettings()) };
}

// Keeps what differs from the defaults, and names it in the page's address, to be shared.
function saveSettings(settings) {
  const defaults = defaultSettings();
  const changed = Object.entries(settings).filter(([name, value]) => value !== defaults[name]);
  try {
    localStorage.setItem(STORED_UNDER, JSON.stringify(Object.fromEntries(changed)));
  } catch {
    // A browser that keeps nothing still has them in the address.
  }
  const query = new URLSearchParams(changed).toString();
  history.replaceState(null, "", location.pathname + (query && `?${query}`));
}

function keptSettings() {
  try {
    return knownSettings(JSON.parse(localStorage.getItem(STORED_UNDER)) ?? {});
  } catch {
    return {};
  }
}

function settingsInAddress() {
  return knownSettings(Object.fromEntries(new URLSearchParams(location.search)));
}

function knownSettings(values) {
  const known = Object.keys(defaultSettings()).filter((name) => typeof values[name] === "string");
  return Object.fromEntries(known.map((name) => [name, values[name].trim()]));
}

// The origin of a server that only a link has chosen, neither this page nor its reader; or "".
function serverOfLink({ server }) {
  const origin = (address) => parsedAddress(address)?.origin;
  const chosen = [defaultSettings().server, keptSettings().server];
  return chosen.some((address) => origin(address) === origin(server)) ? "" : origin(server);
}

// What is wrong with settings, or "".
function wrongSettings({ server, model, version, label }) {
  const address = parsedAddress(server);
  if (!address) return `“${server}” is not an address that begins with http:// or https://.`;
  if (address.username || address.password) return "The address must not hold a user name.";
  if (address.search || address.hash) return "The address must end before any ? or #.";
  if (!model) return "The model's name is missing.";
  if (!/^\d*$/.test(version)) return `The version must be a number, not “${version}”.`;
  if (version && label) return "Give a version or a label, not both.";
  return "";
}

function parsedAddress(text) {
  try {
    const address = new URL(text);
    return ["http:", "https:"].includes(address.protocol) ? address : null;
  } catch {
    return null;
  }
}

// The REST address of the model.
function modelAddress({ server, model, version, label }) {
  const base = `${server.replace(/\/+$/, "")}/v1/models/${encodeURIComponent(model)}`;
  if (version) return `${base}/versions/${version}`;
  if (label) return `${base}/labels/${encodeURIComponent(label)}`;
  return base;
}

function modelTitle({ model, version, label }) {
  if (version) return `${model}, version ${version}`;
  if (label) return `${model}, label ${label}`;
  return model;
}
