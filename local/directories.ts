import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export const PROJECT = resolve(import.meta.dirname, '..');

/**
 * Directory of all files of a local run. It is in the clone or, if the package's command runs, in the working
 * directory.
 */
export const PAYONCE_DIRECTORY = join(existsSync(join(PROJECT, 'local')) ? PROJECT : process.cwd(), '.payonce');

/** Also contains the project's Node. */
export const BINARIES = join(PROJECT, 'node_modules', '.bin');

/**
 * With the option `recursive`, Node's `mkdirSync` hangs if a parent accepts no entries, as in /proc. This function
 * throws instead.
 */
export function makeDirectory(path: string): void {
  const parent = dirname(path);
  if (parent !== path && !existsSync(parent)) makeDirectory(parent);
  try {
    mkdirSync(path);
  } catch (error) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}
