// What is told of a failure: one sentence. Plain JavaScript without packages, for those who have no packages yet, or a Node that
// cannot run TypeScript.
import { existsSync } from 'node:fs';
import { debuglog, types } from 'node:util';

/** The oldest Node that runs the project's TypeScript as it is. The install brings one. */
const NODE_MAJOR = 24;
/** A sentence; what is longer is somebody's code or data. */
const MOST_CHARACTERS = 600;

const debug = debuglog('payonce');

/** @returns why nothing of the project can run here, and what to do; undefined when it can */
export function refusal() {
  const version = process.versions.node;
  if (!existsSync(new URL('../node_modules/.bin/cdk', import.meta.url)))
    return 'The packages are not installed: run "npm ci" first.';
  if (Number.parseInt(version, 10) < NODE_MAJOR)
    return (
      `Payonce needs Node ${NODE_MAJOR}, and this is ${version}. Run it with npm or npx after "npm ci": the install brings its own ` +
      `Node for Linux and macOS. On another platform install Node ${NODE_MAJOR} first.`
    );
  return undefined;
}

/** One sentence for a failure of any kind; `NODE_DEBUG=payonce` shows where it comes from. */
export function sentenceOf(error) {
  debug('%s', error?.stack ?? error);
  const [line = ''] = (types.isNativeError(error) ? error.message : String(error)).trim().split('\n');
  if (line === '') return 'It failed without a word.';
  return line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS)}…` : line;
}
