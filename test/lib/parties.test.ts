import { describe, expect, test } from '@jest/globals';
import { Match, type Template } from 'aws-cdk-lib/assertions';
import { synthesize } from '../support/synth.ts';
import { present, statementsByOwner } from './templates.ts';

const OWN_PROCESSOR = { 'payonce:sandbox': 'false', 'payonce:processorUrl': 'https://processor.example' };
const OWN_PARTIES = { 'payonce:shopUrl': 'https://shop.example/api', 'payonce:emailSender': 'orders@shop.example' };

const withSandbox = await synthesize();
const withShop = await synthesize({ ...OWN_PROCESSOR, ...OWN_PARTIES });
const withBigCommerce = await synthesize({
  ...OWN_PROCESSOR,
  'payonce:shop': 'bigcommerce',
  'payonce:bigcommerceStore': 'abc123',
  'payonce:bigcommerceLocation': '3',
  'payonce:emailSender': 'orders@shop.example',
});
const without = await synthesize(OWN_PROCESSOR);

function resourcesOf(template: Template | undefined): object {
  return present(template).toJSON()['Resources'] as object;
}

function variablesOf(template: Template, name: string): Readonly<Record<string, unknown>> {
  const functions = template.findResources('AWS::Lambda::Function');
  const [, found] = Object.entries(functions).find(([id]) => id.startsWith(`${name}Function`)) ?? [];
  const { Properties } = (found ?? {}) as {
    Properties?: { Environment?: { Variables?: Readonly<Record<string, unknown>> } };
  };
  return Properties?.Environment?.Variables ?? {};
}

const ofData = (name: string) => ({
  'Fn::GetStackOutput': expect.objectContaining({
    StackName: 'PayonceData',
    OutputName: expect.stringContaining(name),
  }),
});

describe('the external services of orders', () => {
  test('are simulated by the sandbox if it is deployed, with its secret and a search delay of 30 seconds', () => {
    const variables = variablesOf(present(withSandbox.service), 'OutboundRedrive');
    expect(JSON.stringify(variables['SHOP_URL'])).toContain('PayonceSandbox');
    expect(variables['POSTMARK_URL']).toEqual(variables['SHOP_URL']);
    expect(variables).toMatchObject({ POSTMARK_LAG_SECONDS: '30', EMAIL_SENDER: 'shop@payonce.example' });
    const secret = ofData('SandboxSecret');
    expect(variables['PARTIES_SANDBOX_SECRET_ID']).toEqual(secret);
    expect(variables).not.toHaveProperty('POSTMARK_TOKEN_SECRET_ID');
    expect(variables).not.toHaveProperty('SHOP_SIGNING_KEY_SECRET_ID');
    expect(Object.keys(resourcesOf(withSandbox.data)).filter((id) => id.startsWith('PostmarkToken'))).toEqual([]);
  });

  test('are the shop and Postmark of the settings; only the functions that call them may read their secrets', () => {
    const service = present(withShop.service);
    const variables = variablesOf(service, 'OutboundRedrive');
    expect(variables).toMatchObject({
      SHOP_URL: 'https://shop.example/api',
      SHOP_SIGNING_KEY_SECRET_ID: ofData('ShopSigningKey'),
      POSTMARK_URL: 'https://api.postmarkapp.com',
      POSTMARK_TOKEN_SECRET_ID: ofData('PostmarkToken'),
      EMAIL_SENDER: 'orders@shop.example',
    });
    // The adapter's default applies, because Postmark does not document its search delay.
    expect(variables).not.toHaveProperty('POSTMARK_LAG_SECONDS');
    const readersOf = (secret: string) =>
      [...statementsByOwner(service)].flatMap(([owner, statements]) =>
        JSON.stringify(statements).includes(secret) ? [owner] : [],
      );
    const callers = ['JobsPayments', 'Orders', 'FollowUpsReceiptConsumer', 'OutboundRedrive'];
    expect([readersOf('PostmarkToken'), readersOf('ShopSigningKey')]).toEqual([callers, callers]);
  });

  test('are the BigCommerce store and Postmark of the settings; only the functions that call them may read the BigCommerce token', () => {
    const service = present(withBigCommerce.service);
    const variables = variablesOf(service, 'Orders');
    expect(variables).toMatchObject({
      SHOP_URL: 'https://api.bigcommerce.com/stores/abc123',
      BIGCOMMERCE_TOKEN_SECRET_ID: ofData('BigCommerceToken'),
      BIGCOMMERCE_LOCATION: '3',
      POSTMARK_TOKEN_SECRET_ID: ofData('PostmarkToken'),
    });
    expect(variables).not.toHaveProperty('SHOP_SIGNING_KEY_SECRET_ID');
    expect(Object.keys(resourcesOf(withBigCommerce.data)).filter((id) => id.startsWith('ShopSigningKey'))).toEqual([]);
    const readers = [...statementsByOwner(service)].flatMap(([owner, statements]) =>
      JSON.stringify(statements).includes('BigCommerceToken') ? [owner] : [],
    );
    expect(readers).toEqual(['JobsPayments', 'Orders', 'FollowUpsReceiptConsumer', 'OutboundRedrive']);
  });

  test('do not exist if they are not configured: no function, no queue, no alarm, no secret', () => {
    expect(JSON.stringify(present(without.service).toJSON())).not.toMatch(
      /RedriveFunction|ReceiptConsumer|SHOP_URL|outbound_dead|outbound_gave_up/,
    );
    present(without.data).resourceCountIs('AWS::SQS::Queue', 0);
    expect(Object.keys(resourcesOf(without.data)).filter((id) => id.startsWith('PostmarkToken'))).toEqual([]);
  });
});

describe('the dead-letter queue of vendor calls', () => {
  const data = present(withSandbox.data);

  test('is encrypted and retained in the data stack, and keeps messages for two weeks', () => {
    data.hasResource('AWS::SQS::Queue', {
      DeletionPolicy: 'RetainExceptOnCreate',
      Properties: {
        MessageRetentionPeriod: 14 * 24 * 60 * 60,
        SqsManagedSseEnabled: true,
        RedrivePolicy: Match.absent(),
      },
    });
  });

  test('accepts messages over TLS only', () => {
    data.hasResourceProperties('AWS::SQS::QueuePolicy', {
      PolicyDocument: Match.objectLike({
        Statement: [
          Match.objectLike({
            Effect: 'Deny',
            Condition: { Bool: { 'aws:SecureTransport': 'false' } },
            Action: 'sqs:*',
          }),
        ],
      }),
    });
  });
});

describe('the vendor alarms', () => {
  const service = present(withSandbox.service);

  test.each(['stock', 'referrals', 'postmark'])('report, over all callers, that %s is unavailable', (vendor) => {
    for (const [MetricName, Threshold] of [
      ['outbound_breaker_opened', 1],
      ['outbound_gave_up', 10],
    ]) {
      service.hasResourceProperties('AWS::CloudWatch::Alarm', {
        Namespace: 'Payonce',
        MetricName,
        Threshold,
        Dimensions: [
          { Name: 'service', Value: 'vendors' },
          { Name: 'vendor', Value: vendor },
        ],
      });
    }
  });

  test('report every dead letter, and dead letters that are about to expire', () => {
    for (const [MetricName, Threshold] of [
      ['ApproximateNumberOfMessagesVisible', 1],
      ['ApproximateAgeOfOldestMessage', 10 * 24 * 60 * 60],
    ]) {
      service.hasResourceProperties('AWS::CloudWatch::Alarm', { Namespace: 'AWS/SQS', MetricName, Threshold });
    }
  });
});
