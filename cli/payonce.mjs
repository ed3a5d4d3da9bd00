#!/usr/bin/env node
// Runs `npx payonce <command>` in the clone. Plain JavaScript without packages, because the user's Node may be unable
// to run the project's TypeScript. If so, the command runs under the Node that `npm install` installs.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { refusal } from '../local/sentence.mjs';

const OWN_NODE = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url));
const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));
/** Exit code for wrong settings (docs/reference/cli.md). */
const EXIT_SETTINGS = 3;

const reason = refusal();
if (reason === undefined) await import('./main.ts');
else if (existsSync(OWN_NODE) && process.platform !== 'win32') run(OWN_NODE);
else {
  console.error(reason);
  process.exitCode = EXIT_SETTINGS;
}

function run(node) {
  const child = spawn(node, [MAIN, ...process.argv.slice(2)], { stdio: 'inherit' });
  // Ctrl-C reaches both processes. This process ignores the signal, waits for the command to end, and returns the
  // command's exit code.
  process.on('SIGINT', () => undefined);
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(error.message);
    process.exitCode = EXIT_SETTINGS;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (signal === 'SIGINT' ? 2 : 15);
  });
}
