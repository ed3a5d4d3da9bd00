import { CreateQueueCommand, DeleteQueueCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SqsLetterBox } from '../../lambdas/outbound/store/sqs-letter-box.ts';
import { SqsQueues } from '../../lambdas/reconciling/store/sqs-queues.ts';
import { CREDENTIALS } from '../../local/emulator-environment.ts';
import { localAws } from '../support/local-aws.ts';

const { awsEndpoint: endpoint, region } = localAws();
const client = new SQSClient({ endpoint, region, credentials: CREDENTIALS });
const ORDER = `ord_${'a'.repeat(32)}`;
const PAYMENT = `pay_${'b'.repeat(32)}`;
let url = '';

beforeAll(async () => {
  const { QueueUrl = '' } = await client.send(new CreateQueueCommand({ QueueName: `looks-${crypto.randomUUID()}` }));
  url = QueueUrl;
});
afterAll(() => client.send(new DeleteQueueCommand({ QueueUrl: url })));

test('messages that wait for an operator are shown with what they are about and why, and stay', async () => {
  const letter = { vendor: 'postmark', operation: 'email.send', attempts: 3, reason: 'vendor_unavailable' };
  const payload = { to: 'ada@example.com', metadata: { order: ORDER } };
  await new SqsLetterBox(client, url, url).put({ ...letter, payload, mayBeApplied: true });
  const reason = { DataType: 'String', StringValue: 'event_too_large' };
  const parked = { MessageBody: `{"dynamodb":"PAY#${PAYMENT}"}`, MessageAttributes: { reason } };
  await client.send(new SendMessageCommand({ QueueUrl: url, ...parked }));
  await client.send(new SendMessageCommand({ QueueUrl: url, MessageBody: 'not JSON' }));

  const queues = new SqsQueues(client, { letters: { url, isKept: true } });
  const found = await queues.look('letters', 100);
  expect(found.map(({ id: _id, sinceMs: _sinceMs, ...shown }) => shown)).toEqual(
    expect.arrayContaining([
      { about: ORDER, part: 'postmark email.send', reason: 'vendor_unavailable', needsOperator: true },
      { about: PAYMENT, reason: 'event_too_large', needsOperator: true },
      { needsOperator: true },
    ]),
  );
  expect(found).toHaveLength(3);
  expect(found.every(({ sinceMs = 0 }) => Math.abs(Date.now() - sinceMs) < 600_000)).toBe(true);
  // No content of a message is shown.
  expect(JSON.stringify(found)).not.toContain('ada@example.com');
  expect(await queues.count('letters')).toBe(3);
});

test('queues that do not answer are a retryable fault', async () => {
  const queues = new SqsQueues(client, { none: { url: `${endpoint}/000000000000/none`, isKept: true } });
  await expect(queues.count('none')).rejects.toMatchObject({ name: 'RetryableError', code: 'queues_unavailable' });
});
