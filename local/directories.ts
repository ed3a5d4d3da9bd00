import { join, resolve } from 'node:path';

export const PROJECT = resolve(import.meta.dirname, '..');

/** Everything that a local run makes; git does not see it. */
export const PAYONCE_DIRECTORY = join(PROJECT, '.payonce');

/** Programs of the project's own packages, its Node among them. */
export const BINARIES = join(PROJECT, 'node_modules', '.bin');
