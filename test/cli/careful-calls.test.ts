import { globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import ts from 'typescript';
import { RowFiles } from '../../lambdas/archive/store/row-files.ts';

/** Returns the calls of functions with these names in the command line and the client, as `file: text`. */
function callsOf(...names: readonly string[]): readonly string[] {
  return globSync(['cli/*.ts', 'client/*.ts', 'lambdas/archive/**/*.ts']).flatMap((file) => {
    const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
    const found: string[] = [];
    const visit = (node: ts.Node): void => {
      if (ts.isCallExpression(node) && names.includes(node.expression.getText().split('.').at(-1) ?? ''))
        found.push(`${file}: ${node.getText()}`);
      ts.forEachChild(node, visit);
    };
    visit(source);
    return found;
  });
}

test('no request of the command line or the client follows a redirect with its key and body', () => {
  const calls = callsOf('fetch').filter((call) => !call.includes('fetch(url, init)'));
  expect(calls.length).toBeGreaterThan(8);
  expect(calls.filter((call) => !/redirect: '(?:error|manual)'/.test(call))).toEqual([]);
});

test('files of the command line are private to their user', () => {
  const writes = callsOf('writeFileSync', 'appendFileSync', 'createWriteStream', 'writeFile').filter(
    // The client sets the mode of its files when it opens them.
    (call) => !call.startsWith('client/'),
  );
  expect(writes.length).toBeGreaterThan(4);
  expect(writes.filter((call) => !call.includes('mode: 0o600'))).toEqual([]);
});

test('copies of Ledger rows are readable by their user only, for any umask', () => {
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
