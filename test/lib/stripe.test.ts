import { describe, expect, test } from '@jest/globals';
import { Match, type Template } from 'aws-cdk-lib/assertions';
import { synthesize } from '../support/synth.ts';
import { present, WITH_STRIPE } from './templates.ts';

const { service, data } = await synthesize(WITH_STRIPE);
const plain = await synthesize();

/** Omits the hashes at the ends of the ids. */
const secretsIn = (template: Template | undefined) =>
  Object.keys(present(template).findResources('AWS::SecretsManager::Secret')).map((id) => id.slice(0, -8));

describe('a deployment that calls Stripe', () => {
  test('has secrets for the Stripe key and the signing secret, which the operator sets', () => {
    const others = secretsIn(plain.data);
    expect(secretsIn(data).filter((id) => !others.includes(id))).toEqual(['StripeCallbackSecret', 'StripeKey']);
  });

  test.each(['Payments', 'Callbacks', 'JobsPayments', 'JobsUpkeep'])(
    'passes %s the id of the Stripe account and the routes for new payments',
    (name) => {
      const functions = present(service).findResources('AWS::Lambda::Function');
      const [, found] = Object.entries(functions).find(([id]) => id.startsWith(`${name}Function`)) ?? [];
      const { Properties = {} } = (found ?? {}) as { Properties?: { Environment?: { Variables: object } } };
      expect(Properties.Environment?.Variables).toMatchObject({
        STRIPE_ACCOUNT: 'acct_1',
        STRIPE_KEY_SECRET_ID: expect.anything(),
        PROCESSOR_ROUTES: JSON.stringify([
          { currency: 'USD', processor: 'stripe', mode: 'live' },
          { mode: 'test', processor: 'sandbox' },
        ]),
      });
    },
  );

  test('verifies callbacks with Stripe’s signature scheme', () => {
    present(service).hasResourceProperties('AWS::Lambda::Function', {
      Environment: {
        Variables: Match.objectLike({
          CALLBACK_SOURCES: {
            'Fn::Join': [
              '',
              Match.arrayWith([Match.stringLikeRegexp('"name":"stripe","mode":"live","scheme":"stripe"')]),
            ],
          },
        }),
      },
    });
  });
});

test('a deployment without Stripe has no Stripe resources', () => {
  expect(secretsIn(plain.data)).toHaveLength(5);
  expect(secretsIn(plain.data).filter((id) => id.includes('Stripe'))).toEqual([]);
  expect(JSON.stringify(present(plain.service).toJSON())).not.toContain('STRIPE_');
});
