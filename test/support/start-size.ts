import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

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

/** Counts the zod schemas that a program builds, each of which has a property `_zod`. */
const COUNT_SCHEMAS = `
  let schemas = 0;
  const { defineProperty } = Object;
  Object.defineProperty = (object, name, descriptor) => {
    if (name === '_zod') schemas += 1;
    return defineProperty(object, name, descriptor);
  };
  await import(process.argv[1]);
  process.stdout.write(String(schemas));
  process.exit();
`;

/** Returns the number of zod schemas that a function builds when it starts. */
export function startSchemas(folder: string, environment: Readonly<Record<string, string>>): number {
  const module = pathToFileURL(join(folder, 'index.mjs')).href;
  const options = { env: environment, encoding: 'utf8' } as const;
  return Number(execFileSync(process.execPath, ['--input-type=module', '-e', COUNT_SCHEMAS, module], options));
}
