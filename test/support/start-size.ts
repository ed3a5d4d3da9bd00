import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Bytes of a bundle that a function reads when it starts: its module, and the chunks that this one imports at once. */
export function startSize(folder: string): number {
  return startFiles(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}

/** The names of those files. */
export function startFiles(folder: string): readonly string[] {
  const found = new Set(['index.mjs']);
  for (const file of found) {
    const text = readFileSync(join(folder, file), 'utf8');
    for (const [, name = ''] of text.matchAll(/(?:from|import)"\.\/([^"]+\.mjs)"/g)) found.add(name);
  }
  return [...found];
}
