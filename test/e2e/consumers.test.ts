import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import { expect, test } from '@jest/globals';
import { documentClient } from '../../lambdas/adapters/dynamodb/document-client.ts';
import { ANY_POSTMARK_TOKEN } from '../../lambdas/contract/mail-api.ts';
import { ApiClient } from '../support/api-client.ts';
import { dynamoDbClient, localAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';

const aws = localAws();
const api = new ApiClient(aws, aws.apiKey);
const run = crypto.randomUUID().slice(0, 8);
const AFFILIATE = `aff-${run}`;
const PAYER = `payer-${run}@example.com`;

/** As the mailer counts them. */
async function letters(): Promise<number> {
  const answer = await fetch(`${aws.sandboxUrl}/messages/outbound?count=50&offset=0&recipient=${PAYER}`, {
    headers: { 'X-Postmark-Server-Token': ANY_POSTMARK_TOKEN },
  });
  return ((await answer.json()) as { TotalCount: number }).TotalCount;
}

async function commissions(): Promise<readonly Record<string, unknown>[]> {
  const { Items = [] } = await documentClient(dynamoDbClient()).send(
    new QueryCommand({
      TableName: aws.tables.registry,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': `COMMISSION#${aws.tenantId}#test#${AFFILIATE}` },
    }),
  );
  return Items;
}

test('a payment that asks for them has one receipt and one commission, and a refund takes its share back', async () => {
  const metadata = { receipt_email: PAYER, affiliate: AFFILIATE, order: `order-${run}` };
  const paid = await api.pay({ key: `consumers-${run}`, body: { metadata } });
  expect(paid.status).toBe(201);
  await until(async () => ((await letters()) > 0 && (await commissions()).length > 0 ? true : undefined));
  expect(await commissions()).toMatchObject([{ amountMinor: 100, currency: 'EUR', status: 'locked' }]);

  const refund = await api.send('POST', `/v1/payments/${String(paid.json['id'])}/refunds`, {
    headers: { 'content-type': 'application/json', 'idempotency-key': `consumers-refund-${run}` },
    body: JSON.stringify({ amount: 400 }),
  });
  expect(refund.status).toBe(201);
  await until(async () => ((await commissions())[0]?.['amountMinor'] === 60 ? true : undefined));
  expect([await letters(), await commissions()]).toMatchObject([1, [{ status: 'locked' }]]);
}, 60_000);
