import { describe, expect, test } from '@jest/globals';
import type { Template } from 'aws-cdk-lib/assertions';
import { CURRENCIES } from '../../lambdas/kernel/currency.ts';
import { synthesize } from '../support/synth.ts';
import { EVERYTHING, present } from './templates.ts';

const OWNER = { tenant: 'ten_shop', mode: 'live' } as const;
const LONGEST_ENVIRONMENT = 'abcdefghijklmnopqrst';

const senders = (many: number, of: (index: number) => object) =>
  JSON.stringify({ senders: Array.from({ length: many }, (_, index) => ({ ...of(index), ...OWNER })) });
const account = (index: number): string => String(444_455_550_000 + index);

/** The text is at least as long as on AWS: each reference has the length of the longest resource name. */
function written(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) => {
    const isReference =
      typeof part === 'object' &&
      part !== null &&
      Object.keys(part).some((name) => name === 'Ref' || name.startsWith('Fn::'));
    return isReference ? 'x'.repeat(110) : part;
  });
}

interface Policy {
  readonly Properties: { readonly PolicyDocument: { readonly Statement: readonly unknown[] } };
}

function largestOf(template: Template, type: string) {
  const documents = (Object.values(template.findResources(type)) as Policy[]).map(
    ({ Properties }) => Properties.PolicyDocument,
  );
  return {
    statements: Math.max(...documents.map(({ Statement }) => Statement.length)),
    bytes: Math.max(...documents.map((document) => written(document).length)),
  };
}

describe('many senders on the bus', () => {
  const given = senders(30, (index) => (index < 15 ? { source: `shop-${index}` } : { account: account(index) }));

  test('have queue policies that stay within the SQS quotas', async () => {
    const service = present((await synthesize({ 'payonce:paymentRequests': given })).service);
    const { statements, bytes } = largestOf(service, 'AWS::SQS::QueuePolicy');
    // Amazon SQS developer guide, "Amazon SQS policy quotas".
    expect(statements).toBeLessThanOrEqual(20);
    expect(bytes).toBeLessThanOrEqual(8_192);
  });

  test('have a bus policy that stays within its quota, even if 15 senders are in 15 other accounts', async () => {
    const service = present((await synthesize({ 'payonce:paymentRequests': given })).service);
    const policies = Object.values(service.findResources('AWS::Events::EventBusPolicy')) as {
      readonly Properties: { readonly StatementId: string; readonly Statement: unknown };
    }[];
    // Amazon EventBridge user guide, "Amazon EventBridge quotas", event bus policy size.
    expect(policies.map(({ Properties }) => written(Properties.Statement)).join('').length).toBeLessThanOrEqual(10_240);
    const text = JSON.stringify(policies);
    for (let index = 15; index < 30; index += 1) expect(text).toContain(account(index));
  });

  test('have separate statements even for long sources with the same beginning', async () => {
    const source = 'com.shop.payments.checkout.of-the-international-department.';
    const two = senders(2, (index) => ({ source: `${source}${index}`, account: account(0) }));
    const service = present((await synthesize({ 'payonce:paymentRequests': two })).service);
    const policies = Object.values(service.findResources('AWS::Events::EventBusPolicy')) as {
      readonly Properties: { readonly StatementId: string };
    }[];
    expect(new Set(policies.map(({ Properties }) => Properties.StatementId)).size).toBe(2);
  });

  test('are rejected if the sources of other accounts make the bus policy exceed its maximum size', async () => {
    const many = senders(50, (index) => ({ source: `shop-${index}`, account: account(index) }));
    await expect(synthesize({ 'payonce:paymentRequests': many })).rejects.toThrow(
      /payonce:paymentRequests has 50 sources of other accounts.*10240/,
    );
  });
});

describe('the environment of a function', () => {
  test('stays within its size limit with most optional resources and the longest environment name', async () => {
    await expect(synthesize({ ...EVERYTHING, 'payonce:environment': LONGEST_ENVIRONMENT })).resolves.toBeDefined();
  });

  test.each([
    [
      'PAYMENT_REQUESTS',
      { 'payonce:paymentRequests': senders(40, (index) => ({ subject: `payments.shop-${index}` })) },
    ],
    ['MESSAGE_QUEUES', { 'payonce:paymentRequests': senders(40, (index) => ({ queue: `shop${index}` })) }],
    [
      'PROCESSOR_ROUTES',
      {
        'payonce:stripeAccount': 'acct_1',
        'payonce:routes': JSON.stringify(
          Array.from({ length: 60 }, (_, index) => ({
            tenant: `ten_shop_${index}`,
            mode: 'live',
            processor: 'stripe',
          })),
        ),
      },
    ],
  ])('is rejected before the deployment if it is too large, and the error names %s', async (name, context) => {
    await expect(synthesize({ 'payonce:sandbox': 'false', ...context })).rejects.toThrow(
      new RegExp(`environment has about \\d+ bytes.*4096.*${name}`, 's'),
    );
  });

  test('contains a digest of a long setting, for the activity log', async () => {
    const approvalAbove = Object.fromEntries(CURRENCIES.slice(0, 26).map((currency) => [currency, 100_000]));
    const service = present((await synthesize({ 'payonce:approvalAbove': JSON.stringify(approvalAbove) })).service);
    const [settings] = Object.values(service.findResources('AWS::Lambda::Function')).flatMap(({ Properties }) => {
      const { DEPLOYMENT_SETTINGS: text } = (Properties as { Environment: { Variables: Record<string, string> } })
        .Environment.Variables;
      return text === undefined ? [] : [JSON.parse(text) as Record<string, string>];
    });
    expect(settings?.['approvalAbove']).toMatch(/^sha256:[0-9a-f]{16} of 3\d\d characters$/);
    expect(settings?.['tenantRate']).toBe('100');
  });
});
