import { describe, expect, test } from '@jest/globals';
import { readPartiesConfig } from '../../lambdas/orders/parties/settings.ts';

const SANDBOX = {
  PARTIES_SANDBOX_SECRET_ID: 'arn:sandbox',
  SHOP_URL: 'http://localhost:4566/live',
  POSTMARK_URL: 'http://localhost:4566/live',
  POSTMARK_LAG_SECONDS: '30',
  EMAIL_SENDER: 'shop@payonce.example',
  EMAILS_PER_RECIPIENT: '20',
  DEAD_LETTERS_QUEUE_URL: 'http://localhost:4566/000000000000/letters',
  DELAYED_CALLS_QUEUE_URL: 'http://localhost:4566/000000000000/delayed',
  REGISTRY_TABLE: 'registry',
};

describe('the configured external services of a function', () => {
  test('are undefined without settings, so no orders are accepted', () => {
    expect(readPartiesConfig({ REGISTRY_TABLE: 'registry' })).toBeUndefined();
  });

  test('contain the secret of the sandbox or, without a sandbox, the secrets of the shop and of Postmark', () => {
    expect(readPartiesConfig(SANDBOX)).toEqual({
      shopUrl: 'http://localhost:4566/live',
      secrets: { sandbox: 'arn:sandbox' },
      postmark: { url: 'http://localhost:4566/live', from: 'shop@payonce.example', maxLagMs: 30_000 },
      emailsPerRecipient: 20,
      registryTable: 'registry',
      deadLettersQueueUrl: 'http://localhost:4566/000000000000/letters',
      delayedCallsQueueUrl: 'http://localhost:4566/000000000000/delayed',
    });
    const { POSTMARK_LAG_SECONDS: _lag, PARTIES_SANDBOX_SECRET_ID: _secret, ...rest } = SANDBOX;
    expect(() => readPartiesConfig(rest)).toThrow('SHOP_SIGNING_KEY_SECRET_ID is not set');
    const unmailed = { ...rest, SHOP_SIGNING_KEY_SECRET_ID: 'arn:key' };
    expect(() => readPartiesConfig(unmailed)).toThrow('POSTMARK_TOKEN_SECRET_ID is not set');
    const own = { ...rest, POSTMARK_TOKEN_SECRET_ID: 'arn:token', SHOP_SIGNING_KEY_SECRET_ID: 'arn:key' };
    expect(readPartiesConfig(own)).toMatchObject({
      secrets: { shopSigningKey: 'arn:key', postmarkToken: 'arn:token' },
      postmark: { url: 'http://localhost:4566/live', from: 'shop@payonce.example' },
    });
  });

  test.each([
    [{ SHOP_URL: undefined }, 'SHOP_URL is not set'],
    [{ SHOP_URL: 'shop.example' }, 'SHOP_URL must be an http or https address'],
    [{ POSTMARK_URL: 'https://mail.example/' }, 'POSTMARK_URL must not end with a slash'],
    [{ POSTMARK_LAG_SECONDS: '1.5' }, 'POSTMARK_LAG_SECONDS must be whole seconds'],
    [{ EMAILS_PER_RECIPIENT: undefined }, 'EMAILS_PER_RECIPIENT is not set'],
    [{ EMAILS_PER_RECIPIENT: '0' }, 'EMAILS_PER_RECIPIENT must be a whole number from 1 to 999'],
    [{ EMAIL_SENDER: 'the shop' }, 'EMAIL_SENDER must be an e-mail address'],
    [{ DEAD_LETTERS_QUEUE_URL: undefined }, 'DEAD_LETTERS_QUEUE_URL is not set'],
    [{ DELAYED_CALLS_QUEUE_URL: undefined }, 'DELAYED_CALLS_QUEUE_URL is not set'],
    [{ REGISTRY_TABLE: undefined }, 'REGISTRY_TABLE is not set'],
  ])('are rejected with %j, and the error names the variable', (changes, message) => {
    expect(() => readPartiesConfig({ ...SANDBOX, ...changes })).toThrow(message);
  });
});
