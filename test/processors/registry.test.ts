import { globSync, readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { schemeNames } from '../../lambdas/processors/contract.ts';
import { PROCESSORS } from '../../lambdas/processors/registry.ts';
import { SCHEMES, SIGNATURE_SCHEMES } from './signature-schemes.ts';

const repeated = (values: readonly string[]) => values.filter((value, index) => values.indexOf(value) !== index);

function missingSuites(folder: string): readonly string[] {
  const pattern = `test/processors/${folder}-*.test.ts`;
  const tests = globSync(pattern).map((file) => readFileSync(file, 'utf8'));
  return ['./processor-suite.ts', './processor-changes-suite.ts']
    .filter((suite) => !tests.some((text) => text.includes(`from '${suite}'`)))
    .map((suite) => `add a ${pattern} that imports ${suite}`);
}

describe('the processors of the registry', () => {
  test.each(PROCESSORS.map((processor) => [processor.name, processor] as const))(
    'include %s, whose name is valid in a URL and in a routing rule',
    (name) => {
      expect(name).toMatch(/^[a-z][a-z0-9-]{0,30}$/);
    },
  );

  test('have distinct names, settings, variables and secrets', () => {
    const settings = PROCESSORS.flatMap((processor) => Object.values(processor.settings));
    const secrets = PROCESSORS.flatMap((processor) => Object.values(processor.secrets));
    const chosen = PROCESSORS.flatMap(({ callbacks }) => callbacks.schemeSetting ?? []);
    const constructs = PROCESSORS.map(({ callbacks }) => callbacks.secret);
    expect(repeated(PROCESSORS.map(({ name }) => name))).toEqual([]);
    expect(repeated([...settings.map(({ context }) => context), ...chosen])).toEqual([]);
    expect(repeated([...settings, ...secrets].map(({ variable }) => variable))).toEqual([]);
    expect(repeated([...secrets.map(({ construct }) => construct), ...constructs])).toEqual([]);
  });

  test.each(globSync('lambdas/processors/*/descriptor.ts').map((file) => basename(dirname(file))))(
    'include %s, which passes the suites of all processors',
    (folder) => {
      expect(missingSuites(folder)).toEqual([]);
    },
  );

  test('fail this check with an instruction for each contract suite that their tests lack', () => {
    expect(missingSuites('tillhouse')).toEqual([
      'add a test/processors/tillhouse-*.test.ts that imports ./processor-suite.ts',
      'add a test/processors/tillhouse-*.test.ts that imports ./processor-changes-suite.ts',
    ]);
  });

  test('use only signature schemes that the signature tests cover', () => {
    const missing = schemeNames(PROCESSORS)
      .filter((name) => !new Set<string>(SIGNATURE_SCHEMES).has(name))
      .map((name) => `add ${name} to test/processors/signature-schemes.ts`);
    expect(missing).toEqual([]);
    for (const [name, scheme] of Object.entries(SCHEMES)) expect(scheme.name).toBe(name);
  });
});
