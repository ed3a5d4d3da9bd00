import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import * as z from 'zod';
import { retentionHours } from '../../kernel/contract/retention.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import { type ExpiryOptions, expirySeconds } from '../../once/domain/idempotency.ts';
import { consumerOperation } from '../../once/ids.ts';
import { refuseTooOld } from '../../once/use/consume-event.ts';
import { commitOnce } from '../../once/use/execute-once.ts';
import type { OperationRunner } from '../../once/use/operation-runner.ts';
import { serviceOperation } from '../ids.ts';
import type { ConsumedRecords, OwnWrite } from './own-records.ts';

/** An event on Payonce's bus. `event.data.object` is its payment, refund, dispute or order. */
export interface BusEvent {
  readonly tenant: string;
  readonly mode: 'test' | 'live';
  /** Unix milliseconds. */
  readonly occurredAtMs: number;
  readonly event: { readonly id: string; readonly type: string; readonly data: { readonly object: unknown } };
}

export interface OwnConsumer<Write extends OwnWrite> {
  /** The handler name, in lower case with hyphens. It must never change, because records contain it. */
  readonly handler: string;
  /**
   * Returns the business key, for example the order id. A key takes effect only once, permanently.
   * @default the event id, which takes effect only once in 30 days
   */
  readonly key?: (event: BusEvent) => string;
  /** Returns the writes of an event, at most 99. Called again when the condition of a write fails. */
  readonly handle: (event: BusEvent) => Promise<readonly Write[]>;
}

export interface ConsumeBatchTools extends Pick<ExpiryOptions, 'retention'> {
  readonly records: ConsumedRecords;
  readonly runner: OperationRunner;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly digest: Digest;
}

const envelope = z.object({
  detail: z.looseObject({
    tenant: z.string(),
    mode: z.enum(['test', 'live']),
    occurredAtMs: z.int(),
    event: z.looseObject({ id: z.string().min(1), type: z.string(), data: z.object({ object: z.unknown() }) }),
  }),
});

/**
 * Processes each message of a batch separately. A message that fails or cannot be parsed stays in the queue until the
 * queue moves it to the dead-letter queue.
 */
export async function consumeBatch<Write extends OwnWrite>(
  tools: ConsumeBatchTools,
  consumer: OwnConsumer<Write>,
  { Records }: SQSEvent,
): Promise<SQSBatchResponse> {
  const settled = await Promise.allSettled(
    Records.map(async ({ body }) => consume(tools, consumer, envelope.parse(JSON.parse(body)).detail)),
  );
  const failed = Records.filter((_, index) => settled[index]?.status === 'rejected');
  return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
}

async function consume<Write extends OwnWrite>(
  tools: ConsumeBatchTools,
  { handler, key, handle }: OwnConsumer<Write>,
  event: BusEvent,
): Promise<void> {
  const { records, runner, digest } = tools;
  if (key === undefined) refuseTooOld(event, retentionHours('events', tools.retention), tools.clock.nowMs());
  const operationId =
    key === undefined
      ? consumerOperation(digest, handler, event.event.id)
      : serviceOperation(digest, ['consumer', handler, event.tenant, event.mode, key(event)]);
  await commitOnce<readonly Write[], true>(runner, {
    operationId,
    find: async () => ((await records.readEffect(operationId)) === undefined ? undefined : true),
    prepare: () => handle(event),
    write: async (writes) => {
      const recordedAtMs = tools.clock.nowMs();
      const expiry = key === undefined ? { expiresAtSeconds: expirySeconds(tools, 'events', recordedAtMs) } : {};
      const record = { operationId, owner: tools.entropy.ownerToken(), recordedAtMs, ...expiry };
      const outcome = await records.recordEffect(record, writes);
      return outcome === 'refused' ? { kind: 'again', prepared: await handle(event) } : { kind: 'done', outcome: true };
    },
  });
}
