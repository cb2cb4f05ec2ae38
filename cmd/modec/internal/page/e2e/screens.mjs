// Makes the pictures of the page for the README: `make screens`.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { acme, here, open, start } from "./page.mjs";

const to = join(here, "../screens");

test("the pictures of the README", async (t) => {
  mkdirSync(to, { recursive: true });
  const { address } = await start(t, acme(), "--write");
  const { page } = await open(t, address, { viewport: { width: 1180, height: 620 }, colorScheme: "light" });
  await page.locator("#matrix tr", { hasText: "role developer" }).locator("td").nth(2).click();
  await page.waitForSelector("#detail table");
  await page.evaluate(() => document.activeElement.blur());
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: join(to, "matrix.png") });
  await page.click("[data-tab=edit]");
  await page.selectOption("#edit-of", "mode docs-writer");
  await page.waitForSelector("#said h2:has-text('docs-writer')");
  await page.selectOption("#rule-group", "mcp");
  await page.fill("#rule-server", "github");
  await page.selectOption("#rule-list", "deny");
  await page.fill("#rule-pattern", "*issue*");
  await page.click("#rule button");
  await page.waitForSelector("#verdict .allow", { timeout: 20000 });
  await page.fill("#rule-server", "github");
  await page.fill("#rule-pattern", "@write");
  await page.waitForSelector("#match li");
  await page.evaluate(() => { document.activeElement.blur(); document.getElementById("h-rule").scrollIntoView(); scrollBy(0, -20); });
  await page.screenshot({ path: join(to, "edit.png") });
});
