import {
  CreateQueueCommand,
  DeleteQueueCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SqsQueues } from '../../lambdas/operators/store/sqs-queues.ts';
import { SqsDeadLetterStore } from '../../lambdas/outbound/store/sqs-dead-letter-store.ts';
import { CREDENTIALS, emulatedAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';

const { awsEndpoint: endpoint, region } = emulatedAws();
const client = new SQSClient({ endpoint, region, credentials: CREDENTIALS });
const ORDER = `ord_${'a'.repeat(32)}`;
const PAYMENT = `pay_${'b'.repeat(32)}`;
/** Time until the deadline of a call, in milliseconds. No call takes so long, even on a busy machine. */
const LONG_MS = 600_000;
const urls: string[] = [];
let url = '';

beforeAll(async () => {
  url = await made();
});
afterAll(async () => {
  for (const QueueUrl of urls) await client.send(new DeleteQueueCommand({ QueueUrl }));
});

test('messages that wait for an operator are shown with their subject and reason, and remain in their queue', async () => {
  const deadLetter = { vendor: 'postmark', operation: 'email.send', attempts: 3, reason: 'vendor_unavailable' };
  const payload = { to: 'ada@example.com', metadata: { order: ORDER } };
  await new SqsDeadLetterStore(client, url, url).put({ ...deadLetter, payload, mayBeApplied: true });
  const reason = { DataType: 'String', StringValue: 'event_too_large' };
  const parked = { MessageBody: `{"dynamodb":"PAY#${PAYMENT}"}`, MessageAttributes: { reason } };
  await client.send(new SendMessageCommand({ QueueUrl: url, ...parked }));
  await client.send(new SendMessageCommand({ QueueUrl: url, MessageBody: 'not JSON' }));

  const queues = new SqsQueues(client, { letters: { url, isKept: true } }, { nowMs: Date.now });
  const found = await queues.peek('letters', 100);
  expect(found.map(({ id: _id, sinceMs: _sinceMs, ...shown }) => shown)).toEqual(
    expect.arrayContaining([
      { about: ORDER, part: 'postmark email.send', reason: 'vendor_unavailable', needsOperator: true },
      { about: PAYMENT, reason: 'event_too_large', needsOperator: true },
      { needsOperator: true },
    ]),
  );
  expect(found).toHaveLength(3);
  expect(found.every(({ sinceMs = 0 }) => Math.abs(Date.now() - sinceMs) < 600_000)).toBe(true);
  expect(JSON.stringify(found)).not.toContain('ada@example.com');
  expect(await queues.count('letters')).toBe(3);
});

test('missed job runs are shown with job, time and error, and the runs of this deployment’s jobs are dismissed together', async () => {
  const at = await made();
  const queues = new SqsQueues(client, { missed: { url: at, isKept: true } }, { nowMs: Date.now });
  const fired = { job: 'resolve', scheduledTime: '2026-03-01T12:00:00Z' };
  const errorMessage = 'jobs_api_unreachable';
  const code = { DataType: 'String', StringValue: 'AccessDeniedException' };
  for (const [body, MessageAttributes] of [
    [fired, { ERROR_CODE: code }],
    [{ requestPayload: fired, responsePayload: { errorType: 'RetryableError', errorMessage } }],
    [{ ...fired, target: 'shop', job: 'nightly', reason: 'window_ended' }],
  ] as const)
    await client.send(new SendMessageCommand({ QueueUrl: at, MessageBody: JSON.stringify(body), MessageAttributes }));
  const found = await queues.peek('missed', 10);
  const time = { scheduledForMs: Date.UTC(2026, 2, 1, 12) };
  expect(found.map(({ part, job, scheduledForMs, reason }) => ({ part, job, scheduledForMs, reason }))).toEqual(
    expect.arrayContaining([
      { part: 'resolve', job: 'resolve', ...time, reason: 'AccessDeniedException' },
      { part: 'resolve', job: 'resolve', ...time, reason: errorMessage },
      { part: 'shop nightly', job: undefined, ...time, reason: 'window_ended' },
    ]),
  );
  await queues.dismiss('missed', { beforeMs: Date.now() + 60_000, stopAtMs: Date.now() + LONG_MS });
  // The message about a job of another service stays, and is visible immediately.
  expect((await queues.peek('missed', 10)).map(({ part }) => part)).toEqual(['shop nightly']);
  expect(await queues.count('missed')).toBe(1);
});

test('a queue that cannot be read causes a retryable error', async () => {
  const queues = new SqsQueues(
    client,
    { none: { url: `${endpoint}/000000000000/none`, isKept: true } },
    { nowMs: Date.now },
  );
  await expect(queues.count('none')).rejects.toMatchObject({ name: 'RetryableError', code: 'queues_unavailable' });
});

test('parked records are sent to the function that repeats their work, and are then removed', async () => {
  const [from, stuck] = [await made(), await made()];
  const parked = (at: string, redriver: string) => ({ url: at, isKept: true, redriveTo: 'Republisher', redriver });
  const deployed = { parked: parked(from, 'republisher-1'), stuck: parked(stuck, 'away') };
  const started: string[] = [];
  const queues = new SqsQueues(client, deployed, { nowMs: Date.now }, async (name, body) => {
    if (name === 'away') throw new Error('throttled');
    started.push(`${name} ${body}`);
  });
  for (const QueueUrl of [from, stuck])
    await client.send(new SendMessageCommand({ QueueUrl, MessageBody: '{"eventName":"INSERT"}' }));
  const which = { beforeMs: Date.now() + 60_000, stopAtMs: Date.now() + LONG_MS };
  await expect(queues.redrive('stuck', which)).rejects.toMatchObject({ code: 'queues_unavailable' });
  expect(await queues.redrive('parked', which)).toBe(1);
  expect(started).toEqual(['republisher-1 {"eventName":"INSERT"}']);
  expect(await Promise.all(['stuck', 'parked'].map((queue) => queues.count(queue)))).toEqual([1, 0]);
});

test('two concurrent redrives put each dead letter back into its queue once and unchanged, and move no newer dead letter', async () => {
  const to = await made();
  const from = await made();
  const deployed = { letters: { url: from, isKept: true, redriveTo: 'tasks' }, tasks: { url: to, isKept: false } };
  const queues = new SqsQueues(client, deployed, { nowMs: Date.now });
  const send = (MessageBody: string) =>
    client.send(
      new SendMessageCommand({
        QueueUrl: from,
        MessageBody,
        MessageAttributes: { reason: { DataType: 'String', StringValue: 'malformed' } },
        MessageGroupId: 'ten_1',
      }),
    );
  const bodies = Array.from({ length: 25 }, (_, index) => `letter ${index}`);
  for (const body of bodies) await send(body);
  // The local AWS uses the clock of this machine, so its times can be compared with `Date.now()`.
  const beforeMs = Date.now() + 1;
  await until(async () => Date.now() > beforeMs || undefined);
  await send('newer');
  expect((await queues.peek('letters', 20)).length).toBeGreaterThan(10);
  // After the listing, the messages are visible again. Of two concurrent calls, only one moves each message.
  const stopAtMs = Date.now() + LONG_MS;
  const moved = await Promise.all([1, 2].map(() => queues.redrive('letters', { beforeMs, stopAtMs })));
  expect((moved[0] ?? 0) + (moved[1] ?? 0)).toBe(bodies.length);
  expect(await queues.redrive('letters', { beforeMs, stopAtMs: 0 })).toBe(0);
  expect(await queues.count('letters')).toBe(1);
  const found: Message[] = [];
  await until(async () => {
    const { Messages = [] } = await client.send(
      new ReceiveMessageCommand({
        QueueUrl: to,
        MaxNumberOfMessages: 10,
        MessageAttributeNames: ['All'],
        MessageSystemAttributeNames: ['All'],
      }),
    );
    found.push(...Messages);
    return found.length >= bodies.length || undefined;
  });
  expect(new Set(found.map(({ Body }) => Body))).toEqual(new Set(bodies));
  expect(new Set(found.map(({ MessageAttributes }) => MessageAttributes?.['reason']?.StringValue))).toEqual(
    new Set(['malformed']),
  );
  expect(new Set(found.map(({ Attributes }) => Attributes?.MessageGroupId))).toEqual(new Set(['ten_1']));
});

async function made(): Promise<string> {
  const { QueueUrl = '' } = await client.send(
    new CreateQueueCommand({ QueueName: `operators-${crypto.randomUUID()}` }),
  );
  urls.push(QueueUrl);
  return QueueUrl;
}

test('of two requests for one dead letter, only one can move or delete it; all other dead letters stay visible', async () => {
  const [from, to] = [await made(), await made()];
  const deployed = { letters: { url: from, isKept: true, redriveTo: 'tasks' }, tasks: { url: to, isKept: false } };
  const queues = new SqsQueues(client, deployed, { nowMs: Date.now });
  for (let index = 0; index < 15; index += 1)
    await client.send(new SendMessageCommand({ QueueUrl: from, MessageBody: `letter ${index}` }));
  const [one, other] = await queues.peek('letters', 15);
  const stopAtMs = Date.now() + LONG_MS;
  const hold = (id = '') => queues.hold('letters', id, stopAtMs);
  const held = await Promise.all([hold(one?.id), hold(one?.id)]);
  expect(held.filter((each) => each !== undefined)).toMatchObject([{ id: one?.id, needsOperator: true }]);
  await held.find((each) => each !== undefined)?.redrive();
  await (await hold(other?.id))?.delete();
  expect([await queues.count('letters'), await queues.count('tasks')]).toEqual([13, 1]);
  expect(await hold(one?.id)).toBeUndefined();
  expect((await queues.peek('letters', 15)).length).toBe(13);
});

test('a message that could not be moved is visible again immediately', async () => {
  const from = await made();
  const deployed = { stuck: { url: from, isKept: true, redriveTo: 'Republisher', redriver: 'away' } };
  const queues = new SqsQueues(client, deployed, { nowMs: Date.now }, () => Promise.reject(new Error('throttled')));
  await client.send(new SendMessageCommand({ QueueUrl: from, MessageBody: '{"eventName":"INSERT"}' }));
  const [{ id } = { id: '' }] = await queues.peek('stuck', 1);
  const hold = () => queues.hold('stuck', id, Date.now() + LONG_MS);
  await expect((await hold())?.redrive()).rejects.toMatchObject({ code: 'queues_unavailable' });
  expect(await hold()).toMatchObject({ id });
});
