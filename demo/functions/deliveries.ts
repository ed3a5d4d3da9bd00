import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import { HOLD, HOLD_MS, paymentPartition, ReceiptRow } from '../contract.ts';

/** What both consumers count by. */
export interface Delivery {
  readonly eventId: string;
  readonly type: string;
  readonly paymentId: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Keeps what was delivered, however often, before anything is done about it. */
export async function noteDeliveries(
  client: DynamoDBDocumentClient,
  table: string,
  deliveries: readonly Delivery[],
): Promise<void> {
  for (const { paymentId, eventId, type } of deliveries) {
    const row = { pk: paymentPartition(paymentId), sk: `${ReceiptRow.delivery}${randomUUID()}`, eventId, type };
    await client.send(new PutCommand({ TableName: table, Item: row }));
  }
}

/** A consumer that dies between its effect and its acknowledgement does so by chance: this makes room for the chance. */
export async function holdAcknowledgement(deliveries: readonly Delivery[]): Promise<void> {
  if (deliveries.some(({ metadata }) => metadata[HOLD.name] === HOLD.value)) await sleep(HOLD_MS);
}
