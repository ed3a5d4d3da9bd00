import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { parseSync } from '@swc/core';
import ts from 'typescript';
import { ACTS } from '../simulator/acts/all-acts.ts';
import { edited, hasNeeded } from './mutant.ts';
import { filesOf, MUTANTS, mutated } from './mutants.ts';

/** Names in a text, without those in strings. */
function namesIn(text: string): readonly string[] {
  return text.replaceAll(/'[^'\n]*'/g, '').match(/(?<![\w$])[A-Za-z_$][\w$]*/g) ?? [];
}

/** With words that no product file has: an operator of DynamoDB, and members of built-in types. */
const ALL_NAMES = new Set([
  'OR',
  'every',
  ...MUTANTS.flatMap(filesOf).flatMap((file) => namesIn(readFileSync(file, 'utf8'))),
]);

test('no two mutants have one name, and a name goes into a command', () => {
  const names = MUTANTS.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => !/^[a-z]+(?:-[a-z]+)+$/.test(name))).toEqual([]);
});

test('what a mutant needs are acts, and a step is counted once', () => {
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

test('an edit whose text is missing or occurs twice is refused', () => {
  const edit = { file: 'a.ts', find: 'b', replace: 'x' };
  expect(edited('abc', [edit])).toBe('axc');
  expect(() => edited('ac', [edit])).toThrow('a.ts: the text to replace occurs never: b');
  expect(() => edited('abcb', [edit])).toThrow('more than once');
});

describe.each(MUTANTS.map((mutant) => ({ name: mutant.name, mutant })))('the mutant $name', ({ mutant }) => {
  test.each(filesOf(mutant))('applies to %s and compiles', (file) => {
    const before = readFileSync(file, 'utf8');
    const after = mutated(mutant, file, before);
    expect(after).not.toBe(before);
    expect(parseSync(after, { syntax: 'typescript', target: 'es2024' }).type).toBe('Module');
    const used = mutant.edits.flatMap(({ replace }) => namesIn(replace));
    expect(used.filter((name) => !ALL_NAMES.has(name))).toEqual([]);
  });
});

if (process.env['PAYONCE_PROVE'] !== undefined) {
  describe('the compiler accepts the mutant', () => {
    const config: unknown = ts.readConfigFile('tsconfig.json', (path) => readFileSync(path, 'utf8')).config;
    const { options } = ts.parseJsonConfigFileContent(config, ts.sys, '.');
    // A planted fault may leave a name without a reader.
    const relaxed = { ...options, noUnusedLocals: false, noUnusedParameters: false };
    const roots = [...new Set(MUTANTS.flatMap(filesOf))];
    const host = ts.createCompilerHost(relaxed);
    let program = ts.createProgram(roots, relaxed, host);
    test.each(MUTANTS.map((mutant) => ({ name: mutant.name, mutant })))('$name', ({ mutant }) => {
      const files = filesOf(mutant);
      const texts = new Map(files.map((file) => [file, mutated(mutant, file, readFileSync(file, 'utf8'))]));
      const known = program;
      const getSourceFile: ts.CompilerHost['getSourceFile'] = (path, ...rest) => {
        const text = texts.get(path);
        if (text !== undefined) return ts.createSourceFile(path, text, ts.ScriptTarget.ES2024, true);
        return known.getSourceFile(path) ?? host.getSourceFile(path, ...rest);
      };
      const changed = ts.createProgram(roots, relaxed, { ...host, getSourceFile }, known);
      const found = files.flatMap((file) => {
        const source = changed.getSourceFile(file);
        return source === undefined ? [] : changed.getSemanticDiagnostics(source);
      });
      expect(found.map(({ messageText }) => messageText)).toEqual([]);
      program = ts.createProgram(roots, relaxed, host, known);
    });
  });
}
