import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  type Dirent,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import * as z from 'zod';
import { makeDirectory, PAYONCE_DIRECTORY } from './directories.ts';
import { runningProcesses } from './processes.ts';

/** A program reads only snapshots of its own version. */
const FORMAT = 1;
/** Each snapshot has about 15 MB. */
const MAX_KEPT = 3;
const FILES = 'files';
const MANIFEST = 'manifest.json';
/** A process writes or deletes the folder. Its name contains the process id and a random text. */
const PARTIAL = /^partial-(\d+)-/;

const manifest = z.object({
  format: z.literal(FORMAT),
  key: z.string(),
  files: z.record(z.string(), z.object({ bytes: z.int(), sha256: z.string() })),
});
type Files = z.infer<typeof manifest>['files'];

/** Each copy is made directly after a deployment and contains neither tenants nor API keys. */
export class Snapshots {
  readonly #directory: string;

  constructor(directory: string = join(PAYONCE_DIRECTORY, 'snapshots')) {
    this.#directory = directory;
  }

  /**
   * Deletes the snapshot if it is incomplete or was changed.
   *
   * @param target a directory that does not exist
   */
  restore(key: string, target: string): boolean {
    const partial = `${target}.partial`;
    rmSync(partial, { recursive: true, force: true });
    if (!existsSync(this.#of(key))) return false;
    if (!this.#copy(key, partial)) {
      rmSync(partial, { recursive: true, force: true });
      this.drop(key);
      return false;
    }
    renameSync(partial, target);
    return true;
  }

  /** Keeps an existing snapshot with the same key. Deletes the least recently used snapshots beyond the maximum. */
  keep(key: string, source: string): void {
    makeDirectory(this.#directory);
    chmodSync(this.#directory, 0o700);
    const partial = this.#partial();
    makeDirectory(partial);
    cpSync(source, join(partial, FILES), { recursive: true });
    const written: z.infer<typeof manifest> = { format: FORMAT, key, files: filesIn(join(partial, FILES)) };
    writeFileSync(join(partial, MANIFEST), JSON.stringify(written));
    try {
      renameSync(partial, this.#of(key));
    } catch {
      // Another process stored the same snapshot first.
      rmSync(partial, { recursive: true, force: true });
    }
    this.#prune();
  }

  drop(key: string): void {
    const partial = this.#partial();
    try {
      // Other processes must never find a partial copy.
      renameSync(this.#of(key), partial);
    } catch {
      return;
    }
    rmSync(partial, { recursive: true, force: true });
  }

  /** Another process may delete the source during the copy. */
  #copy(key: string, target: string): boolean {
    try {
      const read = manifest.parse(JSON.parse(readFileSync(join(this.#of(key), MANIFEST), 'utf8')));
      cpSync(join(this.#of(key), FILES), target, { recursive: true });
      const now = new Date();
      utimesSync(this.#of(key), now, now);
      return read.key === key && isEqual(filesIn(target), read.files);
    } catch {
      return false;
    }
  }

  #of(key: string): string {
    return join(this.#directory, key);
  }

  #partial(): string {
    return join(this.#directory, `partial-${process.pid}-${randomBytes(4).toString('hex')}`);
  }

  #prune(): void {
    const names = readdirSync(this.#directory);
    const running = new Set(runningProcesses().map(({ pid }) => pid));
    for (const name of names) {
      const pid = PARTIAL.exec(name)?.[1];
      if (pid !== undefined && !running.has(Number(pid)))
        rmSync(join(this.#directory, name), { recursive: true, force: true });
    }
    const usedMs = (name: string): number =>
      statSync(join(this.#directory, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
    const kept = names.filter((name) => !PARTIAL.test(name)).map((name) => ({ name, usedMs: usedMs(name) }));
    for (const { name } of kept.sort((a, b) => b.usedMs - a.usedMs).slice(MAX_KEPT)) this.drop(name);
  }
}

function filesIn(directory: string): Files {
  const entries: readonly Dirent[] = readdirSync(directory, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    entries
      .filter((entry) => !entry.isDirectory())
      .map(({ parentPath, name }) => {
        const content = readFileSync(join(parentPath, name));
        const sha256 = createHash('sha256').update(content).digest('hex');
        return [relative(directory, join(parentPath, name)), { bytes: content.length, sha256 }];
      }),
  );
}

function isEqual(found: Files, expected: Files): boolean {
  const names = Object.keys(expected);
  return (
    names.length === Object.keys(found).length &&
    names.every(
      (name) => found[name]?.bytes === expected[name]?.bytes && found[name]?.sha256 === expected[name]?.sha256,
    )
  );
}
