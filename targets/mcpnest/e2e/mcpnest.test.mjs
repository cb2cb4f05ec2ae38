// Compiles the emitted guards with the real packages of both majors, strictly,
// and runs an application on them: what each person is offered and may call is
// what the source says. MODEC_BIN is the binary, MODEC_FIXTURE the showcase.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as apps from './app.mjs';

const { MODEC_BIN: modec, MODEC_FIXTURE: fixture } = process.env;
const here = dirname(fileURLToPath(import.meta.url));

// project compiles the showcase for one major and returns its model and guards.
function project(version) {
  const dir = mkdtempSync(join(tmpdir(), 'modec-nest-'));
  cpSync(fixture, dir, { recursive: true });
  writeFileSync(join(dir, 'modec.toml'), `baseline = "developer"\n[targets.mcpnest]\nservers = ["shop"]\nversion = ${version}\n[targets.model]\n`);
  execFileSync(modec, ['-q', 'build', '-C', dir], { stdio: ['ignore', 'ignore', 'inherit'] });
  return dir;
}

// compile type-checks the guards and an application around them.
function compile(version, guards, name, source) {
  const gen = join(here, `v${version}`, 'gen', name);
  rmSync(gen, { recursive: true, force: true });
  mkdirSync(gen, { recursive: true });
  cpSync(guards, join(gen, 'modec'), { recursive: true });
  writeFileSync(join(gen, 'main.ts'), source);
  writeFileSync(join(gen, 'tsconfig.json'), JSON.stringify({
    compilerOptions: { strict: true, noImplicitOverride: true, noUncheckedIndexedAccess: true, target: 'es2022', module: 'commonjs', moduleResolution: 'node', ignoreDeprecations: '5.0', experimentalDecorators: true, emitDecoratorMetadata: true, isolatedModules: true, skipLibCheck: true, esModuleInterop: true, outDir: 'dist', types: ['node'] },
    include: ['main.ts', 'modec/*.ts'],
  }));
  try {
    execFileSync(join(here, `v${version}`, 'node_modules/.bin/tsc'), ['-p', gen], { encoding: 'utf8', stdio: 'pipe' });
  } catch (e) {
    assert.fail(`tsc --strict: ${e.stdout}`);
  }
  return join(gen, 'dist', 'main.js');
}

// start runs an application until it is ready or refuses.
async function start(file) {
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'pipe'] });
  const app = { log: '', stop: () => child.kill() };
  child.stderr.on('data', (d) => (app.log += d));
  const line = await new Promise((done) => {
    child.stdout.on('data', (d) => {
      app.log += d;
      const m = /^(READY|REFUSED) (.*)$/m.exec(app.log);
      if (m) done(m);
    });
    child.on('close', () => done(['', 'CLOSED', app.log]));
  });
  app.state = line[1];
  app.message = line[2];
  app.url = `http://127.0.0.1:${line[2]}/mcp`;
  return app;
}

function token(claims, secret = 'secret') {
  const part = (o) => Buffer.from(JSON.stringify(o)).toString('base64url');
  const head = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`;
  return `${head}.${createHmac('sha256', secret).update(head).digest('base64url')}`;
}

async function rpc(app, bearer, method, params) {
  const res = await fetch(app.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', authorization: `Bearer ${bearer}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const text = await res.text();
  const data = /^data: (.*)$/m.exec(text);
  return { status: res.status, body: JSON.parse(data ? data[1] : text) };
}

const called = async (app, name) => {
  await new Promise((done) => setTimeout(done, 20)); // what the handler wrote arrives
  return app.log.split('\n').filter((l) => l === `CALLED ${name}`).length;
};

for (const version of [2, 1]) {
  test(`MCP-Nest ${version}: every person is offered and may call what the source says`, async () => {
    const dir = project(version);
    const guards = join(dir, 'mcp-nest/modec');
    const model = JSON.parse(readFileSync(join(dir, 'modec.model.json'), 'utf8'));
    const names = model.servers.find((s) => s.name === 'shop').tools.map((t) => t.name);
    const app = await start(compile(version, guards, 'app', apps[`v${version}`](names)));
    try {
      assert.equal(app.state, 'READY', app.message);
      const { TOOL_POLICY, ROLE_CLAIMS } = (await import(join(here, `v${version}`, 'gen/app/dist/modec/policy.js'))).default;
      const people = [['nobody', {}], ['a stranger', { roles: ['stranger'] }], ...Object.entries(ROLE_CLAIMS).map(([r, claims]) => [r, Object.fromEntries(Object.entries(claims).map(([c, v]) => [c, [v[0]]]))])];
      let compared = 0;
      for (const [person, claims] of people) {
        const bearer = token(claims);
        const list = (await rpc(app, bearer, 'tools/list')).body.result.tools.map((t) => t.name);
        for (const name of names) {
          const may = TOOL_POLICY[name].roles.some((r) => Object.entries(ROLE_CLAIMS[r]).every(([c, v]) => (claims[c] ?? []).some((x) => v.includes(x))));
          if (TOOL_POLICY[name].hidden || version === 1) assert.equal(list.includes(name), may, `${person}: ${name} listed`);
          for (const args of [{}, { user: { roles: Object.values(ROLE_CLAIMS).flatMap((c) => c.roles ?? []) } }]) {
            const before = await called(app, name);
            const { body } = await rpc(app, bearer, 'tools/call', { name, arguments: args });
            assert.equal(body.error === undefined && body.result?.isError !== true, may, `${person}: ${name} ${JSON.stringify(body)}`);
            assert.equal((await called(app, name)) - before, may ? 1 : 0, `${person}: ${name} ran`);
            compared++;
          }
        }
      }
      assert.ok(compared >= 2 * names.length * 4);
      assert.equal((await rpc(app, token({ roles: ['developer'] }, 'forged'), 'tools/list')).status, 401);
    } finally {
      app.stop();
    }
  });

  test(`MCP-Nest ${version}: assertPolicy refuses what is not the policy`, async () => {
    const guards = join(project(version), 'mcp-nest/modec');
    const wrong = (decorate) => apps[`v${version}`](['list_orders', 'get_order'], decorate);
    for (const [name, source, message] of [
      ['undecorated', wrong((n) => (n === 'get_order' ? '' : `@ToolPolicyFor(${JSON.stringify(n)})`)), /"get_order" has no @ToolPolicyFor/],
      ['swapped', wrong(() => `@ToolPolicyFor('list_orders')`), /"get_order" has the decorator of "list_orders"/],
      ['unknown', apps[`v${version}`](['list_orders', 'drop_all'], (n) => `@ToolPolicyFor('list_orders')`), /"drop_all" is not in the policy/],
    ]) {
      const app = await start(compile(version, guards, name, source));
      app.stop();
      assert.equal(app.state, 'REFUSED', name);
      assert.match(app.message, message);
    }
  });
}
