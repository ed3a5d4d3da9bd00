import { afterEach, beforeEach, expect, test } from '@jest/globals';

const GOOD = {
  IDEMPOTENCY_TABLE: 'Idempotency-1',
  LEDGER_TABLE: 'Ledger-1',
  REGISTRY_TABLE: 'Registry-1',
  VIEWS_TABLE: 'Views-1',
  PROCESSOR_URL: 'https://processor.example',
  PROCESSOR_SIGNING_KEY_SECRET_ID: 'a-key',
  TENANT_LIMIT: '{"rate":100,"burst":200}',
};
const TOUCHED = [...Object.keys(GOOD), 'POWERTOOLS_IDEMPOTENCY_DISABLED'];

let before: Map<string, string | undefined>;

beforeEach(() => {
  before = new Map(TOUCHED.map((name) => [name, process.env[name]]));
  Object.assign(process.env, GOOD);
});

afterEach(() => {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});

/** Evaluates the module again, as in a new Lambda process. */
const start = (process: string) => import(`../../lambdas/functions/payments.ts?${process}`);

test('the payments function refuses to start when idempotency is disabled', async () => {
  process.env['POWERTOOLS_IDEMPOTENCY_DISABLED'] = 'true';

  await expect(start('bare')).rejects.toThrow('POWERTOOLS_IDEMPOTENCY_DISABLED is set');
});

test('the payments function refuses to start without its tables', async () => {
  delete process.env['LEDGER_TABLE'];

  await expect(start('tableless')).rejects.toThrow('the environment variable LEDGER_TABLE is not set');
});

test('the payments function starts with a valid environment, without any network call', async () => {
  expect(await start('good')).toEqual(expect.objectContaining({ handler: expect.any(Function) }));
});
