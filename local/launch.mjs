// Runs a program of the project: `node local/launch.mjs <program> …`. Prints an error as one sentence on standard
// error.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { refusal, sentenceOf } from './sentence.mjs';

const program = process.argv[2] ?? '';

function end(sentence) {
  console.error(sentence);
  process.exit(1);
}

process.on('uncaughtException', (error) => end(sentenceOf(error)));
if (process.platform === 'win32' && /^(local|bench|demo)\//.test(program))
  end('The local AWS needs Linux or macOS: on Windows, run it in WSL.');
const reason = refusal();
if (reason !== undefined) end(reason);
// Sets the arguments as if the program had been called directly.
process.argv.splice(1, 2, resolve(program));
try {
  await import(pathToFileURL(resolve(program)).href);
} catch (error) {
  end(sentenceOf(error));
}
