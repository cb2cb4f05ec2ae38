// How long the showcase takes in a real browser: from the start of modec ui to its first paint, and from a click to the
// preview of an edit. The best of several runs counts, and a machine with more to do than it has cores may take that much
// longer.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { availableParallelism, loadavg } from "node:os";
import { test } from "node:test";
import { acme, bin, open, start } from "./page.mjs";

test("the first paint and a preview", async (t) => {
  const paints = [];
  const matrices = [];
  const dir = acme();
  for (let i = 0; i < 5; i++) {
    const begun = performance.now();
    const { address, child } = await start(t, dir);
    const started = performance.now() - begun;
    const { page } = await open(t, address);
    await page.waitForSelector("#matrix td");
    const [paint, matrix] = await page.evaluate(() => new Promise((done) => {
      const filled = performance.getEntriesByType("resource").find((r) => r.name.includes("view/matrix")).responseEnd;
      const look = () => {
        const first = performance.getEntriesByName("first-contentful-paint")[0];
        return first ? done([first.startTime, filled]) : requestAnimationFrame(look);
      };
      look();
    }));
    paints.push(started + paint);
    matrices.push(started + matrix);
    child.kill();
  }
  const { address } = await start(t, dir, "--write");
  const { page } = await open(t, address);
  await page.click("[data-tab=edit]");
  await page.waitForSelector("#rule");
  await page.selectOption("#rule-group", "command");
  await page.selectOption("#rule-list", "deny");
  const previews = [];
  for (let i = 0; i < 8; i++) {
    await page.fill("#rule-pattern", `make ${i}`);
    await page.waitForFunction(() => !document.querySelector(".htmx-request")); // verify, of the last one
    previews.push(await page.evaluate((i) => new Promise((done) => {
      const begun = performance.now();
      new MutationObserver((_, o) => {
        if (!document.querySelector("#proposal .patch")?.textContent.includes(`make ${i}`)) return;
        o.disconnect();
        done(performance.now() - begun);
      }).observe(document.getElementById("editor"), { childList: true, subtree: true });
      document.querySelector("#rule button").click();
    }), i));
  }
  const best = (list) => Math.round(Math.min(...list));
  t.diagnostic(`first paint ${best(paints)} ms after the start of the program, the matrix ${best(matrices)} ms; a preview ${best(previews)} ms`);
  t.diagnostic(`all: ${[paints, matrices, previews].map((l) => l.map(Math.round).join(" ")).join("; ")}`);
  // What is busy since less than a minute shows in how long the program alone takes: 12 ms where nothing else runs.
  const alone = [...Array(5)].map(() => {
    const begun = performance.now();
    execFileSync(bin, ["--version"]);
    return performance.now() - begun;
  });
  const busy = Math.max(1, loadavg()[0] / availableParallelism(), best(alone) / 12);
  assert(best(paints) <= 250 * busy, `the first paint took ${paints} on a machine that is ${busy} times busy`);
  assert(best(previews) <= 300 * busy, `a preview took ${previews} on a machine that is ${busy} times busy`);
});
