// This file is plain JavaScript without packages, because it also runs before the packages are installed, and on a Node
// that cannot run TypeScript.
import { existsSync } from 'node:fs';
import { debuglog, getSystemErrorMap, types } from 'node:util';

/** The project's TypeScript runs without compilation from this version on. `npm ci` installs it. */
const NODE_MAJOR = 24;
/** A longer text is assumed to contain code or data, and is cut off. */
const MAX_CHARACTERS = 600;

const debug = debuglog('payonce');

/** Returns the reason why the project cannot run here, and what to do; undefined when it can run. */
export function refusal() {
  const version = process.versions.node;
  if (!existsSync(new URL('../node_modules/.bin/cdk', import.meta.url)))
    return 'The packages are not installed: run "npm ci" first.';
  if (Number.parseInt(version, 10) < NODE_MAJOR)
    return (
      `Payonce needs Node ${NODE_MAJOR}, but this is ${version}. Run it with npm or npx after "npm ci", which installs its own ` +
      `Node on Linux and macOS. On another platform, install Node ${NODE_MAJOR} first.`
    );
  return undefined;
}

/** `NODE_DEBUG=payonce` also shows the stack. */
export function sentenceOf(error) {
  debug('%s', error?.stack ?? error);
  // If `fetch` fails, or the connections to all addresses of a host fail, the reason is in a nested error.
  const [inner = error?.cause] = error?.errors ?? [];
  if (['', 'fetch failed'].includes(error?.message) && types.isNativeError(inner)) return sentenceOf(inner);
  const system = types.isNativeError(error) ? systemFailure(error) : undefined;
  if (system !== undefined) return system;
  const [line = ''] = (types.isNativeError(error) ? error.message : String(error)).trim().split('\n');
  // The message of a TypeScript syntax error lacks the name of the file. The stack begins with it.
  if (error?.code === 'ERR_INVALID_TYPESCRIPT_SYNTAX') return `${error.stack.split('\n', 1)[0]}: ${line}`;
  if (error?.code === 'ERR_MODULE_NOT_FOUND' && /^Cannot find package|[/\\]generated[/\\]/.test(line))
    return `${line}: run "npm ci" again.`;
  if (line === '') return 'An error without a message occurred.';
  return line.length > MAX_CHARACTERS ? `${line.slice(0, MAX_CHARACTERS)}…` : line;
}

/**
 * Undefined for other errors. Node's own message begins with an error code, and for a missing program contains no
 * reason.
 */
function systemFailure({ code, errno, syscall = '', path, port }) {
  const [, reason] = getSystemErrorMap().get(errno) ?? [];
  if (reason === undefined) return undefined;
  if (code === 'ENOENT' && syscall.startsWith('spawn')) return `The program ${path} was not found: install it first.`;
  if (path !== undefined) return `${path} cannot be used: ${reason} (${syscall}).`;
  return syscall === 'listen' ? `Port ${port} cannot be used: ${reason}.` : undefined;
}
