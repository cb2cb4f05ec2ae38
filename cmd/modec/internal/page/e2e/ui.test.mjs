// The page of `modec ui` in a real browser.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { acme, axe, browser, cell, folder, here, open, start } from "./page.mjs";

test("the library is the one of the lock file", () => {
  assert.deepEqual(readFileSync(join(here, "../console/assets/htmx.min.js")), readFileSync(join(here, "node_modules/htmx.org/dist/htmx.min.js")));
  assert.deepEqual(readFileSync(join(here, "../console/assets/htmx.LICENSE")), readFileSync(join(here, "node_modules/htmx.org/LICENSE")));
});

test("every view of the showcase", async (t) => {
  const dir = acme();
  const { address } = await start(t, dir);
  const { page, complaints } = await open(t, address);
  await page.waitForSelector("#matrix tbody tr >> nth=12");
  assert.equal(new URL(page.url()).hash, "", "the key stays in the address");
  await axe(page, "matrix");

  await cell(page, "mode architect", 2).click();
  await page.waitForSelector("#detail h2:has-text('mode architect: command')");
  await page.waitForSelector("#detail table:has-text('claude')");
  await page.fill("#detail input[name=arg]", "rm -rf /");
  await page.press("#detail input[name=arg]", "Enter");
  await page.waitForSelector("#answer strong.deny");
  assert.match(await page.textContent("#answer"), /modec\/.*\.cue:\d+/);
  await axe(page, "why");

  await page.locator("#matrix th", { hasText: "role developer" }).click();
  await page.waitForSelector("#detail h2:has-text('role developer')");
  await page.selectOption("#detail select[name=mode]", "code");
  await page.waitForSelector("#detail h2:has-text('role developer in mode code')");
  await axe(page, "subject");

  await page.fill("#filters input[name=q]", "audit");
  await page.waitForSelector("#matrix caption:has-text('1 of 13')");
  await page.fill("#filters input[name=q]", "");
  await page.selectOption("#filters select[name=kind]", "role");
  await page.waitForSelector("#matrix caption:has-text('5 of 13')");
  await page.selectOption("#filters select[name=columns]", "*");
  await page.waitForSelector("#matrix thead th:has-text('github')");
  await page.selectOption("#filters select[name=columns]", "github");
  await page.waitForFunction(() => document.querySelectorAll("#matrix thead th").length > 5);
  await axe(page, "tools");
  await page.selectOption("#filters select[name=columns]", "");
  await page.selectOption("#filters select[name=kind]", "");
  await page.selectOption("#filters select[name=agent]", "claude");
  await page.waitForSelector("#matrix td .quiet:has-text('rules')");
  await axe(page, "agent");
  await page.selectOption("#filters select[name=agent]", "");

  for (const [tab, shows] of [["losses", "h2:has-text('cursor')"], ["pins", "th:has-text('github')"], ["audit", "p"], ["cursor", "form"]]) {
    await page.click(`[data-tab=${tab}]`);
    await page.waitForSelector(`[data-pane=${tab}] ${shows}`);
    await axe(page, tab);
  }
  await page.fill("[data-pane=cursor] input[name=tool]", "github:list_issues");
  await page.fill("[data-pane=cursor] input[name=list]", "github:*");
  await page.click("[data-pane=cursor] button");
  await page.waitForSelector("#approval strong:has-text('runs')");
  await axe(page, "approval");
  assert.deepEqual(complaints, []);
});

test("pins that drift, side by side", async (t) => {
  const dir = acme();
  const pin = (value) => ({ sha256: createHash("sha256").update(JSON.stringify(value)).digest("hex"), value }); // its keys are in order
  const entry = { args: ["stdio"], command: "github-mcp-server", cwd: "", type: "stdio", url: "" };
  const tool = { description: `Lists issues. <img src=x onerror=alert(1)>`, name: "list_issues" };
  writeFileSync(join(dir, "modec.pins.json"), JSON.stringify({ version: 1, servers: { github: { entry: pin(entry), prompts: {}, templates: {}, tools: { list_issues: pin(tool) } } } }));
  const { address } = await start(t, dir);
  const { page, complaints } = await open(t, address);
  await page.click("[data-tab=pins]");
  await page.waitForSelector(".drift:has-text('the entry of server')");
  assert.deepEqual(await page.locator(".drift td.gone").allTextContents(), ['    "stdio"']);
  assert.deepEqual(await page.locator(".drift td.new").allTextContents(), ['    "stdio",', '    "--toolsets",', '    "repos,issues,pull_requests"']);
  await axe(page, "drift");
  await page.click("button:has-text('Ask the servers')");
  await page.waitForSelector("#asked .error:has-text('you have not accepted what it starts')");
  await page.click("[data-pane=pins] button:has-text('Compare')");
  await page.waitForSelector("#repinned .drift:has-text('list_issues')");
  assert.equal(await page.locator("[data-pane=pins] img").count(), 0);
  await axe(page, "repinned");
  assert.deepEqual(complaints, []);
});

test("a change, a broken source and a revision", async (t) => {
  const dir = acme();
  const { address } = await start(t, dir);
  const { page, complaints } = await open(t, address);
  const file = join(dir, "modec/modes/ask.cue");
  const text = readFileSync(file, "utf8");
  await page.fill("#filters input[name=differs]", "HEAD");
  await page.waitForSelector("#matrix caption:has-text('0 of 13 subjects that differ from HEAD')");
  writeFileSync(file, text.replace(/\}\s*$/, '\tcan: command: allow: ["ls"]\n}\n'));
  await page.waitForSelector("#matrix caption:has-text('1 of 13 subjects that differ from HEAD')", { timeout: 30000 });
  await page.waitForSelector("#matrix td.changed");
  await axe(page, "differs");
  writeFileSync(file, "package modec\n\nmodes: {");
  await page.waitForSelector("#state .error:has-text('does not compile')", { timeout: 30000 });
  assert.match(await page.textContent("#state"), /modes\/ask\.cue/);
  await page.waitForSelector("#matrix caption:has-text('1 of 13')");
  await axe(page, "broken");
  writeFileSync(file, text);
  await page.waitForSelector("#matrix caption:has-text('0 of 13')", { timeout: 30000 });
  assert.deepEqual(complaints, []);
});

test("by keyboard alone", async (t) => {
  const { address } = await start(t, acme());
  const { page } = await open(t, address);
  await page.waitForSelector("#matrix [tabindex='0'][data-open]");
  let reached = false;
  for (let i = 0; i < 40 && !reached; i++) {
    await page.keyboard.press("Tab");
    reached = await page.evaluate(() => document.activeElement.matches("#matrix [data-open]"));
  }
  assert(reached, "the Tab key does not reach the matrix");
  const at = () => page.evaluate(() => document.activeElement.dataset.open);
  const first = await at();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  const third = await at();
  assert.notEqual(first, third);
  assert.match(third, /group=edit/);
  await page.keyboard.press("Home");
  assert.match(await at(), /^view\/subject/);
  await page.keyboard.press("ArrowUp");
  assert.equal(await at(), first);
  await page.keyboard.press("ArrowUp");
  assert.equal(await at(), first, "the first row has none above");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#detail h2");
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#detail input[name=arg]");
  assert.equal(await page.evaluate(() => document.querySelectorAll("#matrix [data-open][tabindex='0']").length), 1);
});

test("dark, narrow and printed", async (t) => {
  const { address, again } = await start(t, acme());
  const dark = await open(t, address, { colorScheme: "dark" });
  await dark.page.waitForSelector("#matrix td");
  await axe(dark.page, "dark");
  const narrow = await open(t, await again(), { viewport: { width: 360, height: 700 } });
  await narrow.page.waitForSelector("#matrix td");
  await axe(narrow.page, "narrow");
  assert(await narrow.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than a narrow screen");
  await narrow.page.emulateMedia({ media: "print" });
  assert(await narrow.page.evaluate(() => getComputedStyle(document.querySelector("nav")).display === "none"));
});

test("a thousand subjects", async (t) => {
  const dir = folder();
  mkdirSync(join(dir, "modec"));
  writeFileSync(join(dir, "modec.toml"), "[targets.roo]\n[targets.claude]\n");
  const modes = {};
  for (let i = 0; i < 1000; i++) {
    modes[`mode-${i}`] = { name: `Mode ${i}`, roleDefinition: "x", description: "x", can: { read: "allow", edit: { allow: [`docs/${i}/**`] } } };
  }
  writeFileSync(join(dir, "modec/a.json"), JSON.stringify({ modes }));
  const { address } = await start(t, dir);
  const { page, complaints } = await open(t, address);
  await page.waitForSelector("#matrix tbody tr >> nth=999", { timeout: 60000, state: "attached" });
  await page.locator("#matrix tbody tr").last().scrollIntoViewIfNeeded();
  await page.locator("#matrix tbody tr").last().locator("td").first().click();
  await page.waitForSelector("#detail h2:has-text('mode-999')");
  // Rows that are out of sight are not laid out: that is what keeps the scrolling smooth.
  assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector("#matrix tbody tr")).contentVisibility), "auto");
  await page.fill("#filters input[name=q]", "mode-77");
  await page.waitForSelector("#matrix caption:has-text('11 of 1000')");
  assert.deepEqual(complaints, []);
});

test("markup in every text", async (t) => {
  const dir = folder();
  mkdirSync(join(dir, "modec"));
  const bad = `</script><img src=x onerror=alert(1)><b hx-get="/x" hx-trigger="load" data-open="x">"'`;
  writeFileSync(join(dir, "modec.toml"), `name = '''${bad.slice(0, 60)}'''\n[targets.roo]\n[targets.claude]\n`);
  writeFileSync(join(dir, "modec/a.json"), JSON.stringify({
    modes: { m: { name: bad, roleDefinition: bad, description: bad, whenToUse: bad, can: { read: { allow: ["a" + bad.replaceAll(/[<>"'/=]/g, "-")] }, edit: { allow: ["docs/**"] } } } },
    roles: { r: { description: bad, can: { read: { deny: [`x${bad}`] }, command: { allow: [`echo '${bad.replaceAll("'", "")}'`] } } } },
  }));
  const { address } = await start(t, dir);
  const { page, complaints } = await open(t, address);
  await page.waitForSelector("#matrix tbody tr >> nth=1");
  const rows = await page.locator("#matrix [data-open]").all();
  for (const c of rows) {
    await c.click();
    await page.waitForSelector("#detail h2");
  }
  await page.click("[data-tab=losses]");
  await page.waitForSelector("[data-pane=losses] h2");
  assert.equal(await page.evaluate(() => document.querySelectorAll("img, b, [hx-trigger=load][data-open]").length), 0);
  assert.deepEqual(complaints, []);
});

test("who has no key sees nothing", async (t) => {
  const { address, again } = await start(t, acme());
  const server = new URL(address).origin;
  const empty = await open(t, server + "/");
  await empty.page.waitForSelector("#state .error:has-text('has no key')");
  assert.equal(await empty.page.locator("#matrix td").count(), 0);

  const first = await open(t, address);
  await first.page.waitForSelector("#matrix td");
  await first.page.reload();
  await first.page.waitForSelector("#state .error:has-text('has no key')");
  const used = await open(t, address);
  await used.page.waitForSelector("#state .error:has-text('was used')");
  const other = await open(t, await again());
  await other.page.waitForSelector("#matrix td");

  // A page of another origin can neither ask, nor frame it, nor use its address.
  const evil = createServer((req, res) => {
    res.setHeader("Content-Type", "text/html");
    res.end(`<iframe src="${server}/"></iframe><img src="${server}/view/matrix">`);
  });
  await new Promise((done) => evil.listen(0, "127.0.0.1", done));
  t.after(() => evil.close());
  const context = await browser.newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  await page.goto(`http://localhost:${evil.address().port}/`);
  const asked = await page.evaluate(async (server) => {
    const out = {};
    const ask = (name, path, init) => fetch(server + path, init).then((r) => (out[name] = r.type === "opaque" ? "opaque" : r.status), () => (out[name] = "refused"));
    await ask("view", "/view/matrix", { headers: { Authorization: "Bearer x" } });
    await ask("key", "/key", { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"key":"x"}' });
    await ask("simple", "/key", { method: "POST", mode: "no-cors", body: '{"key":"x"}' });
    await ask("script", "/console.js", {});
    return out;
  }, server);
  assert.deepEqual(asked, { view: "refused", key: "refused", simple: "opaque", script: "refused" });
  const frame = page.frames().find((f) => f !== page.mainFrame());
  assert.equal(await frame.locator("h1").count(), 0, "the page can be framed");

  // Another host name for this machine is refused, whatever it asks for.
  const status = await new Promise((done, fail) => {
    import("node:http").then(({ request }) => {
      const r = request(server + "/", { headers: { Host: "evil.example" } }, (res) => done(res.statusCode));
      r.on("error", fail);
      r.end();
    });
  });
  assert.equal(status, 403);
});
