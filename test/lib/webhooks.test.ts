import { describe, expect, test } from '@jest/globals';
import { Match } from 'aws-cdk-lib/assertions';
import { synthesize } from '../support/synth.ts';
import { CONFIGURED, present, type Statement, statementsByOwner } from './templates.ts';

const service = present((await synthesize()).service);
const roles = statementsByOwner(service);

const listOf = (value: string | readonly string[]): readonly string[] => (typeof value === 'string' ? [value] : value);

function describeStatement({ Action, Resource, Condition = {} }: Statement): string {
  const text = JSON.stringify(Resource);
  const names = ['Ledger', 'Views', 'Idempotency', 'Registry', 'WebhookRoot', 'DeadLetters', 'Tasks', 'Logs'];
  const on = names.find((name) => text.includes(name)) ?? text;
  const rows = listOf(Condition['ForAllValues:StringLike']?.['dynamodb:LeadingKeys'] ?? []);
  return `${listOf(Action).join(', ')} on ${on}${rows.length === 0 ? '' : ` of ${rows.join(', ')}`}`;
}

const ALWAYS = ['logs:CreateLogStream, logs:PutLogEvents on Logs', 'sqs:SendMessage on Tasks'];
const TAKES_MESSAGES =
  'sqs:ChangeMessageVisibility, sqs:DeleteMessage, sqs:GetQueueAttributes, sqs:GetQueueUrl, sqs:ReceiveMessage on Tasks';

const ROLES: readonly (readonly [string, readonly string[]])[] = [
  [
    'WebhooksApi',
    [
      'dynamodb:GetItem, dynamodb:PutItem on Idempotency of OP#wh_*',
      'dynamodb:GetItem on Registry of KEY#*',
      'dynamodb:GetItem on Registry of OPERATOR_KEY#*',
      'dynamodb:GetItem on Registry of TENANTS',
      'dynamodb:UpdateItem on Registry of KEY_USE#*',
      'dynamodb:UpdateItem on Registry of LIMIT#*',
      'dynamodb:GetItem on Registry of WEBHOOKS#*, WEBHOOK_DELIVERY#*, WEBHOOK_REPLAY#*',
      'dynamodb:Query on Registry of WEBHOOK_DELIVERY#*',
      'dynamodb:PutItem on Registry of WEBHOOKS#*, WEBHOOK_DELIVERY#*, WEBHOOK_REPLAY#*',
      'dynamodb:PutItem on Ledger of ACT#*',
      'dynamodb:Query on Ledger of ACT#*',
      'secretsmanager:GetSecretValue on WebhookRoot',
    ],
  ],
  [
    'WebhooksFanOut',
    [
      'dynamodb:GetItem on Registry of WEBHOOKS#*',
      'dynamodb:PutItem on Registry of WEBHOOK_DELIVERY#*',
      'sqs:SendMessage on DeadLetters',
      TAKES_MESSAGES,
    ],
  ],
  [
    'WebhooksSender',
    [
      'dynamodb:GetItem on Registry of WEBHOOKS#*, WEBHOOK_DELIVERY#*, WEBHOOK_REPLAY#*, WEBHOOK_LANE#*',
      'dynamodb:PutItem on Registry of WEBHOOKS#*, WEBHOOK_DELIVERY#*, WEBHOOK_REPLAY#*, WEBHOOK_LANE#*, WEBHOOK_NOTICE#*',
      'dynamodb:Query on Registry',
      'dynamodb:UpdateItem on Registry of WEBHOOK_DELIVERY#*',
      'dynamodb:Query on Registry of WEBHOOK_DELIVERY#*',
      // Reads of the data that webhooks contain.
      'dynamodb:GetItem on Ledger of PAY#*, ORD#*',
      'dynamodb:GetItem, dynamodb:Query on Registry of DETAILS#*',
      'dynamodb:Query on Views of EVENT#*',
      'secretsmanager:GetSecretValue on WebhookRoot',
      'sqs:SendMessage on DeadLetters',
      TAKES_MESSAGES,
    ],
  ],
];

describe.each(ROLES)('the role of %s', (owner, own) => {
  test('has exactly the permissions that it needs', () => {
    const allowed = (roles.get(owner) ?? []).filter(({ Effect }) => Effect === 'Allow').map(describeStatement);
    expect(allowed.sort()).toEqual([...ALWAYS, ...own].sort());
  });
});

describe('webhooks', () => {
  test('are sent to public addresses only, unless a setting allows loopback', async () => {
    const settings = async (context = {}): Promise<readonly unknown[]> => {
      const functions = present((await synthesize(context)).service).findResources('AWS::Lambda::Function') as Record<
        string,
        { Properties: { Environment?: { Variables: Record<string, unknown> } } }
      >;
      return Object.values(functions).flatMap(
        ({ Properties }) => Properties.Environment?.Variables['WEBHOOK_LOOPBACK'] ?? [],
      );
    };
    expect(await settings()).toEqual(['false', 'false']);
    expect(await settings(CONFIGURED)).toEqual(['true', 'true']);
  });

  test('are sent by a function with two threads for each concurrent DNS look-up', () => {
    const [sender] = Object.entries(service.findResources('AWS::Lambda::Function'))
      .filter(([id]) => id.startsWith('WebhooksSender'))
      .map(([, found]) => found as { Properties: { Environment: { Variables: Record<string, unknown> } } });
    const [source] = Object.entries(service.findResources('AWS::Lambda::EventSourceMapping'))
      .filter(([id]) => id.startsWith('WebhooksSender'))
      .map(([, found]) => found as { Properties: { BatchSize: number } });
    const threads = Number(sender?.Properties.Environment.Variables['UV_THREADPOOL_SIZE']);
    expect(threads).toBeGreaterThanOrEqual(2 * (source?.Properties.BatchSize ?? Number.POSITIVE_INFINITY));
  });

  test('raise an alarm if an endpoint is disabled or a delivery cannot be attempted', () => {
    service.hasResourceProperties('AWS::CloudWatch::Alarm', {
      MetricName: 'ApproximateNumberOfMessagesVisible',
      Dimensions: [
        {
          Name: 'QueueName',
          Value: { 'Fn::GetAtt': [Match.stringLikeRegexp('^WebhooksTasksDeadLetters'), 'QueueName'] },
        },
      ],
      Threshold: 1,
    });
    service.hasResourceProperties('AWS::CloudWatch::Alarm', {
      MetricName: 'webhook_endpoint_disabled',
      Dimensions: [{ Name: 'service', Value: 'webhook-sender' }],
      Threshold: 1,
    });
  });
});
