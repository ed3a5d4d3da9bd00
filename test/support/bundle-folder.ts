import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT } from '../../local/directories.ts';

/**
 * Creates a folder inside the project, so that a bundle in it finds the packages of the project. The name contains the
 * process id, so that a concurrent run does not treat the folder as its own.
 */
export function bundleFolder(name: string): string {
  const path = join(PROJECT, 'dist', `${name}-${crypto.randomUUID().slice(0, 8)}-${process.pid}`);
  mkdirSync(path, { recursive: true });
  return path;
}
