// The editor of `modec ui --write` in a real browser.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { acme, axe, folder, open, start } from "./page.mjs";

const own = "modec/modes/docs-writer.cue";

// editing opens the editor of a mode, a role or a policy.
async function editing(t, dir, of, ...options) {
  const { address, child } = await start(t, dir, "--write");
  const opened = await open(t, address, ...options);
  await opened.page.click("[data-tab=edit]");
  await opened.page.selectOption("#edit-of", of);
  await opened.page.waitForSelector(`#said h2:has-text('${of}')`);
  return { ...opened, child };
}

// idle waits for what the editor is doing: meanwhile it takes no other step.
const idle = (page) => page.waitForFunction(() => !document.querySelector("#editor .htmx-request"));

// rule fills the form of a rule.
async function rule(page, { group, server, list, pattern }) {
  await idle(page);
  await page.selectOption("#rule-group", group);
  if (server) await page.fill("#rule-server", server);
  await page.selectOption("#rule-list", list);
  await page.fill("#rule-pattern", pattern);
}

test("from a click to the written file, and back", async (t) => {
  const dir = acme();
  const was = readFileSync(join(dir, own), "utf8");
  const { page, complaints } = await editing(t, dir, "mode docs-writer");
  await axe(page, "editor");
  await rule(page, { group: "mcp", server: "git*", list: "deny", pattern: "*issue*" });
  await page.waitForSelector("#match:has-text('Stands for 4 of 40 tools')");
  await page.click("#rule button");
  await page.waitForSelector("#proposal td:has-text('narrowed')");
  await page.waitForSelector("#verdict .allow", { timeout: 20000 });
  assert.match(await page.textContent(".patch"), /\+ +mcp: \{docs: .*, "git\*": deny: \["\*issue\*"\]\}/);
  await axe(page, "proposal");
  assert.equal(readFileSync(join(dir, own), "utf8"), was, "it is written before anybody said so");
  await page.click("#write");
  await page.waitForSelector("#notice:has-text('Wrote modec/modes/docs-writer.cue')");
  assert.equal(readFileSync(join(dir, own), "utf8"), was.replace(/mcp: (docs: .*)/, 'mcp: {$1, "git*": deny: ["*issue*"]}'));
  await page.waitForSelector("#said code:has-text('*issue*')");

  // It shows in the matrix, and can be undone: that permits more, and there is no terminal here.
  await page.click("#proposal button:has-text('Undo')");
  await page.waitForSelector("#proposal td:has-text('widened')");
  await page.click("#write");
  await page.waitForSelector("#notice:has-text('it permits more')");
  assert.match(readFileSync(join(dir, own), "utf8"), /\*issue\*/);
  await axe(page, "refused");

  // The servers and their tools, one by one.
  await page.click("#proposal ol button");
  await page.waitForSelector("#proposal h2:has-text('Nothing is prepared')");
  await page.click("summary:has-text('shop')");
  await page.selectOption("[aria-label='Say of shop:refund_order']", "deny");
  await page.waitForSelector("#proposal li:has-text('refund_order')");
  assert(await page.locator("[aria-label='Say of shop:refund_order']").isVisible(), "what was folded open is closed");
  await idle(page);
  await page.selectOption("[aria-label='Say of shop:refund_order']", "");
  await page.waitForSelector("#proposal li:has-text('take \"refund_order\" out')");
  await idle(page);

  // All tools of a risk, at every server; and a role's permission mode.
  await page.click("summary:has-text('every server')");
  await page.selectOption("[aria-label='Say of *:@write']", "deny");
  await page.waitForSelector("#proposal li:has-text('@write')");
  await page.waitForSelector("#proposal td:has-text('docs:suggest_edit')");
  await axe(page, "tools");
  await page.click("[data-tab=permissions]");
  await page.locator("#matrix th", { hasText: "role developer" }).click();
  await page.click("#detail button:has-text('Edit role developer')");
  await page.waitForSelector("#said h2:has-text('role developer')");
  await page.selectOption("#mode-name", "plan");
  await page.click("#mode button");
  await page.waitForSelector(".patch:has-text('permissionMode')");
  assert.match(await page.textContent(".patch"), /\+ +permissionMode: +"plan"/);
  assert.deepEqual(complaints, []);
});

test("a conflict, and a source that changes while the page is open", async (t) => {
  const dir = acme();
  const file = join(dir, own);
  const was = readFileSync(file, "utf8");
  const { page, complaints } = await editing(t, dir, "mode docs-writer");
  await rule(page, { group: "command", list: "deny", pattern: "npx *" });
  await page.click("#rule button");
  await page.waitForSelector("#proposal li.warn:has-text('[void-rule]')"); // what allows npx markdownlint
  await axe(page, "conflict");
  await page.click("#proposal ol button");
  await page.waitForSelector("#proposal h2:has-text('Nothing is prepared')");

  await rule(page, { group: "command", list: "deny", pattern: "yarn *" });
  await page.click("#rule button");
  await page.waitForSelector("#write");
  const theirs = was.replace('model: "sonnet"', 'model: "opus" // theirs');
  assert.notEqual(theirs, was);
  writeFileSync(file, theirs);
  await page.click("#write"); // at once, or after the page saw it: it is shown first, or merged
  await page.waitForSelector("#notice strong");
  if (/meanwhile/.test(await page.textContent("#notice"))) {
    assert.equal(readFileSync(file, "utf8"), theirs);
    await page.click("#write");
    await page.waitForSelector("#notice:has-text('Wrote')");
  }
  const both = readFileSync(file, "utf8");
  assert.match(both, /model: "opus" \/\/ theirs/);
  assert.match(both, /deny: \["yarn \*"\]/);

  // A broken source: what is prepared stays, and nothing is written.
  await rule(page, { group: "command", list: "deny", pattern: "curl *" });
  await page.click("#rule button");
  await page.waitForSelector("#proposal li:has-text('curl')");
  writeFileSync(file, "package modec\n\nmodes: {");
  await page.waitForSelector("#proposal .error:has-text('does not compile')", { timeout: 30000 });
  await page.waitForSelector("#state .error:has-text('does not compile')");
  await axe(page, "broken");
  assert(await page.locator("#proposal li:has-text('curl')").isVisible());
  if (await page.locator("#write").count()) await page.click("#write");
  assert.equal(readFileSync(file, "utf8"), "package modec\n\nmodes: {");
  writeFileSync(file, was);
  await page.waitForSelector("#proposal:not(:has(.error))", { timeout: 30000 });
  await page.waitForSelector(".patch:has-text('curl')");
  assert.deepEqual(complaints, []);
});

test("an edit by keyboard alone", async (t) => {
  const dir = acme();
  const { address } = await start(t, dir, "--write");
  const { page } = await open(t, address);
  await page.waitForSelector("#matrix td");
  // to walks with the Tab key until it is somewhere.
  const to = async (selector) => {
    for (let i = 0; i < 200; i++) {
      if (await page.evaluate((s) => document.activeElement.matches(s), selector)) return;
      await page.keyboard.press("Tab");
    }
    assert.fail(`the Tab key does not reach ${selector}`);
  };
  await to("[data-tab=edit]");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#edit-of");
  await to("#edit-of");
  await page.keyboard.press("ArrowDown");
  await page.waitForSelector("#said h2:has-text('mode ask')");
  await to("#rule-group");
  await page.keyboard.type("comm");
  await to("#rule-list");
  await page.keyboard.type("deny");
  await to("#rule-pattern");
  await page.keyboard.type("make *");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#write");
  assert(await page.evaluate(() => document.activeElement !== document.body), "nothing has the focus any more");
  await to("#write");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#notice:has-text('Wrote modec/modes/ask.cue')", { timeout: 20000 });
  assert.match(readFileSync(join(dir, "modec/modes/ask.cue"), "utf8"), /make \*/);
});

test("the editor dark and narrow", async (t) => {
  const { page } = await editing(t, acme(), "role developer", { colorScheme: "dark", viewport: { width: 360, height: 700 } });
  await rule(page, { group: "command", list: "allow", pattern: "make" });
  await page.click("#rule button");
  await page.waitForSelector("#proposal td:has-text('widened')");
  await axe(page, "dark and narrow");
  assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the editor is wider than a narrow screen");
});

test("markup in every field of the editor", async (t) => {
  const dir = folder();
  mkdirSync(join(dir, "modec"));
  const bad = `</script><img src=x onerror=alert(1)><b hx-get="/x" hx-trigger="load" data-edit="x">"'`;
  writeFileSync(join(dir, "modec.toml"), "[targets.roo]\n[targets.claude]\n");
  writeFileSync(join(dir, "modec/a.json"), JSON.stringify({
    servers: { [`s<b data-edit="x">`]: { command: "s", tools: { t: {} } } },
    modes: { m: { name: bad, roleDefinition: bad, description: bad, can: { edit: { allow: [{ regex: "<b data-edit='x'>" }] } } } },
    roles: { [`r<b data-edit="x">`]: { description: bad, can: { read: { deny: [`x${bad}`] }, command: { allow: [`echo '${bad.replaceAll("'", "")}'`] } } } },
    policies: { p: { description: bad, can: { web: "ask" } } },
  }));
  const { address } = await start(t, dir, "--write");
  const { page, complaints } = await open(t, address);
  await page.click("[data-tab=edit]");
  await page.waitForSelector("#edit-of");
  const clean = async (what) => assert.equal(await page.evaluate(() => document.querySelectorAll("#editor img, #editor b, #editor script, #editor [data-edit]").length), 0, what);
  for (const of of await page.locator("#edit-of option").evaluateAll((list) => list.map((o) => o.value))) {
    await page.selectOption("#edit-of", of);
    await page.waitForFunction((name) => document.querySelector("#said h2").textContent.includes(name), of);
    await clean(of);
    await rule(page, { group: "read", list: "deny", pattern: bad });
    await page.waitForSelector("#match p");
    await page.click("#rule button");
    await page.waitForSelector("#proposal ol li");
    await clean(`${of}: a rule`);
    await page.fill("#rule-pattern", "(" + bad);
    await page.check("#rule-regex");
    await page.waitForSelector("#match .error");
    await clean(`${of}: a match`);
    for (let left = await page.locator("#proposal > ol >> nth=0 >> li").count(); left > 0; left--) {
      await page.click("#proposal ol li >> nth=0 >> button");
      await page.waitForFunction((n) => document.querySelectorAll("#proposal > h2 + ol > li").length === n, left - 1, { timeout: 5000 }).catch(async () => assert.fail(await page.innerText("#proposal")));
    }
  }
  assert.deepEqual(complaints, []);
});

test("a page without --write has nothing to write with", async (t) => {
  const dir = acme();
  const { address } = await start(t, dir);
  const { page } = await open(t, address);
  await page.waitForSelector("#matrix td");
  assert.equal(await page.locator("[data-tab=edit]").count(), 0);
  const asked = await page.evaluate(async () => {
    const out = {};
    for (const action of ["write", "editor"]) {
      out[action] = (await fetch("do/" + action, { method: "POST", headers: { "Content-Type": "application/json", Authorization: "Bearer " + bearer }, body: "{}" })).status;
    }
    return out;
  });
  assert.deepEqual(asked, { write: 403, editor: 403 });
});

test("another origin writes nothing", async (t) => {
  const dir = acme();
  const was = readFileSync(join(dir, own), "utf8");
  const writing = await start(t, dir, "--write");
  const mine = await open(t, writing.address);
  await mine.page.waitForSelector("#matrix td");
  const stolen = await mine.page.evaluate(() => bearer); // the worst: it has the bearer too
  const other = await start(t, acme(), "--write");
  const evil = await open(t, other.address);
  await evil.page.waitForSelector("#matrix td");
  const server = new URL(writing.address).origin;
  const context = await mine.page.context().browser().newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  const { createServer } = await import("node:http");
  const site = createServer((req, res) => (res.setHeader("Content-Type", "text/html"), res.end("<p>evil")));
  await new Promise((done) => site.listen(0, "127.0.0.1", done));
  t.after(() => site.close());
  await page.goto(`http://127.0.0.1:${site.address().port}/`);
  const prepared = JSON.stringify({ changes: [{ at: ["modes", "docs-writer", "can", "command", "deny"], do: "add", value: "evil" }] });
  const asked = await page.evaluate(async ([server, bearer, prepared]) => {
    const out = {};
    const ask = (name, init) => fetch(server + "/do/write", { method: "POST", ...init }).then((r) => (out[name] = r.type === "opaque" ? "opaque" : r.status), () => (out[name] = "refused"));
    const body = JSON.stringify({ prepared, shown: "x" });
    await ask("json", { headers: { "Content-Type": "application/json", Authorization: "Bearer " + bearer }, body });
    await ask("simple", { mode: "no-cors", headers: { "Content-Type": "text/plain" }, body });
    return out;
  }, [server, stolen, prepared]);
  assert.deepEqual(asked, { json: "refused", simple: "opaque" });
  assert.equal(readFileSync(join(dir, own), "utf8"), was);
});

// inTerminal runs modec ui in a terminal of its own; undefined where there is no program that makes one.
async function inTerminal(t, dir, env) {
  const child = spawn("script", ["-qefc", `"$MODEC_BIN" -q -C "$DIR" ui --write`, "/dev/null"], { env: { ...env, DIR: dir }, stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => child.kill());
  let said = "";
  child.stdout.on("data", (data) => (said += data));
  const says = async (wanted) => {
    for (let i = 0; i < 200; i++) {
      const found = said.match(wanted);
      if (found) return found[0];
      await new Promise((done) => setTimeout(done, 50));
    }
    assert.fail(`the terminal says ${said}`);
  };
  if (await new Promise((done) => (child.once("error", () => done(true)), child.once("spawn", () => done(false))))) return undefined;
  return { says, types: (text) => child.stdin.write(text) };
}

test("from a refused call to its patch, which the terminal confirms", async (t) => {
  const dir = acme();
  const file = "modec/modes/ask.cue";
  writeFileSync(join(dir, "modec.toml"), readFileSync(join(dir, "modec.toml"), "utf8") + '\n[audit]\nfile = ".modec/audit.jsonl"\narguments = true\n');
  const env = { ...process.env, XDG_STATE_HOME: folder() }; // where the log's key is
  execFileSync(process.env.MODEC_BIN, ["-q", "-C", dir, "build"], { env, stdio: ["ignore", "ignore", "inherit"] });
  const refuse = () => execFileSync(process.env.MODEC_BIN, ["-C", dir, "hook", "claude", "--subject", "mode:ask"], {
    cwd: dir, env, stdio: ["pipe", "ignore", "inherit"],
    input: JSON.stringify({ hook_event_name: "PreToolUse", session_id: dir, cwd: dir, permission_mode: "default", tool_name: "Edit", tool_input: { file_path: join(dir, "notes/todo.txt"), old_string: "a", new_string: "b" } }),
  });
  const was = readFileSync(join(dir, file), "utf8");
  const terminal = await inTerminal(t, dir, env);
  if (!terminal) return t.skip("there is no program that makes a terminal: script, of util-linux");
  const { page, complaints } = await open(t, await terminal.says(/http:\S+/));
  await page.click("[data-tab=audit]");
  await page.waitForSelector("[data-pane=audit] td:has-text('Nothing was recorded')");
  refuse(); // events show as they come
  await page.waitForSelector("[data-pane=audit] td:has-text('notes/todo.txt')");
  await axe(page, "audit");
  await page.click("[data-pane=audit] button:has-text('Why')");
  await page.waitForSelector("#detail h2:has-text('mode ask: edit')");
  await page.click("[data-tab=audit]");
  await page.click("[data-pane=audit] button:has-text('Propose')");
  await page.waitForSelector("#proposal td:has-text('widened')");
  assert.match(await page.textContent(".patch"), /\+ +can: \{modes: .*, edit: ask: \["notes\/todo\.txt"\]\}/);
  await axe(page, "wish");
  await page.click("#write");
  await page.waitForSelector("#proposal:has-text('type the number there')");
  await axe(page, "waiting");
  const number = /mode ask: edit notes\/todo\.txt deny → ask.*\s+into modec\/modes\/ask\.cue\s+Type (\d{4}) to/.exec(await terminal.says(/mode ask: edit [^]*Type \d{4} to/))[1];
  assert.equal(readFileSync(join(dir, file), "utf8"), was, "it is written before anybody said so");
  terminal.types(`${number}\n`);
  await page.waitForSelector("#notice:has-text('Wrote modec/modes/ask.cue')", { timeout: 20000 });
  assert.notEqual(readFileSync(join(dir, file), "utf8"), was);

  // And back, which permits less: nobody is asked.
  await page.click("#proposal button:has-text('Undo')");
  await page.waitForSelector("#proposal td:has-text('narrowed')");
  await page.click("#write");
  await page.waitForFunction(() => /Undo undo/.test([...document.querySelectorAll("#proposal button")].map((b) => b.ariaLabel).join()));
  assert.equal(readFileSync(join(dir, file), "utf8"), was);
  assert.deepEqual(complaints, []);
});
