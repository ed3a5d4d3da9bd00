import { join, resolve } from 'node:path';

export const PROJECT = resolve(import.meta.dirname, '..');

/** Everything that a local run makes; git does not see it. */
export const PAYONCE_DIRECTORY = join(PROJECT, '.payonce');

/** What a running local stack is, for people, tests and commands. */
export const LOCAL_JSON = join(PAYONCE_DIRECTORY, 'local.json');

/** Programs of the project's own packages, its Node among them. */
export const BINARIES = join(PROJECT, 'node_modules', '.bin');
