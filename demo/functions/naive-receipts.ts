import { randomUUID } from 'node:crypto';
import { PutCommand } from '@aws-sdk/lib-dynamodb';
import type { SQSEvent } from 'aws-lambda';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { DemoEnvironment, paymentPartition, ReceiptRow } from '../contract.ts';
import { type Delivery, holdAcknowledgement, noteDeliveries } from './deliveries.ts';

const client = documentClient();
const table = process.env[DemoEnvironment.receiptsTable] ?? '';

/** A typical first consumer: it processes the message, then acknowledges it. */
export async function handler({ Records }: SQSEvent): Promise<void> {
  const deliveries = Records.map(({ body }) => (JSON.parse(body) as { detail: Delivery }).detail);
  await noteDeliveries(client, table, deliveries);
  for (const { paymentId, type } of deliveries) {
    const row = { pk: paymentPartition(paymentId), sk: `${ReceiptRow.effect}${randomUUID()}`, type };
    await client.send(new PutCommand({ TableName: table, Item: row }));
  }
  await holdAcknowledgement(deliveries);
}
