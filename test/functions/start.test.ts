import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';

const NEEDED = {
  IDEMPOTENCY_TABLE: 'Idempotency-1',
  LEDGER_TABLE: 'Ledger-1',
  REGISTRY_TABLE: 'Registry-1',
  TENANT_LIMIT: '{"rate":100,"burst":200}',
};
const GOOD = {
  ...NEEDED,
  VIEWS_TABLE: 'Views-1',
  EMAIL_KEYS_SECRET_ID: 'email-keys',
  MESSAGE_QUEUES: '{"at":"https://queues.example/1/one","tasks":{},"received":{},"kept":{},"functions":{}}',
  PROCESSOR_URL: 'https://processor.example',
  PROCESSOR_SIGNING_KEY_SECRET_ID: 'a-key',
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

/** Imports the module of a function again, as a new Lambda process does. */
const startOf = (name: string, process: string) => import(`../../lambdas/functions/${name}.ts?${process}`);

test.each(['payments', 'ledger'])('the %s function refuses to start when idempotency is disabled', async (name) => {
  process.env['POWERTOOLS_IDEMPOTENCY_DISABLED'] = 'true';

  await expect(startOf(name, 'bare')).rejects.toThrow('POWERTOOLS_IDEMPOTENCY_DISABLED is set');
});

describe.each([
  ['payments', Object.keys(NEEDED)],
  ['reads', [...Object.keys(NEEDED), 'VIEWS_TABLE']],
  ['ledger', [...Object.keys(NEEDED), 'VIEWS_TABLE']],
])('the %s function', (name, needed) => {
  const start = (process: string) => startOf(name, process);

  test.each(needed)('refuses to start without %s', async (variable) => {
    delete process.env[variable];

    await expect(start(variable)).rejects.toThrow(`the environment variable ${variable} is not set`);
  });

  test('starts with a valid environment, without waiting for a network call', async () => {
    expect(await start('good')).toEqual(expect.objectContaining({ handler: expect.any(Function) }));
  });
});
