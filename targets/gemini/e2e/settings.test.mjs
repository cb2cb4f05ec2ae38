// Holds the model of Gemini CLI's settings against its own engine: testdata/settings.json is what the model takes the
// engine to answer (go test ./targets/gemini/model -run TestSettings -update writes it).
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bySettings, decide } from './engine.mjs';

const here = dirname(fileURLToPath(import.meta.url));

test('what settings decide', async () => {
  const differ = [];
  let n = 0;
  for (const { Settings, Calls } of JSON.parse(readFileSync(join(here, 'testdata/settings.json'), 'utf8'))) {
    const engine = await bySettings(Settings, mkdtempSync(join(tmpdir(), 'modec-gemini-')));
    for (const [tool, server, args, want] of Calls) {
      n++;
      const got = await decide(engine, tool, server, args);
      if (got !== want) differ.push(`${JSON.stringify(Settings)} ${tool} ${server} ${JSON.stringify(args)}: the engine says ${got}, the model ${want}`);
    }
  }
  assert.deepEqual(differ, []);
  assert.ok(n > 200, `asked ${n} times`);
});
