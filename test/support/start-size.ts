import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Returns bytes. A function reads its module and the statically imported chunks when it starts. */
export function startSize(folder: string): number {
  return startFiles(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}

export function startFiles(folder: string): readonly string[] {
  const found = new Set(['index.mjs']);
  for (const file of found) {
    const text = readFileSync(join(folder, file), 'utf8');
    for (const [, name = ''] of text.matchAll(/(?:from|import)"\.\/([^"]+\.mjs)"/g)) found.add(name);
  }
  return [...found];
}

export interface Start {
  /** Names of the files that the function loads when it starts, including dynamic imports. */
  readonly files: readonly string[];
  readonly schemas: number;
}

/** Each zod schema has a property `_zod`. */
const START = `
  import { registerHooks } from 'node:module';
  import { basename } from 'node:path';
  const start = { files: [], schemas: 0 };
  registerHooks({
    load: (url, context, next) => {
      if (url.startsWith('file:')) start.files.push(basename(url));
      return next(url, context);
    },
  });
  const { defineProperty } = Object;
  Object.defineProperty = (object, name, descriptor) => {
    if (name === '_zod') start.schemas += 1;
    return defineProperty(object, name, descriptor);
  };
  await import(process.argv[1]);
  process.stdout.write(JSON.stringify(start));
  process.exit();
`;

export function startOf(folder: string, environment: Readonly<Record<string, string>>): Start {
  const module = pathToFileURL(join(folder, 'index.mjs')).href;
  const options = { env: environment, encoding: 'utf8' } as const;
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', START, module], options)) as Start;
}
