#!/usr/bin/env node
// Starts the modec of this platform, which an optional dependency carries. Nothing is downloaded.
"use strict";
const { spawn } = require("node:child_process");

const name = `modec-${process.platform}-${process.arch}`;
let program;
try {
	program = require.resolve(`${name}/bin/modec${process.platform === "win32" ? ".exe" : ""}`);
} catch {
	console.error(`modec: error: the package ${name} is not installed
modec: hint: install without --omit=optional; not every platform has a package`);
	process.exit(2);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
for (const signal of signals) process.on(signal, () => child.kill(signal));
child.on("error", (err) => {
	console.error(`modec: error: ${err.message}`);
	process.exit(2);
});
child.on("exit", (code, signal) => {
	for (const s of signals) process.removeAllListeners(s);
	if (signal) process.kill(process.pid, signal);
	else process.exit(code);
});
