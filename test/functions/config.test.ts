import { describe, expect, test } from '@jest/globals';
import type { Variables } from '../../lambdas/kernel/platform/variables.ts';
import { PROCESSORS } from '../../lambdas/processors/registry.ts';
import { readPaymentsConfig } from '../../lambdas/processors/settings.ts';

const GOOD = {
  IDEMPOTENCY_TABLE: 'Idempotency-1',
  LEDGER_TABLE: 'Ledger-1',
  REGISTRY_TABLE: 'Registry-1',
  PROCESSOR_URL: 'https://processor.example/api',
  PROCESSOR_SIGNING_KEY_SECRET_ID: 'a-key',
};

const read = (environment: Variables) => readPaymentsConfig(environment, PROCESSORS);

describe('the environment of the payments function', () => {
  test('is parsed', () => {
    expect(read({ ...GOOD, PATH: '/usr/bin' })).toEqual({
      tables: { idempotency: 'Idempotency-1', ledger: 'Ledger-1', registry: 'Registry-1' },
      processors: [
        {
          processor: PROCESSORS[1],
          mode: 'live',
          settings: { url: 'https://processor.example/api' },
          secretIds: { signingKey: 'a-key' },
        },
      ],
      routes: [],
      claimsLost: false,
    });
  });

  test('may contain a Stripe account and routing rules for new payments, and is rejected if they are incomplete or malformed', () => {
    const routes = [{ mode: 'live', currency: 'USD', processor: 'stripe' }];
    const stripe = { STRIPE_KEY_SECRET_ID: 'a-secret', STRIPE_ACCOUNT: 'acct_1' };
    expect(read({ ...GOOD, ...stripe, PROCESSOR_ROUTES: JSON.stringify(routes) })).toMatchObject({
      processors: [
        { processor: { name: 'external' }, mode: 'live' },
        {
          processor: { name: 'stripe' },
          mode: 'live',
          settings: { account: 'acct_1' },
          secretIds: { apiKey: 'a-secret' },
        },
      ],
      routes,
    });
    expect(() => read({ ...GOOD, STRIPE_KEY_SECRET_ID: 'a-secret' })).toThrow('STRIPE_ACCOUNT is not set');
    expect(() => read({ ...GOOD, PROCESSOR_ROUTES: '{}' })).toThrow('PROCESSOR_ROUTES must be a list');
    expect(() => read({ ...GOOD, PROCESSOR_ROUTES: '[' })).toThrow('PROCESSOR_ROUTES must be JSON');
  });

  test('has separate variables for test mode and live mode', () => {
    const test_ = {
      TEST_PROCESSOR_URL: 'https://test.example',
      TEST_PROCESSOR_SIGNING_KEY_SECRET_ID: 'test-key',
      TEST_SANDBOX_URL: 'https://sandbox.example',
      TEST_SANDBOX_ACCESS_SECRET_ID: 'sandbox-secret',
    };
    const connected = read({ ...GOOD, ...test_ }).processors.map(({ processor: { name }, mode, settings }) => [
      name,
      mode,
      settings['url'],
    ]);
    expect(connected).toEqual([
      ['sandbox', 'test', 'https://sandbox.example'],
      ['external', 'test', 'https://test.example'],
      ['external', 'live', 'https://processor.example/api'],
    ]);
    // The sandbox does not serve live mode.
    expect(read({ ...GOOD, SANDBOX_URL: 'https://sandbox.example' }).processors).toHaveLength(1);
  });

  test('is valid without a processor', () => {
    const { PROCESSOR_URL: _url, PROCESSOR_SIGNING_KEY_SECRET_ID: _key, ...rest } = GOOD;
    expect(read(rest).processors).toEqual([]);
  });

  test.each([
    'IDEMPOTENCY_TABLE',
    'LEDGER_TABLE',
    'REGISTRY_TABLE',
    'PROCESSOR_URL',
    'PROCESSOR_SIGNING_KEY_SECRET_ID',
  ])('is rejected when %s is missing or empty, and the error names the variable', (name) => {
    const rest = Object.fromEntries(Object.entries(GOOD).filter(([each]) => each !== name));

    expect(() => read(rest)).toThrow(`the environment variable ${name} is not set`);
    expect(() => read({ ...GOOD, [name]: '' })).toThrow(`the environment variable ${name} must be`);
  });

  test.each(['processor.example', 'ftp://processor.example', 'https://processor.example/', 'https://'])(
    'is rejected when the processor URL is %s',
    (url) => {
      expect(() => read({ ...GOOD, PROCESSOR_URL: url })).toThrow(/the environment variable PROCESSOR_URL must/);
    },
  );
});
