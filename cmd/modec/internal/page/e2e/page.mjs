// What the tests of the page have in common: a browser, modec ui, and a page of it.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import chromium from "@sparticuz/chromium";
import { chromium as playwright } from "playwright-core";

export const here = dirname(fileURLToPath(import.meta.url));
export const bin = process.env.MODEC_BIN;
const fixture = process.env.MODEC_FIXTURE;
assert(bin && fixture, "MODEC_BIN and MODEC_FIXTURE name the program and the showcase");

// unpacked returns the browser's program. The package unpacks it to one place, and takes what lies there for whole: so
// of tests that run side by side one unpacks it while the others wait, a minute at most.
async function unpacked() {
  const lock = join(tmpdir(), "modec-chromium.lock");
  for (;;) {
    try {
      mkdirSync(lock);
      break;
    } catch (err) {
      if (err.code !== "EEXIST") throw err;
      const old = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
      if (Date.now() - old > 60_000) rmSync(lock, { recursive: true, force: true });
      else await setTimeout(200);
    }
  }
  try {
    return await chromium.executablePath();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

export let browser;
const folders = [];
before(async () => {
  // What the page has to withstand is not to be switched off.
  const off = ["--disable-web-security", "--allow-running-insecure-content", "--disable-site-isolation-trials", "--single-process", "--no-zygote"];
  const args = chromium.args.filter((a) => !off.includes(a));
  browser = await playwright.launch({ args, executablePath: await unpacked(), headless: true });
});
after(async () => {
  await browser?.close();
  for (const f of folders) rmSync(f, { recursive: true, force: true });
});

export function folder() {
  const dir = mkdtempSync(join(tmpdir(), "modec-ui-"));
  folders.push(dir);
  return dir;
}

// start runs modec ui, and returns the address of a page and how to get another one.
export async function start(t, dir, ...flags) {
  const child = spawn(bin, ["-q", "-C", dir, "ui", ...flags], { stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => child.kill());
  let text = "";
  const waiting = [];
  child.stdout.on("data", (data) => {
    text += data;
    for (let end; (end = text.indexOf("\n")) >= 0; text = text.slice(end + 1)) waiting.shift()?.(text.slice(0, end));
  });
  const next = () => new Promise((done, fail) => {
    waiting.push(done);
    child.once("exit", (code) => fail(new Error(`modec ui ended with ${code}`)));
  });
  const address = await next();
  return { address, again: () => (child.stdin.write("\n"), next()), child };
}

// open opens a page, and fails the test for what the page complains about.
export async function open(t, address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1300, height: 850 }, reducedMotion: "reduce", ...options });
  t.after(() => context.close());
  const page = await context.newPage();
  const complaints = [];
  page.on("pageerror", (e) => complaints.push(String(e)));
  // htmx reports a request as an error that another one took the place of.
  page.on("console", (m) => m.type() === "error" && !/^htmx:(sendAbort|afterRequest)/.test(m.text()) && complaints.push(m.text()));
  page.on("dialog", (d) => (complaints.push("dialog: " + d.message()), d.dismiss()));
  page.on("request", (r) => new URL(r.url()).origin === new URL(address).origin || r.url().startsWith("data:") || complaints.push("asks " + r.url()));
  await page.goto(address);
  return { page, complaints };
}

export const cell = (page, subject, column) => page.locator("#matrix tbody tr", { has: page.locator("th", { hasText: subject }) }).locator("td").nth(column);

export async function axe(page, what) {
  await page.waitForFunction(() => !document.querySelector(".htmx-request, .htmx-swapping")); // which is paler
  await page.evaluate(readFileSync(join(here, "node_modules/axe-core/axe.min.js"), "utf8"));
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  assert.deepEqual(found.violations.map((v) => `${what}: ${v.id}: ${v.nodes[0].html}`), []);
}

export function acme() {
  const dir = folder();
  cpSync(fixture, dir, { recursive: true });
  // Each preview verifies every agent: six of the ten will do.
  const settings = join(dir, "modec.toml");
  writeFileSync(settings, readFileSync(settings, "utf8").replace(/^\[targets\.(codex|copilot|opencode|kilo)\]$/gm, ""));
  const git = (...args) => execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: dir });
  git("init", "-q");
  git("add", "-A");
  git("commit", "-qm", "first");
  return dir;
}

