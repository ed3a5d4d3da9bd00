import { globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Node } from 'typescript';
import { RowFiles } from '../../lambdas/archive/store/row-files.ts';
import { inTurn } from '../support/slice.ts';

/** Returns each call as `file: text`. */
async function callsOf(...names: readonly string[]): Promise<readonly string[]> {
  const { default: ts } = await import('typescript');
  return globSync(['cli/*.ts', 'client/*.ts', 'lambdas/archive/**/*.ts']).flatMap((file) => {
    const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
    const found: string[] = [];
    const visit = (node: Node): void => {
      if (ts.isCallExpression(node) && names.includes(node.expression.getText().split('.').at(-1) ?? ''))
        found.push(`${file}: ${node.getText()}`);
      ts.forEachChild(node, visit);
    };
    visit(source);
    return found;
  });
}

/** Loading the compiler takes longer than the folder's other tests. */
const turn = inTurn(test, { place: 1, of: 4, otherwise: test.skip });

turn('the command line and the client never send their key and body to a redirect target', async () => {
  const calls = (await callsOf('fetch')).filter((call) => !call.includes('fetch(url, init)'));
  expect(calls.length).toBeGreaterThan(8);
  expect(calls.filter((call) => !/redirect: '(?:error|manual)'/.test(call))).toEqual([]);
});

turn('the command line and the archive write files that only their owner can access', async () => {
  const writes = (await callsOf('writeFileSync', 'appendFileSync', 'createWriteStream', 'writeFile')).filter(
    // The client sets the mode of its files when it opens them.
    (call) => !call.startsWith('client/'),
  );
  expect(writes.length).toBeGreaterThan(4);
  expect(writes.filter((call) => !call.includes('mode: 0o600'))).toEqual([]);
});

test('only the owner can read copies of Ledger rows, regardless of the umask', () => {
  const parent = mkdtempSync(join(tmpdir(), 'row-files-'));
  const directory = join(parent, 'rows');
  const before = process.umask(0);
  try {
    const files = new RowFiles(directory, 1);
    files.addRow({ chain: 'PAY#pay_1', sort: 'T#000001' } as never);
    files.save();
    const modes = [directory, join(directory, 'rows-0')].map((path) => statSync(path).mode & 0o777);
    expect(modes).toEqual([0o700, 0o600]);
  } finally {
    process.umask(before);
    rmSync(parent, { recursive: true, force: true });
  }
});
