/**
 * Generates one Jest test file ("entry") for each folder of `test`, and one entry for all small folders together. An
 * entry loads its test files into one module registry. Without entries, each file would load and compile the
 * production code again, which would take most of the unit-test time.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { contractFiles } from './http-contract.ts';

const TEST = join(import.meta.dirname, '..');
/** Ignored by git. */
const ENTRIES = join(TEST, 'entries');

/** Smaller folders share one entry, because a separate entry would take longer to start than their tests. */
const FEWEST_FILES = 14;
/** Folders with few files but much work. Each gets a separate entry. */
const OWN_ENTRY: ReadonlySet<string> = new Set(['world-stories']);
const SMALL_ROOMS = 'small-rooms';

/** Keyed by the name of the entry. Paths are relative to `test/`. */
export function unitFiles(): ReadonlyMap<string, readonly string[]> {
  const files = testFiles().filter((file) => !/\.(?:stores|deployed|drill)\.test\.ts$/.test(file));
  const rooms = Map.groupBy(files, roomOf);
  return Map.groupBy(files, (file) => {
    const room = roomOf(file);
    const isSmall = (rooms.get(room)?.length ?? 0) < FEWEST_FILES && !OWN_ENTRY.has(room);
    return isSmall ? SMALL_ROOMS : room;
  });
}

/** Paths are relative to `test/`. */
function testFiles(): readonly string[] {
  return readdirSync(TEST, { recursive: true, encoding: 'utf8' })
    .map((file) => file.split(sep).join('/'))
    .filter((file) => /^(?!entries\/).*\.test\.ts$/.test(file))
    .sort();
}

/** The folder `world` has too much work for one worker, so it is divided. */
function roomOf(file: string): string {
  const [first = '', second = ''] = file.split('/');
  return first === 'world' ? `world-${second}` : first;
}

/** Keyed by the name of the entry. Paths are relative to `test/`. */
export function filesOnLocalAws(suite: 'stores' | 'deployed'): ReadonlyMap<string, readonly string[]> {
  const files = testFiles().filter((file) => file.endsWith(`.${suite}.test.ts`));
  // jest-cucumber mixes up the steps of two features in one module registry, so each feature has its own entry.
  return Map.groupBy(files, (file) =>
    file.startsWith('features/') ? `${suite}-${basename(file, `.${suite}.test.ts`)}` : suite,
  );
}

/** Keyed by the name of the entry. Paths are relative to `test/`. */
function contractEntries(): ReadonlyMap<string, readonly string[]> {
  return Map.groupBy(contractFiles([...unitFiles().values()].flat()), roomOf);
}

/** Several runs can do this concurrently. */
export function writeEntries(): void {
  write(ENTRIES, unitFiles(), '..');
  write(join(ENTRIES, 'contract'), contractEntries(), '../..');
  write(join(ENTRIES, 'local-aws'), new Map([...filesOnLocalAws('stores'), ...filesOnLocalAws('deployed')]), '../..');
}

function write(folder: string, entries: ReadonlyMap<string, readonly string[]>, test: string): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, files] of entries) {
    const path = join(folder, `${name}.test.js`);
    const lines = files.map((file) => `await loadTestFile('test/${file}', () => import('${test}/${file}'));\n`);
    if (existsSync(path) && readFileSync(path, 'utf8') === lines.join('')) continue;
    const draft = `${path}.${process.pid}`;
    writeFileSync(draft, lines.join(''));
    renameSync(draft, path);
  }
  for (const name of readdirSync(folder)) {
    if (name.endsWith('.test.js') && !entries.has(basename(name, '.test.js')))
      rmSync(join(folder, name), { force: true });
  }
}

/** In bytes. The weight is used until Jest knows the duration of the entry. */
export function weightOf(entry: string): number {
  const name = relative(ENTRIES, entry).replace(/\.test\.js$/, '');
  const files = unitFiles().get(name) ?? [];
  const stories = [...new Set(files.map((file) => dirname(file)))].flatMap((folder) =>
    readdirSync(join(TEST, folder))
      .filter((file) => file.endsWith('.json'))
      .map((file) => join(folder, file)),
  );
  return [...files, ...stories].reduce((sum, file) => sum + statSync(join(TEST, file)).size, 0);
}
