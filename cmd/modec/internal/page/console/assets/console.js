// The moving parts that the views do not bring along: the key, the tabs, and the keyboard in the matrix. What is
// permitted is decided by the server alone, which renders every view.
"use strict";

let bearer = "";

document.addEventListener("htmx:configRequest", (event) => {
  if (!bearer) return event.preventDefault(); // somebody was faster than the key: start asks for what is shown
  event.detail.headers["Authorization"] = "Bearer " + bearer;
  if (event.detail.verb !== "get") event.detail.headers["Content-Type"] = "application/json";
});

// A form of another page cannot send JSON.
htmx.defineExtension("json", { encodeParameters: (xhr, parameters) => JSON.stringify(Object.fromEntries(parameters)) });

document.addEventListener("htmx:responseError", (event) => {
  if (event.detail.xhr.status === 401) fail("This page's key is good no more: press Enter in the terminal of modec ui for a new address.");
});

document.addEventListener("htmx:sendError", () => say("modec ui does not answer: it was stopped, or is busy.", "error"));

function say(text, kind) {
  const p = document.createElement("p");
  p.textContent = text;
  if (kind) p.className = kind;
  document.getElementById("state").replaceChildren(p, ...document.querySelectorAll("#seen"));
}

function fail(text) {
  clearInterval(polling);
  polling = 0;
  say(text, "error");
}

// start exchanges the key of the address for a bearer, and asks for the first views.
async function start() {
  const key = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
  if (!key) return fail("This address has no key: press Enter in the terminal of modec ui for a new one.");
  const answer = await fetch("key", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ key }) });
  if (!answer.ok) return fail("The key of this address was used, or is too old: press Enter in the terminal of modec ui for a new one.");
  bearer = (await answer.json()).bearer;
  htmx.trigger(document.body, "ready");
  for (const pane of document.querySelectorAll("[data-pane]:not([hidden])")) htmx.trigger(pane, "opened");
  polling = setInterval(() => {
    if (document.hidden) return;
    htmx.trigger("#state", "poll");
    for (const looking of document.querySelectorAll("[data-pane]:not([hidden]) [data-poll]")) htmx.trigger(looking, "poll");
  }, 1500);
}

let polling = 0;
let seen = "";

document.addEventListener("htmx:afterSwap", (event) => {
  const target = event.detail.target;
  if (target.id === "state") {
    const now = document.getElementById("seen")?.value ?? "";
    if (seen && now !== seen) htmx.trigger(document.body, "changed");
    seen = now;
  }
  if (target.id === "matrix") select(find(chosen) ?? cells()[0], false);
  if (target.id === "editor") {
    for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
    if (!document.activeElement || document.activeElement === document.body) document.getElementById("proposal")?.focus();
  }
});

// What is folded open in the editor stays so.
let opened = [];
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target.id === "editor") opened = [...document.querySelectorAll("#editor details[open]")].map((d) => d.id);
});

// Tabs.
function turn(to, event) {
  for (const b of document.querySelectorAll("[data-tab]")) {
    b.toggleAttribute("aria-current", false);
    if (b.dataset.tab === to) b.setAttribute("aria-current", "page");
  }
  for (const pane of document.querySelectorAll("[data-pane]")) {
    pane.hidden = pane.dataset.pane !== to;
    if (!pane.hidden && event) htmx.trigger(pane, event);
  }
}

document.addEventListener("click", (event) => {
  const tab = event.target.closest("[data-tab]");
  if (tab) turn(tab.dataset.tab, "opened");
});

// What another pane proposes stands in the editor.
document.addEventListener("click", (event) => {
  const from = event.target.closest("[data-edit]");
  if (!from) return;
  turn("edit");
  htmx.ajax("POST", "do/editor", { source: "#editor", target: "#editor", swap: "innerHTML", values: JSON.parse(from.dataset.edit) })
    .then(() => document.getElementById("proposal")?.focus());
});

// Filters: what is typed and chosen asks for another matrix.
let typing = 0;
document.addEventListener("input", (event) => {
  if (!event.target.closest("#filters")) return;
  clearTimeout(typing);
  typing = setTimeout(() => htmx.trigger(document.body, "filtered"), event.target.tagName === "SELECT" ? 0 : 200);
});
document.addEventListener("submit", (event) => {
  if (event.target.closest("#filters")) event.preventDefault();
});

// The matrix is a grid: one of its cells takes part in the order of the Tab key, and the arrow keys move.
let chosen = null;
const cells = () => [...document.querySelectorAll("#matrix [data-open]")];
const find = (of) => of && cells().find((c) => c.dataset.open === of);

function select(cell, focus) {
  if (!cell) return;
  for (const c of document.querySelectorAll("#matrix [tabindex='0'][data-open]")) {
    c.tabIndex = -1;
    c.removeAttribute("aria-selected");
  }
  cell.tabIndex = 0;
  cell.setAttribute("aria-selected", "true");
  chosen = cell.dataset.open;
  if (focus) {
    cell.focus();
    cell.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}

function open(cell) {
  select(cell, true);
  htmx.ajax("GET", cell.dataset.open, { target: "#detail", swap: "innerHTML" });
}

document.addEventListener("click", (event) => {
  const cell = event.target.closest("#matrix [data-open]");
  if (cell) open(cell);
});

// Why something was refused stands among the permissions.
document.addEventListener("click", (event) => {
  const why = event.target.closest("[data-show]");
  if (!why) return;
  turn("permissions");
  htmx.ajax("GET", why.dataset.show, { target: "#detail", swap: "innerHTML" }).then(() => document.getElementById("detail").focus());
});

document.addEventListener("keydown", (event) => {
  const cell = event.target.closest?.("#matrix [data-open]");
  if (!cell || event.ctrlKey || event.metaKey || event.altKey) return;
  const row = cell.parentElement;
  const at = [...row.children].indexOf(cell);
  const to = {
    ArrowRight: () => cell.nextElementSibling,
    ArrowLeft: () => cell.previousElementSibling,
    ArrowDown: () => row.nextElementSibling?.children[at],
    ArrowUp: () => row.previousElementSibling?.children[at],
    Home: () => row.firstElementChild,
    End: () => row.lastElementChild,
  }[event.key];
  if (to) {
    event.preventDefault();
    select(to() ?? cell, true);
  } else if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    open(cell);
  }
});

start();
