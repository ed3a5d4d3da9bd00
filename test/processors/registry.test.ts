import { globSync, readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { schemeNames } from '../../lambdas/processors/contract.ts';
import { PROCESSORS } from '../../lambdas/processors/registry.ts';
import { SCHEMES, SIGNATURE_SCHEMES } from './signature-schemes.ts';

const repeated = (values: readonly string[]) => values.filter((value, index) => values.indexOf(value) !== index);

describe('the processors of the registry', () => {
  test.each(PROCESSORS.map((processor) => [processor.name, processor] as const))(
    '%s has a name that is valid in a URL and in a routing rule',
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
    'include %s, which passes the suite of all processors',
    (folder) => {
      const tests = globSync(`test/processors/${folder}-*.test.ts`).map((file) => readFileSync(file, 'utf8'));
      expect(tests.some((text) => text.includes("from './processor-suite.ts'"))).toBe(true);
    },
  );

  test('use only signature schemes that the signature tests cover', () => {
    expect(schemeNames(PROCESSORS)).toEqual(SIGNATURE_SCHEMES);
    for (const [name, scheme] of Object.entries(SCHEMES)) expect(scheme.name).toBe(name);
  });
});
