import { describe, expect, test } from '@jest/globals';
import { readPaymentsConfig } from '../../lambdas/processors/settings.ts';

const GOOD = {
  IDEMPOTENCY_TABLE: 'Idempotency-1',
  LEDGER_TABLE: 'Ledger-1',
  REGISTRY_TABLE: 'Registry-1',
  PROCESSOR_URL: 'https://processor.example/api',
};

describe('the environment of the payments function', () => {
  test('is read', () => {
    expect(readPaymentsConfig({ ...GOOD, PATH: '/usr/bin' })).toEqual({
      tables: { idempotency: 'Idempotency-1', ledger: 'Ledger-1', registry: 'Registry-1' },
      processorUrl: 'https://processor.example/api',
      routes: [],
    });
  });

  test('may name a Stripe account, and rules for new payments', () => {
    const routes = [{ currency: 'USD', processor: 'stripe' }];
    const stripe = { STRIPE_KEY_SECRET_ID: 'a-secret', STRIPE_ACCOUNT: 'acct_1' };
    expect(readPaymentsConfig({ ...GOOD, ...stripe, PROCESSOR_ROUTES: JSON.stringify(routes) })).toMatchObject({
      stripe: { keySecretId: 'a-secret', account: 'acct_1' },
      routes,
    });
    expect(() => readPaymentsConfig({ ...GOOD, STRIPE_KEY_SECRET_ID: 'a-secret' })).toThrow(
      'STRIPE_ACCOUNT is not set',
    );
    expect(() => readPaymentsConfig({ ...GOOD, PROCESSOR_ROUTES: '{}' })).toThrow('PROCESSOR_ROUTES must be a list');
    expect(() => readPaymentsConfig({ ...GOOD, PROCESSOR_ROUTES: '[' })).toThrow('PROCESSOR_ROUTES must be JSON');
  });

  test.each(Object.keys(GOOD))('without %s the function does not start, and says so', (name) => {
    const rest = Object.fromEntries(Object.entries(GOOD).filter(([each]) => each !== name));

    expect(() => readPaymentsConfig(rest)).toThrow(`the environment variable ${name} is not set`);
    expect(() => readPaymentsConfig({ ...GOOD, [name]: '' })).toThrow(`the environment variable ${name} must be`);
  });

  test.each(['processor.example', 'ftp://processor.example', 'https://processor.example/', 'https://'])(
    'with %s as the processor it does not start',
    (url) => {
      expect(() => readPaymentsConfig({ ...GOOD, PROCESSOR_URL: url })).toThrow(
        /the environment variable PROCESSOR_URL must/,
      );
    },
  );
});
