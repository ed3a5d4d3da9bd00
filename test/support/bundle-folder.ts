import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT } from '../../local/directories.ts';

/**
 * A new folder inside the project, where what is built finds the packages of the project. It carries the number of this process, so that
 * a run that ends at the same time does not take it for its own.
 */
export function bundleFolder(name: string): string {
  const path = join(PROJECT, 'dist', `${name}-${crypto.randomUUID().slice(0, 8)}-${process.pid}`);
  mkdirSync(path, { recursive: true });
  return path;
}
