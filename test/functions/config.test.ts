import { describe, expect, test } from '@jest/globals';
import type { Variables } from '../../lambdas/kernel/platform/variables.ts';
import { PROCESSORS } from '../../lambdas/processors/registry.ts';
import { readPaymentsConfig } from '../../lambdas/processors/settings.ts';

const GOOD = {
  IDEMPOTENCY_TABLE: 'Idempotency-1',
  LEDGER_TABLE: 'Ledger-1',
  REGISTRY_TABLE: 'Registry-1',
  PROCESSOR_URL: 'https://processor.example/api',
};

const read = (environment: Variables) => readPaymentsConfig(environment, PROCESSORS);

describe('the environment of the payments function', () => {
  test('is parsed', () => {
    expect(read({ ...GOOD, PATH: '/usr/bin' })).toEqual({
      tables: { idempotency: 'Idempotency-1', ledger: 'Ledger-1', registry: 'Registry-1' },
      processors: [{ processor: PROCESSORS[0], settings: { url: 'https://processor.example/api' }, secretIds: {} }],
      routes: [],
    });
  });

  test('may name a Stripe account, and rules for new payments', () => {
    const routes = [{ currency: 'USD', processor: 'stripe' }];
    const stripe = { STRIPE_KEY_SECRET_ID: 'a-secret', STRIPE_ACCOUNT: 'acct_1' };
    expect(read({ ...GOOD, ...stripe, PROCESSOR_ROUTES: JSON.stringify(routes) })).toMatchObject({
      processors: [
        { processor: { name: 'sandbox' } },
        { processor: { name: 'stripe' }, settings: { account: 'acct_1' }, secretIds: { apiKey: 'a-secret' } },
      ],
      routes,
    });
    expect(() => read({ ...GOOD, STRIPE_KEY_SECRET_ID: 'a-secret' })).toThrow('STRIPE_ACCOUNT is not set');
    expect(() => read({ ...GOOD, PROCESSOR_ROUTES: '{}' })).toThrow('PROCESSOR_ROUTES must be a list');
    expect(() => read({ ...GOOD, PROCESSOR_ROUTES: '[' })).toThrow('PROCESSOR_ROUTES must be JSON');
  });

  test.each(Object.keys(GOOD))('without %s the function does not start, and the error names it', (name) => {
    const rest = Object.fromEntries(Object.entries(GOOD).filter(([each]) => each !== name));

    expect(() => read(rest)).toThrow(`the environment variable ${name} is not set`);
    expect(() => read({ ...GOOD, [name]: '' })).toThrow(`the environment variable ${name} must be`);
  });

  test.each(['processor.example', 'ftp://processor.example', 'https://processor.example/', 'https://'])(
    'with %s as the processor the function does not start',
    (url) => {
      expect(() => read({ ...GOOD, PROCESSOR_URL: url })).toThrow(/the environment variable PROCESSOR_URL must/);
    },
  );
});
