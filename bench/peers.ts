import { execFileSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory, PAYONCE_DIRECTORY } from '../local/directories.ts';

const SOURCES = join(import.meta.dirname, 'peers');
const LOCK = 'package-lock.json';
/** Contains the installed lockfile. */
const INSTALLED = 'installed.json';

/**
 * Installs the compared libraries below `.payonce`, in the exact versions of `bench/peers`, unless they are installed.
 * npm verifies the integrity hashes of the lockfile. The packages have no install scripts.
 *
 * @returns the directory, which also contains the programs of `bench/peers`
 * @throws Error if npm cannot install the packages
 */
export function installPeers(): string {
  const directory = join(PAYONCE_DIRECTORY, 'peers');
  makeDirectory(directory);
  for (const file of readdirSync(SOURCES)) copyFileSync(join(SOURCES, file), join(directory, file));
  const lock = readFileSync(join(SOURCES, LOCK), 'utf8');
  const marker = join(directory, INSTALLED);
  if (textOf(marker) === lock) return directory;
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: directory,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  writeFileSync(marker, lock);
  return directory;
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
