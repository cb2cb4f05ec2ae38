// Loads VS Code's own approver of commands, with its parser of lines, and its globs, from the packages that publish the
// workbench. What belongs to a window is nothing; settings, and the services that ask a person, are those of a call.
// It answers the cases of standard input into a file, and ends: the workbench would go on waiting for a window.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire, register } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const modules = join(import.meta.dirname, 'node_modules');
register('./loader.mjs', import.meta.url);

const nothing = () =>
  new Proxy(function () {}, {
    get: (_, key) => (key === Symbol.toPrimitive ? () => '' : key === 'then' ? undefined : key === 'length' ? 0 : key === Symbol.iterator ? function* () {} : nothing()),
    apply: () => nothing(),
    construct: () => nothing(),
    set: () => true,
  });
const ofWindows = `CSS CSSStyleSheet ClipboardEvent CustomEvent DOMParser DragEvent Element FocusEvent FontFace HTMLAudioElement HTMLDivElement
  HTMLElement HTMLImageElement HTMLInputElement HTMLVideoElement Image IntersectionObserver KeyboardEvent MouseEvent
  MutationObserver Node PointerEvent ResizeObserver SVGElement ShadowRoot StorageEvent TouchEvent UIEvent WheelEvent Worker
  customElements document getComputedStyle history indexedDB localStorage matchMedia requestAnimationFrame screen`;
for (const name of ofWindows.split(/\s+/)) globalThis[name] ??= nothing();
globalThis.window ??= globalThis;
globalThis.self ??= globalThis;
globalThis.location ??= { href: 'http://x/', hash: '', search: '', protocol: 'http:', host: 'x', origin: 'http://x', pathname: '/' };
globalThis.addEventListener ??= () => {};
globalThis.removeEventListener ??= () => {};
globalThis.navigator ??= { userAgent: 'node', language: 'en', maxTouchPoints: 0, platform: 'Linux' };

const load = (pack, file) => import(pathToFileURL(join(modules, '@codingame', pack, 'vscode/src/vs', file)).href);
const tools = 'workbench/contrib/terminalContrib/chatAgentTools/';
const chat = (file) => load('monaco-vscode-chat-service-override', tools + 'browser/' + file);
const { CommandLineAutoApprover } = await chat('tools/commandLineAnalyzer/autoApprove/commandLineAutoApprover.js');
const { CommandLineAutoApproveAnalyzer } = await chat('tools/commandLineAnalyzer/commandLineAutoApproveAnalyzer.js');
const { TreeSitterCommandParser } = await chat('treeSitterCommandParser.js');
const settings = await load('monaco-vscode-api', tools + 'common/terminalChatAgentToolsConfiguration.js');
const { parse } = await load('monaco-vscode-api', 'base/common/glob.js');

const wasm = join(modules, '@vscode/tree-sitter-wasm/wasm');
const sitter = createRequire(import.meta.url)('@vscode/tree-sitter-wasm/wasm/tree-sitter.js');
await sitter.Parser.init({ locateFile: () => join(wasm, 'tree-sitter.wasm') });
const bash = await sitter.Language.load(join(wasm, 'tree-sitter-bash.wasm'));
const parser = new TreeSitterCommandParser({
  getParserClass: async () => sitter.Parser,
  getLanguagePromise: async () => bash,
  getLanguage: async () => bash,
  createQuery: async (_, query) => new sitter.Query(bash, query),
});

const id = settings.TerminalChatAgentToolsSettingId;
const own = settings.terminalChatAgentToolsConfiguration[id.AutoApprove].default;

// approver returns what VS Code does with lines by the settings of a project: "allow" where it runs one unasked, else "ask".
function approver(project) {
  const workspaceValue = project[id.AutoApprove] ?? {};
  const values = { [id.EnableAutoApprove]: true, [id.IgnoreDefaultAutoApproveRules]: false, ...project, [id.AutoApprove]: { ...own, ...workspaceValue } };
  const configuration = {
    getValue: (key) => values[key],
    inspect: (key) => (key === id.AutoApprove ? { default: { value: own }, defaultValue: own, workspaceValue, value: values[key] } : { value: values[key] }),
    onDidChangeConfiguration: () => ({ dispose() {} }),
  };
  const terminal = { getSessionAutoApproveRules: () => ({}), hasChatSessionAutoApproval: () => false };
  const services = {
    createInstance: (what) =>
      what === CommandLineAutoApprover
        ? new CommandLineAutoApprover(configuration, services, terminal)
        : { isCommandAutoApproved: async () => ({ isAutoApproved: false }), dispose() {} }, // no package.json
  };
  const analyzer = new CommandLineAutoApproveAnalyzer(parser, { logPrepare() {} }, () => {}, configuration, services, { getBoolean: () => true }, terminal);
  return async (commandLine) => {
    const { isAutoApproved } = await analyzer.analyze({ commandLine, shell: '/bin/bash', os: 3, treeSitterLanguage: 'bash', terminalToolSessionId: 'x' });
    return isAutoApproved ? 'allow' : 'ask';
  };
}

// matches reports whether a glob matches a file of a project.
const matches = (glob, file) => parse({ base: '/project', pattern: glob })(`/project/${file}`);

const cases = JSON.parse(readFileSync(0, 'utf8'));
const lines = [];
for (const settings of cases.settings) {
  const approve = approver(settings);
  const said = { allow: [], ask: [] };
  for (const line of cases.lines) said[await approve(line)].push(line);
  lines.push({ settings, ...said });
}
const globs = cases.globs.map((glob) => ({ glob, files: cases.files.filter((f) => matches(glob, f)) }));
writeFileSync(process.argv[2], JSON.stringify({ lines, globs }));
process.exit(0);
