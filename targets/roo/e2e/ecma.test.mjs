// Holds modec's parser and matcher of regular expressions (compiler/ecma) against the
// engine itself: testdata/patterns.json is what they say.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const cases = JSON.parse(readFileSync(new URL('../../../compiler/ecma/testdata/patterns.json', import.meta.url), 'utf8'));

test('a text is a pattern, and matches, where modec says so', () => {
  let valid = 0;
  for (const c of cases.patterns) {
    let re;
    try {
      re = new RegExp(c.source, c.fold ? 'i' : '');
    } catch (e) {
      assert.equal(c.match, null, `${c.source}: ${e.message}`);
      continue;
    }
    assert.notEqual(c.match, null, `${c.source} is a pattern`);
    (c.texts ?? cases.texts).forEach((s, i) => {
      assert.equal(re.test(s), c.match[i] === '1', `${re} on ${JSON.stringify(s)}`);
    });
    valid++;
  }
  assert.ok(valid > 2000 && valid < cases.patterns.length - 1000, `${valid} of ${cases.patterns.length} are patterns`);
});
