// Compiles the emitted guards with the real packages of both majors, strictly,
// and runs an application on them: what each person is offered and may call is
// what `modec explain` says of the source and the person's claims, never what
// the emitted table says. MODEC_BIN is the binary, MODEC_FIXTURE the showcase.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:http';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as apps from './app.mjs';

const { MODEC_BIN: modec, MODEC_FIXTURE: fixture } = process.env;
const here = dirname(fileURLToPath(import.meta.url));
const temp = mkdtempSync(join(tmpdir(), 'modec-nest-'));
after(() => rmSync(temp, { recursive: true, force: true }));

// The issuer of tokens: its public key is read from where it listens.
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const published = JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'a', use: 'sig' }] });
const issuer = createServer((req, res) => (req.url === '/jwks' ? res.setHeader('content-type', 'application/json').end(published) : res.writeHead(500).end()));
await new Promise((done) => issuer.listen(0, '127.0.0.1', done));
after(() => issuer.close());
const jwks = `http://127.0.0.1:${issuer.address().port}/jwks`;
const jwt = `jwt = true\nissuer = "https://id.example"\naudience = ["shop", "till"]\njwks = "${jwks}"`;

const config = (server, options) => `[targets.mcpnest]\nservers = ["${server}"]\n${options}\n[targets.model]\n`;

// build compiles a copy of a project with other options and returns its folder.
function build(name, from, toml, more = {}) {
  const dir = join(temp, name);
  cpSync(from, dir, { recursive: true });
  for (const [path, text] of Object.entries(more)) writeFileSync(join(dir, path), text);
  writeFileSync(join(dir, 'modec.toml'), toml);
  execFileSync(modec, ['-q', 'build', '-C', dir], { stdio: ['ignore', 'ignore', 'inherit'] });
  return dir;
}

// hostile is a project whose names are hostile to TypeScript and JavaScript.
function hostile(version) {
  const from = join(temp, `hostile-source-${version}`);
  mkdirSync(join(from, 'modec'), { recursive: true });
  const can = { mcp: { odd: 'allow' } };
  writeFileSync(join(from, 'modec', 'project.json'), JSON.stringify({
    servers: { odd: { url: 'http://127.0.0.1/mcp', tools: { ['__proto__']: {}, constructor: {}, toString: {}, 1: {}, '-.-': {} } } },
    roles: {
      ['__proto__']: { claims: { roles: 'a' }, can },
      constructor: { claims: { 'realm.roles': ['b', 'c'] }, can },
      '*/ ${x} `"\'\\ </script> \u2028\u202e👩‍💻': { claims: { 'https://a.example/roles': '</script>\u2029"' }, can },
      7: { claims: { ['__proto__']: 'd' }, can },
      both: { claims: { roles: ['e'], level: ['7'] }, can },
    },
  }));
  return build(`hostile-${version}`, from, config('odd', `version = ${version}`));
}

const guardsOf = (dir) => join(dir, 'mcp-nest/modec');

// compile type-checks folders of sources as strictly as TypeScript can and
// returns where their JavaScript is. sources: path → text, or a folder to copy.
function compile(version, name, sources, options = {}) {
  const gen = join(here, `v${version}`, 'gen', name);
  rmSync(gen, { recursive: true, force: true });
  mkdirSync(gen, { recursive: true });
  for (const [path, source] of Object.entries(sources)) {
    if (existsSync(source)) cpSync(source, join(gen, path), { recursive: true });
    else writeFileSync(join(gen, path), source);
  }
  writeFileSync(join(gen, 'tsconfig.json'), JSON.stringify({
    compilerOptions: {
      strict: true, noImplicitOverride: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true, noImplicitReturns: true,
      noFallthroughCasesInSwitch: true, noPropertyAccessFromIndexSignature: true, noUnusedParameters: true, isolatedModules: true,
      target: 'es2022', module: 'commonjs', moduleResolution: 'node', ignoreDeprecations: '5.0',
      experimentalDecorators: true, emitDecoratorMetadata: true, skipLibCheck: true, esModuleInterop: true, outDir: 'dist', rootDir: '.', types: ['node'], ...options,
    },
    include: ['**/*.ts'],
  }));
  const tsc = spawnSync(join(here, `v${version}`, 'node_modules/.bin/tsc'), ['-p', gen], { encoding: 'utf8' });
  assert.equal(tsc.status, 0, `tsc --strict: ${tsc.stdout}`);
  return join(gen, 'dist');
}

// start runs an application until it is ready.
async function start(file) {
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  child.stderr.on('data', (d) => (log += d));
  const port = await new Promise((done) => {
    child.stdout.on('data', (d) => {
      log += d;
      const m = /^READY (\d+)$/m.exec(log);
      if (m) done(m[1]);
    });
    child.on('close', () => done(undefined));
  });
  assert.ok(port, `the application does not start: ${log}`);
  return { url: `http://127.0.0.1:${port}`, stop: () => child.kill() };
}

function token(claims, { key = privateKey, alg = 'RS256', ...standard } = {}) {
  const part = (o) => Buffer.from(JSON.stringify(o)).toString('base64url');
  const head = `${part({ alg, typ: 'JWT', kid: 'a' })}.${part({ iss: 'https://id.example', exp: Math.floor(Date.now() / 1000) + 600, aud: 'shop', ...claims, ...standard })}`;
  // Who has the public key can make this: a verifier that believes the token's alg takes it.
  if (alg === 'HS256') return `${head}.${createHmac('sha256', publicKey.export({ type: 'spki', format: 'pem' })).update(head).digest('base64url')}`;
  return `${head}.${sign('RSA-SHA256', Buffer.from(head), key).toString('base64url')}`;
}

async function rpc(app, bearer, method, params = {}, headers = {}) {
  const res = await fetch(`${app.url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...(bearer && { authorization: `Bearer ${bearer}` }), ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const text = await res.text();
  const data = /^data: (.*)$/m.exec(text);
  return { status: res.status, challenge: res.headers.get('www-authenticate'), body: JSON.parse(data ? data[1] : text) };
}

const listed = ({ body }) => [...new Set(body.result.tools.map((t) => t.name))].sort(); // one is registered twice

// The revision of 2026-07-28 has no sessions: each request says who asks.
const modern = {
  params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 'e2e', version: '1' }, 'io.modelcontextprotocol/clientCapabilities': {} } },
  headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' },
};

// more are roles beside those of the showcase: of everybody, of everybody with a
// token, by the words of a scope, by a number and a boolean, and those that
// differ in what they may do with resources and prompts.
const more = { 'modec/roles/more.cue': `package modec

roles: visitor: {claims: "anyone", can: mcp: {default: "deny", shop: {allow: ["search_products"], default: "deny"}}}
roles: member: {claims: "authenticated", can: mcp: {default: "deny", shop: {allow: ["get_product"], default: "deny"}}}
roles: scoped: {claims: scope: ["orders:read", "orders:admin"], can: mcp: {default: "deny", shop: {allow: ["list_orders"], default: "deny"}}}
roles: leveled: {claims: {level: [7, 8], staff: true}, can: mcp: {default: "deny", shop: {allow: ["update_stock"], default: "deny"}}}
roles: resident: {claims: roles: "resident", can: mcp: {default: "deny", shop: "allow"}}
roles: quiet: {claims: roles: "quiet", can: mcp: {default: "deny", shop: {default: "allow", resources: "deny"}}}
` };

// source returns the tools of the shop and, for claims, those that the source
// lets a person call: the roles from the model, the decisions from explain. A
// server cannot ask: of what the source asks about, it refuses the destructive.
function source(dir) {
  const model = JSON.parse(readFileSync(join(dir, 'modec.model.json'), 'utf8'));
  const tools = model.servers.find((s) => s.name === 'shop').tools;
  const may = Object.fromEntries(model.roles.map((role) => [role.name, tools.filter((tool) => {
    const { stdout } = spawnSync(modec, ['explain', `role:${role.name}`, 'mcp', `shop:${tool.name}`, '-C', dir, '--json'], { encoding: 'utf8' });
    const { decision } = JSON.parse(stdout);
    return decision === 'allow' || (decision === 'ask' && tool.risk !== 'destructive');
  }).map((t) => t.name)]));
  const words = (claim, value) => [value].flat().flatMap((v) => (claim === 'scope' && typeof v === 'string' ? v.split(' ') : [`${v}`]));
  const holds = (role, claims) => {
    if (role.principals) return role.principals === 'anyone' || claims !== undefined;
    return claims !== undefined && Object.keys(role.claims ?? {}).length > 0
      && Object.entries(role.claims).every(([claim, values]) => words(claim, claims[claim]).some((v) => values.includes(v)));
  };
  return {
    names: tools.map((t) => t.name),
    roles: model.roles,
    allowed: (claims) => [...new Set(model.roles.filter((r) => holds(r, claims)).flatMap((r) => may[r.name]))].sort(),
  };
}

// people are sets of claims: each role in full and by all but one of its claims,
// two roles at once, those who have none, and who has no token.
function people(roles) {
  const full = (r) => Object.fromEntries(Object.entries(r.claims).map(([c, values]) => [c, [values.at(-1)]]));
  const list = [
    ['nobody', undefined], ['a member', {}], ['a stranger', { roles: ['stranger'] }], ['an empty list', { roles: [] }],
    ['an odd one', { roles: [{ roles: 'developer' }, null, 7], department: {} }], ['a role as text', { roles: 'developer' }],
    // What MCP-Nest 2 looks at beside the claims, and what JavaScript does.
    ['user data', { user_data: { roles: ['developer', 'auditor'] } }], ['a prototype', { roles: ['__proto__', 'nobody', 'modec:nobody'] }],
    ['scopes', { scope: 'openid orders:read profile' }], ['another scope', { scope: 'orders:reader orders' }], ['a list of scopes', { scope: ['orders:admin'] }],
    ['scopes by another name', { scopes: ['orders:read'] }],
    ['a number', { level: 7, staff: true }], ['a number as text', { level: '8', staff: 'true' }], ['a number alone', { level: 7, staff: false }], ['a near number', { level: 7.5, staff: true }],
  ];
  for (const r of roles.filter((r) => r.claims)) {
    list.push([r.name, full(r)]);
    if (Object.keys(r.claims).length < 2) continue;
    for (const missing of Object.keys(r.claims)) list.push([`${r.name} without ${missing}`, { ...full(r), [missing]: undefined }]);
  }
  const [a, b] = roles.filter((r) => Object.keys(r.claims ?? {}).join() === 'roles');
  list.push([`${a.name} and ${b.name}`, { roles: [a.claims.roles[0], b.claims.roles[0]] }]);
  return list;
}

for (const version of [2, 1]) {
  test(`MCP-Nest ${version}: every person is offered and may call what the source says`, async (t) => {
    const dir = build(`shop-${version}`, fixture, config('shop', `version = ${version}\n${jwt}`), more);
    const { names, roles, allowed } = source(dir);
    const sources = { modec: guardsOf(dir), 'main.ts': apps.serve[version](names), 'judge.ts': apps.judge(version), hostile: guardsOf(hostile(version)) };
    const dist = compile(version, 'app', sources);

    const app = await start(join(dist, 'main.js'));
    try {
      const calls = async () => (await fetch(`${app.url}/calls`)).json();
      const everything = {};
      for (const [claim, values] of roles.flatMap((r) => Object.entries(r.claims ?? {}))) everything[claim] = [...(everything[claim] ?? []), ...values];
      const forged = [{}, { user: everything }, { ...everything, claims: everything, request: { user: everything } }];
      let refused = 0;
      let served = 0;
      for (const [person, claims] of people(roles)) {
        const bearer = claims && token(claims);
        const may = allowed(claims);
        assert.deepEqual(listed(await rpc(app, bearer, 'tools/list')), may, `${person} is listed`);
        if (version === 2) assert.deepEqual(listed(await rpc(app, bearer, 'tools/list', modern.params, modern.headers)), may, `${person} is listed (2026-07-28)`);
        for (const name of names) {
          for (const args of forged) {
            const before = (await calls())[name] ?? 0;
            const { body } = await rpc(app, bearer, 'tools/call', { name, arguments: args, user: everything }, { user: JSON.stringify(everything), roles: 'developer' });
            assert.equal(body.error === undefined && body.result?.isError !== true, may.includes(name), `${person} calls ${name} with ${JSON.stringify(args)}: ${JSON.stringify(body)}`);
            assert.equal(((await calls())[name] ?? 0) - before, may.includes(name) ? 1 : 0, `${person}: the handler of ${name}`);
            may.includes(name) ? served++ : refused++;
          }
          if (version === 2) {
            const { body } = await rpc(app, bearer, 'tools/call', { ...modern.params, name, arguments: forged[1] }, { ...modern.headers, 'mcp-method': 'tools/call', 'mcp-name': name });
            assert.equal(body.error === undefined && body.result?.isError !== true, may.includes(name), `${person} calls ${name} (2026-07-28): ${JSON.stringify(body)}`);
          }
        }
      }
      assert.ok(served > 0 && refused > 0, `served ${served}, refused ${refused}`);

      // A hidden name is answered as one that nobody has heard of, to the letter.
      const same = async (bearer, method, key, hidden, unheard, what) => {
        const [a, b] = await Promise.all([hidden, unheard].map((name) => rpc(app, bearer, method, { [key]: name })));
        assert.ok(b.body.error, `${what}: ${JSON.stringify(b.body)}`);
        assert.equal(JSON.stringify(a).replaceAll(hidden, unheard), JSON.stringify(b), what);
        if (version !== 2) return;
        const [c, d] = await Promise.all([hidden, unheard].map((name) => rpc(app, bearer, method, { ...modern.params, [key]: name }, { ...modern.headers, 'mcp-method': method, 'mcp-name': name })));
        assert.equal(JSON.stringify(c).replaceAll(hidden, unheard), JSON.stringify(d), `${what} (2026-07-28)`);
      };
      const clerk = token({ roles: ['ci'] });
      for (const bearer of [clerk, undefined]) {
        await same(bearer, 'tools/call', 'name', 'refund_order', 'no_such_tool', 'a tool');
        await same(bearer, 'tools/call', 'name', 'unheard_of', 'no_such_tool', 'a tool of no policy');
        await same(bearer, 'resources/read', 'uri', 'mcp://motd', 'mcp://none', 'a resource');
        await same(bearer, 'resources/read', 'uri', 'shop://7', 'void://7', 'a template');
        await same(bearer, 'prompts/get', 'name', 'greet', 'none', 'a prompt');
      }
      assert.equal((await calls()).unheard_of, undefined);
      const others = async (bearer) => {
        const items = [];
        for (const [method, key] of [['resources/list', 'resources'], ['resources/templates/list', 'resourceTemplates'], ['prompts/list', 'prompts']]) {
          const { body } = await rpc(app, bearer, method);
          items.push(...body.result[key].map((i) => i.name));
        }
        for (const [method, params] of [['resources/read', { uri: 'mcp://motd' }], ['resources/read', { uri: 'shop://7' }], ['prompts/get', { name: 'greet', arguments: {} }]]) {
          const { body } = await rpc(app, bearer, method, params);
          if (body.result && JSON.stringify(body.result).includes('secret')) items.push(`${Object.values(params)[0]}`);
        }
        return items.join(' ');
      };
      assert.equal(await others(token({ roles: ['resident'] })), 'motd item greet mcp://motd shop://7 greet');
      assert.equal(await others(token({ roles: ['quiet'] })), 'greet greet');
      assert.equal(await others(token({ roles: ['stranger'] })), '');
      assert.equal(await others(undefined), '');

      for (const [what, bearer] of [
        ['another key', token({ roles: ['developer'] }, { key: stranger })],
        ['the public key as a secret', token({ roles: ['developer'] }, { alg: 'HS256' })],
        ['no signature', token({ roles: ['developer'] }).replace(/[^.]*$/, '')],
        ['alg none, unsigned', token({ roles: ['developer'] }, { alg: 'none' }).replace(/[^.]*$/, '')],
        ['alg none, signed', token({ roles: ['developer'] }, { alg: 'none' })],
        ['expired', token({ roles: ['developer'] }, { exp: 1 })],
        ['not yet', token({ roles: ['developer'] }, { nbf: 4e9 })],
        ['no expiry', token({ roles: ['developer'] }, { exp: undefined })],
        ['another audience', token({ roles: ['developer'] }, { aud: 'billing' })],
        ['another issuer', token({ roles: ['developer'] }, { iss: 'https://evil.example' })],
        ['nothing', ' '],
      ]) {
        for (const [method, params, headers] of [['tools/list'], ['tools/call', { name: names[0], arguments: {} }], ['tools/list', modern.params, modern.headers]]) {
          const answer = await rpc(app, bearer, method, params, headers);
          assert.equal(answer.status, 401, `${what}: ${method}`);
          assert.equal(answer.challenge, 'Bearer error="invalid_token"', what);
        }
      }
      assert.deepEqual(listed(await rpc(app, token({ roles: ['ci'] }, { aud: ['x', 'till'] }), 'tools/list')), allowed({ roles: ['ci'] }), 'one of several audiences');
    } finally {
      app.stop();
    }

    await t.test('assertPolicy takes what is the policy and refuses the rest', () => {
      const said = execFileSync(process.execPath, [join(dist, 'judge.js')], { encoding: 'utf8' }).trim().split('\n').map((line) => JSON.parse(line));
      const want = Object.fromEntries(Object.entries(apps.wrong[version]).map(([name, a]) => [name, a.says]));
      if (version === 2) {
        want.sessions = 'modec: a session may answer as another principal: the transport needs statefulMode: false';
        want.stepUp = 'modec: stepUpAuthorization tells of tools that are hidden: leave it out';
        want.cached = "modec: lists differ by principal: no cacheScope may be 'public'";
        want.cachedApart = 'accepted';
      }
      assert.deepEqual(Object.fromEntries(said), want);
    });

    await t.test('hostile names arrive as they are, and only own claims of the right kind count', () => {
      const { holds, ROLE_CLAIMS, TOOL_POLICY } = createRequire(import.meta.url)(join(dist, 'hostile/index.js'));
      const model = JSON.parse(readFileSync(join(temp, `hostile-${version}`, 'modec.model.json'), 'utf8'));
      const sorted = (o) => Object.keys(o).sort();
      assert.deepEqual(sorted(ROLE_CLAIMS), model.roles.map((r) => r.name).sort());
      assert.deepEqual(sorted(TOOL_POLICY), model.servers[0].tools.map((x) => x.name).sort());
      for (const tool of sorted(TOOL_POLICY)) assert.deepEqual([...TOOL_POLICY[tool].roles].sort(), sorted(ROLE_CLAIMS));
      const odd = sorted(ROLE_CLAIMS).find((r) => r.startsWith('*/'));
      for (const [user, role, want] of [
        [{ roles: ['a'] }, '__proto__', true],
        [{ roles: 'a' }, '__proto__', true],
        [{ roles: 'ab' }, '__proto__', false],
        [{ roles: ['A'] }, '__proto__', false],
        [{ roles: { 0: 'a', length: 1 } }, '__proto__', false],
        [{ roles: [['a']] }, '__proto__', false],
        [Object.create({ roles: ['a'] }), '__proto__', false],
        [undefined, '__proto__', false],
        [null, '__proto__', false],
        ['a', '__proto__', false],
        [{ realm: { roles: ['c'] } }, 'constructor', true],
        [{ 'realm.roles': 'b' }, 'constructor', true],
        [{ 'realm.roles': 'no', realm: { roles: 'b' } }, 'constructor', false],
        [{ realm: 'roles' }, 'constructor', false],
        [{ 'https://a.example/roles': ['</script>\u2029"'] }, odd, true],
        [{ 'https://a.example/roles': ['</script>'] }, odd, false],
        [JSON.parse('{"__proto__": "d"}'), '7', true],
        [{}, '7', false],
        [{ roles: ['e'], level: ['7'] }, 'both', true],
        [{ roles: ['e'], level: 7 }, 'both', true],
        [{ roles: ['e'], level: 7.5 }, 'both', false],
        [{ roles: ['e'], level: { 0: '7' } }, 'both', false],
        [{ roles: ['e'] }, 'both', false],
      ]) {
        assert.equal(holds(user, role), want, `${JSON.stringify(user)} as ${role}`);
      }
    });
  });

  test(`MCP-Nest ${version}: ECMAScript modules`, () => {
    const dir = build(`module-${version}`, fixture, config('shop', `version = ${version}\nextension = "js"`));
    compile(version, 'module', { modec: guardsOf(dir), 'package.json': '{"type": "module"}' }, { module: 'nodenext', moduleResolution: 'nodenext', noEmit: true });
  });
}

// What an application gives its server by itself is behind the policy too.
for (const version of [2, 1]) {
  test(`MCP-Nest ${version}: what serverMutator registers, and an issuer that does not answer`, async () => {
    const dir = build(`mutated-${version}`, fixture, config('shop', `version = ${version}\n${jwt.replace('/jwks', '/broken')}`), more);
    const dist = compile(version, 'mutated', { modec: guardsOf(dir), 'main.ts': apps.mutated[version] });
    const app = await start(join(dist, 'main.js'));
    try {
      for (const [method, params] of [['prompts/list'], ['resources/list']]) assert.doesNotMatch(JSON.stringify(await rpc(app, undefined, method, params)), /mutated/, method);
      for (const [method, params] of [['prompts/get', { name: 'mutated' }], ['resources/read', { uri: 'mcp://mutated' }]]) {
        const { body } = await rpc(app, undefined, method, params);
        assert.match(body.error.message, /Unknown (prompt: mutated|resource: mcp:\/\/mutated)$/, method);
      }
      assert.equal((await rpc(app, token({ roles: ['resident'] }), 'tools/list')).status, 503, 'the keys cannot be read');
    } finally {
      app.stop();
    }
  });
}

// The application of the manual is typed as it stands; only the addresses of the issuer are those of this test.
test('the application of modec help targets', async () => {
  const help = execFileSync(modec, ['help', 'targets'], { encoding: 'utf8' });
  const block = (first) => help.slice(help.indexOf(`\n    ${first}\n`)).split(/\n(?=\S)/)[0].replaceAll('\n    ', '\n');
  const dir = join(temp, 'manual');
  mkdirSync(join(dir, 'modec'), { recursive: true });
  mkdirSync(join(dir, 'src'));
  writeFileSync(join(dir, 'modec.toml'), block('[targets.mcpnest]').replace('https://id.example.com/.well-known/jwks.json', jwks));
  writeFileSync(join(dir, 'modec', 'shop.cue'), block('package modec'));
  writeFileSync(join(dir, 'src', 'main.ts'), block("import 'reflect-metadata';"));
  execFileSync(modec, ['-q', 'build', '-C', dir], { stdio: ['ignore', 'ignore', 'inherit'] });
  const lint = spawnSync(modec, ['lint', '-C', dir], { encoding: 'utf8' });
  assert.equal(lint.status, 0, lint.stdout + lint.stderr);
  const dist = compile(2, 'manual', { src: join(dir, 'src'), 'mcp-nest': join(dir, 'mcp-nest') });
  const port = await new Promise((done) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
  const child = spawn(process.execPath, [join(dist, 'src', 'main.js')], { env: { ...process.env, PORT: `${port}` }, stdio: ['ignore', 'pipe', 'inherit'] });
  const app = { url: `http://127.0.0.1:${port}` };
  try {
    await new Promise((done, fail) => {
      child.stdout.on('data', (d) => `${d}`.includes('successfully started') && done());
      child.on('close', () => fail(new Error('the application does not start')));
    });
    const clerk = token({ roles: ['clerk'] }, { iss: 'https://id.example.com/', aud: 'https://shop.example.com/mcp' });
    while (!(await fetch(app.url).catch(() => undefined)));
    assert.deepEqual(listed(await rpc(app, undefined, 'tools/list')), ['get_product']);
    assert.deepEqual(listed(await rpc(app, clerk, 'tools/list')), ['get_product', 'set_price']);
    const set = { name: 'set_price', arguments: { id: '7' } };
    assert.equal((await rpc(app, clerk, 'tools/call', set)).body.result.content[0].text, 'Set the price of 7');
    assert.equal((await rpc(app, undefined, 'tools/call', set)).body.error.message, 'Unknown tool: set_price');
  } finally {
    child.kill();
  }
});
