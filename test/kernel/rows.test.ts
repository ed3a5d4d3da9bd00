import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { IdempotencyRow, LedgerRow, RegistryRow, SortKey, ViewsRow } from '../../lambdas/kernel/contract/rows.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const ROWS = join('lambdas', 'kernel', 'contract', 'rows.ts');
/** Form of every row prefix: capitals, then `#`. Does not match a reference such as `#14` or `this.#name`. */
const PREFIX = /(?<![A-Za-z0-9_])[A-Z][A-Z_]*#/;
const COMMENT = /^\s*(?:\*|\/\*|\/\/)/;

const sources = ['lambdas', 'lib'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name)),
);

function spelledOut(file: string): readonly string[] {
  return readFileSync(join(ROOT, file), 'utf8')
    .split('\n')
    .flatMap((line, index) => (PREFIX.test(line) && !COMMENT.test(line) ? [`${file}:${index + 1}`] : []));
}

describe('the prefixes of rows', () => {
  test('are defined in a single file that the stores and the policies use', () => {
    expect(sources).toContain(ROWS);
    expect(sources.filter((file) => file !== ROWS).flatMap(spelledOut)).toEqual([]);
    expect(spelledOut(ROWS).length).toBeGreaterThan(20);
  });

  test.each(Object.entries({ IdempotencyRow, LedgerRow, RegistryRow, ViewsRow, SortKey }))(
    'are unambiguous in %s: no prefix starts with another one, so a policy covers only one kind of rows',
    (_table, rows) => {
      const prefixes: readonly string[] = Object.values(rows);
      const overlaps = prefixes.filter((one, index) =>
        prefixes.some((other, at) => at !== index && other.startsWith(one)),
      );
      expect(overlaps).toEqual([]);
    },
  );
});
