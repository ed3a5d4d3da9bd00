import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';

const NEEDED = {
  IDEMPOTENCY_TABLE: 'Idempotency-1',
  LEDGER_TABLE: 'Ledger-1',
  REGISTRY_TABLE: 'Registry-1',
  VIEWS_TABLE: 'Views-1',
  TENANT_LIMIT: '{"rate":100,"burst":200}',
};
const GOOD = {
  ...NEEDED,
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

describe.each(['payments', 'ledger'])('the %s function', (name) => {
  /** Evaluates the module again, as in a new Lambda process. */
  const start = (process: string) => import(`../../lambdas/functions/${name}.ts?${process}`);

  test('refuses to start when idempotency is disabled', async () => {
    process.env['POWERTOOLS_IDEMPOTENCY_DISABLED'] = 'true';

    await expect(start('bare')).rejects.toThrow('POWERTOOLS_IDEMPOTENCY_DISABLED is set');
  });

  test.each(Object.keys(NEEDED))('refuses to start without %s', async (variable) => {
    delete process.env[variable];

    await expect(start(variable)).rejects.toThrow(`the environment variable ${variable} is not set`);
  });

  test('starts with a valid environment, without any network call', async () => {
    expect(await start('good')).toEqual(expect.objectContaining({ handler: expect.any(Function) }));
  });
});
