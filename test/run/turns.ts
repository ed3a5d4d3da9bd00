/**
 * Decides which test files `npm test` runs: all files of the rooms that the change touches, all other files except the
 * costly ones, and a tenth of the costly files. `npm run prove` runs all files. A room is a folder of `test/`, with the
 * code that its tests concern, usually the folder of the same name in `lambdas/` or in the project.
 */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PROJECT } from '../../local/directories.ts';
import { IS_PROOF_RUN, sliceOfRun, TURNS } from '../support/slice.ts';

/**
 * Makes costly files take turns. The value is the list of changed rooms, separated by commas. Only `npm test` sets it:
 * a suite that runs alone runs all of its files.
 */
export const CHANGED_ROOMS = 'PAYONCE_CHANGED_ROOMS';

/**
 * For each suite, the test files that take more than 0.2 s of CPU time or synthesize stacks with settings of their own.
 * The files that prove exactly-once payments and callbacks are not in the list, so that each run includes them.
 */
export const COSTLY_FILES = JSON.parse(
  readFileSync(join(import.meta.dirname, 'costly-files.json'), 'utf8'),
) as Readonly<Record<'rooms' | 'stores' | 'deployed', readonly string[]>>;

/** Files that concern every room: after a change of one of them, every test file runs. */
const SHARED = /^(?:package(?:-lock)?\.json|jest\.config\.js|tsconfig\.json|cdk\.json|test\/support\/.*)$/;

/** For each folder that has no room of the same name, the rooms whose tests concern the folder. */
const ROOMS_OF_FOLDER: Readonly<Record<string, readonly string[]>> = {
  '.github': ['docs'],
  bin: ['lib'],
  clients: ['client'],
  examples: ['client', 'lib', 'services'],
};

/** The run includes the changed rooms completely. */
export interface Selection {
  /** Number of the turn, from 0 to {@link TURNS} - 1. */
  readonly turn: number;
  readonly changedRooms: readonly string[];
}

/** Undefined if the run includes every file. */
export function selectionOfRun(): Selection | undefined {
  const rooms = process.env[CHANGED_ROOMS];
  if (rooms === undefined || IS_PROOF_RUN) return undefined;
  return { turn: sliceOfRun() % TURNS, changedRooms: rooms.split(',') };
}

/** @param file path in the project: `test/<room>/…` */
export function isSelected(file: string, selection: Selection | undefined): boolean {
  if (selection === undefined || roomsOfPath(file).some((room) => selection.changedRooms.includes(room))) return true;
  const index = Math.max(...Object.values(COSTLY_FILES).map((files) => files.indexOf(file)));
  return index === -1 || index % TURNS === selection.turn;
}

/** Returns whether the simulator, or a room whose code it runs, has changed. */
export function changesSimulation(selection: Selection | undefined = selectionOfRun()): boolean {
  const simulated = [...readdirSync(join(PROJECT, 'lambdas')), 'sandbox', 'world'];
  return selection === undefined || selection.changedRooms.some((room) => simulated.includes(room));
}

/**
 * Returns the rooms that differ from the last commit; if none differs, the rooms that the last commit changed. Without
 * git or an earlier commit, no room is known to have changed.
 *
 * @param tree folder of the repository
 * @returns undefined after a change that concerns every room
 */
export async function changedRooms(tree = PROJECT): Promise<readonly string[] | undefined> {
  const git = (...command: readonly string[]): Promise<readonly string[]> => pathsOf(tree, command);
  const changes = (...commits: readonly string[]) =>
    git('diff', '--name-only', '--no-renames', '--relative', '-z', ...commits);
  const uncommitted = [...(await changes('HEAD')), ...(await git('ls-files', '--others', '--exclude-standard', '-z'))];
  const rooms = roomsOf(uncommitted);
  return rooms?.length === 0 ? roomsOf(await changes('HEAD~1', 'HEAD')) : rooms;
}

/** Undefined if a file concerns every room. */
function roomsOf(paths: readonly string[]): readonly string[] | undefined {
  if (paths.some((path) => SHARED.test(path))) return undefined;
  return [...new Set(paths.flatMap(roomsOfPath))].sort();
}

function roomsOfPath(path: string): readonly string[] {
  const [first = '', second, third] = path.split('/');
  if (second === undefined) return first.endsWith('.md') ? ['docs'] : [];
  if (first !== 'test' && first !== 'lambdas') return ROOMS_OF_FOLDER[first] ?? [first];
  return third === undefined ? [] : [second];
}

/** @returns an empty list if the command fails */
async function pathsOf(cwd: string, command: readonly string[]): Promise<readonly string[]> {
  const options = { cwd, maxBuffer: 2 ** 26 };
  const { stdout } = await promisify(execFile)('git', [...command], options).catch(() => ({ stdout: '' }));
  return stdout.split('\0').filter((path) => path !== '');
}
