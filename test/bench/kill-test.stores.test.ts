import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Contender, contendersOnDynamoDb, NAIVE, PAYONCE } from '../../bench/compare/contenders.ts';
import { runTrial, type Trial } from '../../bench/compare/kill-test.ts';
import { Services } from '../../bench/compare/services.ts';
import { bundleSubjects } from '../../bench/start.ts';
import { createTables, emulatedAws } from '../support/local-aws.ts';
import { inTurn } from '../support/slice.ts';

describe('the kill test of the comparison', () => {
  const bundles = mkdtempSync(join(tmpdir(), 'payonce-compared-'));
  let contenders: readonly Contender[];
  let trialOf: (name: string, calls: readonly number[]) => Promise<Trial>;

  beforeAll(async () => {
    bundleSubjects(bundles);
    const aws = { ...emulatedAws(), tables: await createTables('kill-test') };
    const services = new Services(aws);
    contenders = await contendersOnDynamoDb({ aws, services, bundles });
    trialOf = (name, calls) => {
      const contender = contenders.find((each) => each.name === name);
      if (contender === undefined) throw new Error(`there is no contender ${name}`);
      return runTrial(contender, { aws, services, postgres: undefined }, { payments: 1, calls });
    };
  });
  afterAll(() => rmSync(bundles, { recursive: true, force: true }));

  const countsOf = ({ histories }: Trial) =>
    histories.map(({ trouble, side, charges, answers }) => [trouble, side, charges, answers]);

  inTurn(test, { place: 0, of: 2, otherwise: test.skip })(
    'finds the second charge of a naive handler that is stopped at its charge',
    async () => {
      expect(countsOf(await trialOf(NAIVE, [2]))).toEqual([
        ['kill', 'before', 1, 1],
        ['kill', 'after', 2, 1],
        ['duplicate', 'before', 2, 2],
        ['duplicate', 'after', 2, 2],
      ]);
    },
  );

  inTurn(test, { place: 1, of: 2, otherwise: test.skip })(
    'finds one charge and one response for Payonce’s function',
    async () => {
      const counts = countsOf(await trialOf(PAYONCE, [3]));
      expect(counts).toHaveLength(4);
      for (const [trouble, side, ...found] of counts) expect([trouble, side, ...found]).toEqual([trouble, side, 1, 1]);
    },
  );
});
