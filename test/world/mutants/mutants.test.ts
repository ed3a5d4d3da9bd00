import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import ts from 'typescript';
import { whole } from '../../support/slice.ts';
import { ACTS } from '../simulator/acts/all-acts.ts';
import { edited, hasNeeded, type Mutant } from './mutant.ts';
import { filesOf, MUTANTS, mutated } from './mutants.ts';

test('every mutant has a unique name that is a valid command argument', () => {
  const names = MUTANTS.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => !/^[a-z]+(?:-[a-z]+)+$/.test(name))).toEqual([]);
});

test('every act that a mutant needs exists, and each step of a history satisfies at most one need', () => {
  const acts = new Set(ACTS.map(({ name }) => name));
  expect(
    MUTANTS.flatMap(({ needs = [] }) => needs.flatMap((each) => each.split('|'))).filter((name) => !acts.has(name)),
  ).toEqual([]);
  const steps = ['pay', 'refund', 'dispute'].map((act, id) => ({ id, atMs: id, actor: 'x', act }));
  const needing = (...needs: readonly string[]) => hasNeeded({ name: 'x', fault: 'x', edits: [], needs }, { steps });
  expect([needing(), needing('flood|dispute', 'refund'), needing('refund', 'refund'), needing('flood')]).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test('a mutant’s edit is rejected if the text that it replaces is missing or occurs twice', () => {
  const edit = { file: 'a.ts', find: 'b', replace: 'x' };
  expect(edited('abc', [edit])).toBe('axc');
  expect(() => edited('ac', [edit])).toThrow('a.ts: the text to replace occurs never: b');
  expect(() => edited('abcb', [edit])).toThrow('more than once');
});

describe.each(MUTANTS.map((mutant) => ({ name: mutant.name, mutant })))('the mutant $name', ({ mutant }) => {
  test.each(filesOf(mutant))('applies to %s', (file) => {
    const before = readFileSync(file, 'utf8');
    const after = mutated(mutant, file, before);
    expect(after).not.toBe(before);
    expect(unknownNames(file, after)).toEqual([]);
  });
});

test('a mutant that uses a name which its file no longer declares is detected', () => {
  expect(unknownNames('a.ts', 'export const a = ({ b: c }: X) => former(a, c.d, Math.max(1)) ?? { e: 2 };')).toEqual([
    'former',
  ]);
});

/** Faster than a compilation. */
function unknownNames(file: string, text: string): readonly string[] {
  const declared = new Set<string>();
  const used = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node)) return;
    if (ts.isIdentifier(node)) {
      const { parent } = node;
      if ('name' in parent && parent.name === node && !ts.isPropertyAccessExpression(parent)) declared.add(node.text);
      else if (!('name' in parent && parent.name === node) && !isPropertyName(node)) used.add(node.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.ES2024, true));
  return [...used].filter((name) => !declared.has(name) && !(name in globalThis) && name !== 'undefined');
}

function isPropertyName(node: ts.Identifier): boolean {
  const { parent } = node;
  return 'propertyName' in parent && parent.propertyName === node;
}

/** One compilation covers several mutants, because each compilation takes seconds. */
function compiledTogether(): readonly (readonly Mutant[])[] {
  const groups: Mutant[][] = [];
  for (const mutant of MUTANTS) {
    const files = new Set(filesOf(mutant));
    const group = groups.find((others) => others.every((other) => filesOf(other).every((file) => !files.has(file))));
    if (group === undefined) groups.push([mutant]);
    else group.push(mutant);
  }
  return groups;
}

// Runs only in `npm run prove`, because each compilation takes seconds.
whole(describe, { slice: describe.skip })('the compiler accepts the mutants', () => {
  const config: unknown = ts.readConfigFile('tsconfig.json', (path) => readFileSync(path, 'utf8')).config;
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, '.');
  // A planted fault may leave names unused.
  const relaxed = { ...options, noUnusedLocals: false, noUnusedParameters: false };
  // Use absolute paths, because the compiler requests imported files by absolute path.
  const roots = [...new Set(MUTANTS.flatMap(filesOf))].map((file) => resolve(file));
  const host = ts.createCompilerHost(relaxed);
  let unchanged: ts.Program;
  // Jest runs the body of this block even if it skips the tests of the block, so compile only in a hook.
  beforeAll(() => {
    unchanged = ts.createProgram(roots, relaxed, host);
  });
  const groups = compiledTogether().map((mutants) => ({
    mutants,
    names: mutants.map(({ name }) => name).join(', '),
  }));
  test.each(groups)('in a compilation with the edits of $names', ({ mutants }) => {
    const texts = new Map(
      mutants.flatMap((mutant) =>
        filesOf(mutant).map((file) => [resolve(file), mutated(mutant, file, readFileSync(file, 'utf8'))] as const),
      ),
    );
    const getSourceFile: ts.CompilerHost['getSourceFile'] = (path, ...rest) => {
      const text = texts.get(path);
      if (text !== undefined) return ts.createSourceFile(path, text, ts.ScriptTarget.ES2024, true);
      return unchanged.getSourceFile(path) ?? host.getSourceFile(path, ...rest);
    };
    const changed = ts.createProgram(roots, relaxed, { ...host, getSourceFile }, unchanged);
    const found = [...texts].flatMap(([path, text]) => {
      const source = changed.getSourceFile(path);
      expect(source?.text).toBe(text);
      const diagnostics = [...changed.getSyntacticDiagnostics(source), ...changed.getSemanticDiagnostics(source)];
      return diagnostics.map(({ messageText }) => ({ path, messageText }));
    });
    expect(found).toEqual([]);
  });
});
