import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Returns the size in bytes of the files that a function reads when it starts: its module and the statically imported
 * chunks.
 */
export function startSize(folder: string): number {
  return startFiles(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}

/** Returns the names of the files that a function reads when it starts. */
export function startFiles(folder: string): readonly string[] {
  const found = new Set(['index.mjs']);
  for (const file of found) {
    const text = readFileSync(join(folder, file), 'utf8');
    for (const [, name = ''] of text.matchAll(/(?:from|import)"\.\/([^"]+\.mjs)"/g)) found.add(name);
  }
  return [...found];
}
