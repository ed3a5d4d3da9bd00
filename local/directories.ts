import { join, resolve } from 'node:path';

export const PROJECT = resolve(import.meta.dirname, '..');

/** Directory of all files of a local run. Git ignores it. */
export const PAYONCE_DIRECTORY = join(PROJECT, '.payonce');

/** Programs of the project's packages, including its Node. */
export const BINARIES = join(PROJECT, 'node_modules', '.bin');
