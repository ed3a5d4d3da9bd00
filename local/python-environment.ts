import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PAYONCE_DIRECTORY, PROJECT } from './directories.ts';
import { StartFailure } from './failure.ts';
import { runKept } from './kept-process.ts';

const run = promisify(execFile);

const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt');
const VENV = join(PAYONCE_DIRECTORY, 'venv');
const STAMP = join(VENV, 'payonce-stamp');
const OLDEST_MINOR = 10;
const CANDIDATES: readonly (readonly [command: string, ...first: string[]])[] = [
  ['python3'],
  ['python'],
  ['py', '-3'],
  ['python3.13'],
  ['python3.12'],
  ['python3.11'],
  ['python3.10'],
];

/**
 * The environment contains exactly the packages that `requirements.txt` lists by hash.
 *
 * @returns the path of the environment's interpreter
 * @throws StartFailure when no Python is available or the packages cannot be installed
 */
export async function ensurePython(): Promise<string> {
  const interpreter = join(VENV, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python');
  const requirements = createHash('sha256').update(readFileSync(REQUIREMENTS)).digest('hex');
  // Packages are installed for one version of Python, and the system's Python can be upgraded.
  const stamp = async (): Promise<string> => `${requirements} ${await askVersion([interpreter]).catch(() => '')}`;
  if (existsSync(interpreter) && existsSync(STAMP) && readFileSync(STAMP, 'utf8') === (await stamp()))
    return interpreter;

  const python = await findPython();
  rmSync(VENV, { recursive: true, force: true });
  await step('create a virtual environment (on Debian and Ubuntu: apt install python3-venv)', [
    ...python,
    '-m',
    'venv',
    VENV,
  ]);
  await step('install the emulator (check the network and pip’s index settings)', [
    interpreter,
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--require-hashes',
    '-r',
    REQUIREMENTS,
  ]);
  writeFileSync(STAMP, await stamp());
  return interpreter;
}

export async function findPython(
  version: (command: readonly string[]) => Promise<string> = askVersion,
): Promise<readonly [command: string, ...first: string[]]> {
  const found: string[] = [];
  for (const command of CANDIDATES) {
    const answer = await version(command).catch(() => undefined);
    const match = /^Python 3\.(\d+)/.exec(answer ?? '');
    if (match !== null && Number(match[1]) >= OLDEST_MINOR) return command;
    if (answer !== undefined) found.push(answer.trim());
  }
  const seen = found.length === 0 ? 'none was found' : `found only ${found.join(', ')}`;
  throw new StartFailure(`Payonce needs Python 3.${OLDEST_MINOR} or newer, but ${seen}: install it from python.org.`);
}

async function askVersion([command = 'python3', ...first]: readonly string[]): Promise<string> {
  const { stdout } = await run(command, [...first, '--version']);
  return stdout;
}

async function step(what: string, command: readonly string[]): Promise<void> {
  const { code, lines } = await runKept({ command, environment: process.env, directory: PROJECT });
  if (code === 0) return;
  rmSync(VENV, { recursive: true, force: true });
  throw new StartFailure(`Could not ${what}: ${lines.at(-1) ?? 'no reason given'}`);
}
