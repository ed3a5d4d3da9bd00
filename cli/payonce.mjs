#!/usr/bin/env node
// Runs `npx payonce <command>` in the clone. Plain JavaScript without packages, because the user's Node may be unable
// to run the project's TypeScript. If so, the command runs under the Node that `npm install` installs.
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { refusal, sentenceOf } from '../local/sentence.mjs';

const OWN_NODE = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url));
const THIS_FILE = fileURLToPath(import.meta.url);
/** Exit code for wrong settings (docs/reference/cli.md). */
const EXIT_SETTINGS = 3;

const reason = refusal();
if (reason === undefined) await import('./main.ts').catch((error) => end(sentenceOf(error)));
else if (process.platform !== 'win32' && existsSync(OWN_NODE) && realpathSync(OWN_NODE) !== process.execPath)
  run(OWN_NODE);
else end(reason);

function end(sentence) {
  console.error(sentence);
  process.exitCode = EXIT_SETTINGS;
}

function run(node) {
  const child = spawn(node, [THIS_FILE, ...process.argv.slice(2)], { stdio: 'inherit' });
  // Ctrl-C reaches both processes. This process ignores the signal, waits for the command to end, and returns the
  // command's exit code.
  process.on('SIGINT', () => undefined);
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => end(sentenceOf(error)));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (signal === 'SIGINT' ? 2 : 15);
  });
}
