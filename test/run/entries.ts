/**
 * One test file for jest for each room, and one for all small rooms. It loads their test files into one module registry. Loading the
 * product once for each of 370 files takes a fifth of the time of all unit tests, and compiling it again most of the rest.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';

const TEST = join(import.meta.dirname, '..');
/** Generated, and ignored by git. */
const ENTRIES = join(TEST, 'entries');

/** Rooms with fewer test files share an entry: an entry of its own takes longer to begin than the tests of such a room. */
const FEWEST_FILES = 8;
/** It has few files, and much work. */
const OWN_ENTRY: ReadonlySet<string> = new Set(['world-stories']);
const SMALL_ROOMS = 'small-rooms';

/** The unit test files, by the name of their entry. Paths are relative to `test/`. */
export function unitFiles(): ReadonlyMap<string, readonly string[]> {
  const files = testFiles().filter((file) => !/\.(?:stores|deployed|drill)\.test\.ts$/.test(file));
  const rooms = Map.groupBy(files, roomOf);
  return Map.groupBy(files, (file) => {
    const room = roomOf(file);
    const isSmall = (rooms.get(room)?.length ?? 0) < FEWEST_FILES && !OWN_ENTRY.has(room);
    return isSmall ? SMALL_ROOMS : room;
  });
}

function testFiles(): readonly string[] {
  return readdirSync(TEST, { recursive: true, encoding: 'utf8' })
    .map((file) => file.split(sep).join('/'))
    .filter((file) => /^(?!entries\/).*\.test\.ts$/.test(file))
    .sort();
}

/** The first folder, but `world` has more work than one worker should take in one piece. */
function roomOf(file: string): string {
  const [first = '', second = ''] = file.split('/');
  return first === 'world' ? `world-${second}` : first;
}

/** Writes what has changed since the last run. Several runs can do so at the same time. */
export function writeEntries(): void {
  write(ENTRIES, new Map([...unitFiles()].map(([name, files]) => [`${name}.test.js`, textOf(files, '..')])));
  const files = testFiles();
  const onLocalAws = files.filter((file) => /\.(?:stores|deployed)\.test\.ts$/.test(file));
  const entries = Map.groupBy(onLocalAws, (file) => {
    const [, name = '', suite = ''] = /(\w[\w-]*)\.(\w+)\.test\.ts$/.exec(file) ?? [];
    // jest-cucumber mixes up the steps of two features that one module registry loads.
    return `${file.startsWith('features/') ? `${suite}-${name}` : suite}.test.js`;
  });
  write(join(ENTRIES, 'local-aws'), new Map([...entries].map(([name, own]) => [name, textOf(own, '../..')])));
}

function write(folder: string, entries: ReadonlyMap<string, string>): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of entries) {
    const path = join(folder, name);
    if (existsSync(path) && readFileSync(path, 'utf8') === text) continue;
    const draft = `${path}.${process.pid}`;
    writeFileSync(draft, text);
    renameSync(draft, path);
  }
  for (const name of readdirSync(folder)) {
    if (name.endsWith('.test.js') && !entries.has(name)) rmSync(join(folder, name), { force: true });
  }
}

const textOf = (files: readonly string[], test: string): string =>
  files.map((file) => `await loadTestFile('test/${file}', () => import('${test}/${file}'));\n`).join('');

/** Bytes of the test files behind an entry, and of the stories beside them: its weight until jest knows how long it takes. */
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
