import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export const PROJECT = resolve(import.meta.dirname, '..');

/**
 * Directory of all files of a local run. It is in the clone or, if the package's command runs, in the working
 * directory. Git ignores it.
 */
export const PAYONCE_DIRECTORY = join(existsSync(join(PROJECT, 'local')) ? PROJECT : process.cwd(), '.payonce');

/** The folder with the programs of the project's packages, including the project's Node. */
export const BINARIES = join(PROJECT, 'node_modules', '.bin');

/**
 * Creates a directory and its parents. With the option `recursive`, Node's `mkdirSync` hangs if a parent accepts no
 * entries, as in /proc. This function throws instead.
 *
 * @throws Error of the file system when the directory cannot be created
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
