import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { ListQueuesCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { lateRecords } from '../../lambdas/archive/store/late-records.ts';
import { readChainRow } from '../../lambdas/archive/store/read-chain-row.ts';
import type { RepublishAnswer } from '../../lambdas/events/contract.ts';
import { readEvent } from '../../lambdas/events/http/event-schemas.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { transitionSort } from '../../lambdas/payments/store/items.ts';
import { ApiClient } from '../support/api-client.ts';
import { askSandbox, CREDENTIALS, dynamoDbClient, localAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';
import { EventListener, stackOutput } from './event-listener.ts';

const listener = new EventListener();
beforeAll(() => listener.start());
afterAll(() => listener.stop());

describe('on the deployed stack,', () => {
  const aws = localAws();
  const api = new ApiClient(aws, aws.apiKey);
  const run = crypto.randomUUID().slice(0, 8);
  let paymentId: unknown;

  test('the outcome of a payment reaches a subscriber of the bus; the event is readable and complete', async () => {
    const metadata = { affiliate: `aff_${run}`, order: '6735', receipt_email: `${run}@example.com` };
    const body = { description: 'two shirts', metadata };
    ({ id: paymentId } = (await api.pay({ key: `events-${run}`, body })).json);
    const [event] = await listener.received(paymentId, 1);
    expect(event).toMatchObject({
      tenant: aws.tenantId,
      event: { type: 'payment.completed', version: 1, sequence: 2, data: { object: { id: paymentId, ...body } } },
    });
    expect(readEvent('payment.completed.v1', event)).toMatchObject({ kind: 'event' });
  });

  test('a republished outcome is the same event', async () => {
    const { awsEndpoint: endpoint, region } = aws;
    const lambda = new LambdaClient({ endpoint, region, credentials: CREDENTIALS });
    // A wider range would also republish the events that other tests lose on purpose and wait for.
    const [{ occurredAtMs } = { occurredAtMs: 0 }] = await listener.received(paymentId, 1);
    const range = { sinceMs: occurredAtMs, untilMs: occurredAtMs + 1 };
    const { Payload } = await lambda.send(
      new InvokeCommand({
        FunctionName: await stackOutput('service', 'republishFunction'),
        Payload: JSON.stringify(range),
      }),
    );
    const answer = JSON.parse(Buffer.from(Payload ?? []).toString('utf8')) as RepublishAnswer;
    expect(answer.published).toBeGreaterThan(0);
    expect(answer).toEqual({ found: answer.published, published: answer.published });
    const [first, again] = await listener.received(paymentId, 2);
    expect(again).toEqual(first);
  });

  test('a redrive that is requested twice publishes a parked event once', async () => {
    const { awsEndpoint: endpoint, region } = aws;
    const { Items = [] } = await documentClient(dynamoDbClient()).send(
      new QueryCommand({
        TableName: aws.tables.ledger,
        KeyConditionExpression: 'pk = :pk AND sk = :sk',
        ExpressionAttributeValues: { ':pk': `PAY#${String(paymentId)}`, ':sk': transitionSort(2) },
        ConsistentRead: true,
      }),
    );
    const [[record] = []] = lateRecords(Items.map((item) => ({ row: readChainRow(item), item })));
    const sqs = new SQSClient({ endpoint, region, credentials: CREDENTIALS });
    const QueueUrl = await stackOutput('service', 'parkedRecordsQueue');
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: JSON.stringify(record) }));

    const authorization = `Bearer ${aws.operatorKey}`;
    const key = { 'idempotency-key': `parked-${run}` };
    const redrive = () =>
      api.send('POST', '/v1/admin/queues/Events-Parked/redrive', { headers: { authorization, ...key } });
    const answers = await Promise.all([redrive(), redrive()]);
    expect(answers.map(({ status }) => status)).toEqual([202, 202]);
    expect(answers[0]?.json).toMatchObject({ queue: 'Events-Parked', to: 'Events-Republisher' });
    expect(answers[1]?.text).toBe(answers[0]?.text);
    const received = await listener.received(paymentId, 3);
    expect(received).toEqual([received[0], received[0], received[0]]);
  });

  test('an operator redrives a dead letter to its queue, whose function processes it', async () => {
    const { awsEndpoint: endpoint, region } = aws;
    const sqs = new SQSClient({ endpoint, region, credentials: CREDENTIALS });
    const { QueueUrls = [] } = await sqs.send(new ListQueuesCommand({}));
    const QueueUrl = QueueUrls.find((url) => url.includes('ViewsEventsTasksDeadLetters'));
    const [detail] = await listener.received(paymentId, 1);
    const id = String(detail?.event.id);
    const name = `${String(detail?.event.type)}.v1`;
    const event = { id: crypto.randomUUID(), 'detail-type': name, source: 'payonce', time: new Date(), detail };
    const { MessageId: entry } = await sqs.send(
      new SendMessageCommand({ QueueUrl, MessageBody: JSON.stringify(event) }),
    );
    const authorization = `Bearer ${aws.operatorKey}`;
    const headers = { authorization, 'content-type': 'application/json', 'idempotency-key': `dead-${run}` };
    const [from, to] = ['Views-Events-Tasks-DeadLetters', 'Views-Events-Tasks-Queue'];
    const body = JSON.stringify({ entry });
    const redriven = await api.send('POST', `/v1/admin/queues/${from}/redrive`, { headers, body });
    expect([redriven.status, redriven.json]).toMatchObject([202, { queue: from, entry, to }]);
    await until(async () => {
      const rows = (await api.send('GET', '/v1/admin/queues', { headers: { authorization } })).json['data'];
      const ofViews = (rows as { readonly id: string; readonly waiting: number }[]).filter((each) =>
        [from, to].includes(each.id),
      );
      return ofViews.every(({ waiting }) => waiting === 0) || undefined;
    });
    expect((await api.send('GET', `/v1/events/${id}`)).status).toBe(200);
  });

  test('a payment has one receipt and one commission', async () => {
    const commissions = await commissionsOf(`aff_${run}`);
    expect(commissions).toMatchObject([{ sk: '6735', payment: paymentId, status: 'locked' }]);
    const count = await until(async () => {
      const sent = await askSandbox(`/messages/outbound?count=50&offset=0&recipient=${run}@example.com`);
      const { TotalCount } = (await sent.json()) as { TotalCount: number };
      return TotalCount === 0 ? undefined : TotalCount;
    });
    expect(count).toBe(1);
  });

  test('an order whose charge is declined has one commission, which is canceled', async () => {
    const body = {
      amount: 2_000,
      currency: 'EUR',
      source: 'tok_declined',
      items: [{ sku: 'sku_tea', quantity: 1 }],
      email: 'ada@example.com',
      affiliate: `order_${run}`,
    };
    const { status, json } = await api.send('POST', '/v1/orders', {
      headers: { 'content-type': 'application/json', 'idempotency-key': `affiliate-${run}` },
      body: JSON.stringify(body),
    });
    expect(status).toBe(402);
    const { id, payment } = json['order'] as Readonly<Record<string, unknown>>;
    await until(async () => ((await commissionsOf(`order_${run}`))[0]?.['sequence'] === 1 ? true : undefined));
    expect(await commissionsOf(`order_${run}`)).toMatchObject([
      { sk: id, payment, status: 'canceled', amountMinor: 0 },
    ]);
  });

  async function commissionsOf(affiliate: string) {
    return until(async () => {
      const rows = await documentClient(dynamoDbClient()).send(
        new QueryCommand({
          TableName: aws.tables.registry,
          KeyConditionExpression: 'pk = :pk',
          ExpressionAttributeValues: { ':pk': `COMMISSION#${aws.tenantId}#test#${affiliate}` },
          ConsistentRead: true,
        }),
      );
      return rows.Items?.length === 0 ? undefined : rows.Items;
    });
  }
});
