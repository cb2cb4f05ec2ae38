// A loader of Node's for the packages of VS Code, whose modules import style sheets.
export async function load(url, context, next) {
  if (url.endsWith('.css')) return { format: 'module', source: 'export default {}', shortCircuit: true };
  if (url.endsWith('/monaco-vscode-api/css.js')) return { format: 'module', source: 'export function registerCss() {}', shortCircuit: true };
  return next(url, context);
}
