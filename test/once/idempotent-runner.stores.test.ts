import {
  IdempotencyConfig,
  IdempotencyInconsistentStateError,
  makeIdempotent,
} from '@aws-lambda-powertools/idempotency';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { POWERTOOLS_IDEMPOTENCY_DISABLED } from '../../lambdas/kernel/contract/environment.ts';
import { AmbiguousError, RetryableError, TerminalError } from '../../lambdas/kernel/faults.ts';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { idempotently } from '../../lambdas/once/idempotently.ts';
import type { OperationSteps } from '../../lambdas/once/use/operation-runner.ts';
import { paymentRequest } from '../payments/payment-fixtures.ts';
import { FaultPlan } from '../support/fault-plan.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { lambdaContext, stockLayer } from './stock-payment.ts';
import { engineWorld } from './stock-versus-engine.ts';

const OPERATION = storedOperationId('op-runner');
const FAULTS = [
  new RetryableError('throttled', 'nothing was applied'),
  new AmbiguousError('timeout', 'the outcome is unknown'),
  new TerminalError('refused', 'never'),
];

let tables: Awaited<ReturnType<typeof createTables>>;
beforeAll(async () => {
  tables = await createTables('runner');
});

const steps = (
  changes: Partial<OperationSteps<undefined, string, string>> = {},
): OperationSteps<undefined, string, string> => ({
  claim: async () => ({ kind: 'claimed', held: undefined }),
  execute: async () => 'done',
  commit: async (work) => work,
  ...changes,
});

const throwing = (error: Error) => async (): Promise<never> => {
  throw error;
};

async function thrownBy(changes: Partial<OperationSteps<undefined, string, string>>): Promise<unknown> {
  return idempotentRunner.run(OPERATION, steps(changes)).then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('a fault', () => {
  test.each(FAULTS)('is thrown unchanged from any step, under its own name: %p', async (fault) => {
    expect(await thrownBy({ claim: throwing(fault) })).toBe(fault);
    expect(await thrownBy({ execute: throwing(fault) })).toBe(fault);
    expect(await thrownBy({ commit: throwing(fault) })).toBe(fault);
    expect(fault.name).not.toMatch(/^Idempotency/);
  });

  test('is thrown once: the runner does not retry any step', async () => {
    for (const step of ['claim', 'execute', 'commit'] as const) {
      for (const fault of FAULTS) {
        let runs = 0;
        const counted = async (): Promise<never> => {
          runs += 1;
          throw fault;
        };
        await thrownBy({ [step]: counted });
        expect(runs).toBe(1);
      }
    }
  });

  test('releases the claim if it occurs during the execution, but not during the claim or the commit', async () => {
    const released: string[] = [];
    const [fault] = FAULTS;
    if (fault === undefined) throw new Error('the list of faults is empty');
    for (const step of ['claim', 'execute', 'commit'] as const) {
      await thrownBy({
        [step]: throwing(fault),
        release: async () => {
          released.push(step);
        },
      });
    }
    expect(released).toEqual(['execute']);
  });
});

test('the outcomes refused, replayed and done are returned, not thrown', async () => {
  const answer = { status: 201, headers: {}, body: '{}' };
  const refused = steps({ claim: async () => ({ kind: 'refused', outcome: 'in progress' }) });
  const completed = steps({ claim: async () => ({ kind: 'completed', outcome: 'replayed', answer }) });
  expect(await idempotentRunner.run(OPERATION, refused)).toBe('in progress');
  expect(await idempotentRunner.run(OPERATION, completed)).toBe('replayed');
  expect(await idempotentRunner.run(OPERATION, steps())).toBe('done');
});

test('Powertools retries a function that throws an error with the name of a Powertools error', async () => {
  let runs = 0;
  const handler = makeIdempotent(
    async (_key: string, _context: unknown) => {
      runs += 1;
      throw new IdempotencyInconsistentStateError('named as its own');
    },
    { persistenceStore: stockLayer(dynamoDbClient(), tables), config: new IdempotencyConfig({}) },
  );
  await expect(handler('named', lambdaContext(1_000))).rejects.toThrow('named as its own');
  expect(runs).toBeGreaterThan(1);
});

describe('the variable POWERTOOLS_IDEMPOTENCY_DISABLED', () => {
  afterEach(() => {
    delete process.env[POWERTOOLS_IDEMPOTENCY_DISABLED];
  });

  test('makes the stock Powertools layer run its handler twice, without idempotency', async () => {
    process.env[POWERTOOLS_IDEMPOTENCY_DISABLED] = 'true';
    let runs = 0;
    const handler = makeIdempotent(
      async (_key: string, _context: unknown) => {
        runs += 1;
      },
      { persistenceStore: stockLayer(dynamoDbClient(), tables), config: new IdempotencyConfig({}) },
    );
    await handler('disabled', lambdaContext(1_000));
    await handler('disabled', lambdaContext(1_000));
    expect(runs).toBe(2);
  });

  test('prevents the creation of a handler, even if its value is "false" or empty', () => {
    for (const value of ['true', '1', 'false', '']) {
      process.env[POWERTOOLS_IDEMPOTENCY_DISABLED] = value;
      const build = () => idempotently({ unit: 'a request', record: 'its record' }, () => 'a handler');
      expect(build).toThrow(`${POWERTOOLS_IDEMPOTENCY_DISABLED} is set`);
    }
  });

  test('does not allow a payment to be charged without a claim', async () => {
    process.env[POWERTOOLS_IDEMPOTENCY_DISABLED] = 'true';
    const request = paymentRequest('runner-disabled');
    const world = engineWorld(tables, new FaultPlan());
    await expect(world.attempt('bare', request)).rejects.toMatchObject({ name: 'InvariantViolation' });
    expect(world.taken(request)).toBe(0);
  });
});
