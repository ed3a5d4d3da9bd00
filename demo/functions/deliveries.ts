import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import { ACKNOWLEDGEMENT_HOLD_MS, HOLD, paymentPartition, ReceiptRow } from '../contract.ts';

export interface Delivery {
  readonly eventId: string;
  readonly type: string;
  readonly paymentId: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Call it before the deliveries are processed. */
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

/** During the delay, the demonstration kills the consumer between its effect and its acknowledgement. */
export async function holdAcknowledgement(deliveries: readonly Delivery[]): Promise<void> {
  const isHeld = deliveries.some(({ metadata }) => metadata[HOLD.name] === HOLD.acknowledgement);
  if (isHeld) await sleep(ACKNOWLEDGEMENT_HOLD_MS);
}
