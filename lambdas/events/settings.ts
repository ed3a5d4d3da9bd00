import * as z from 'zod';
import { Environment, PROJECTOR_QUEUE_URL, RELAY_PARKING_QUEUE_URL } from '../kernel/contract/environment.ts';
import { defined } from '../kernel/defined.ts';
import { queueUrl, readVariable, readVariables, tableName, type Variables } from '../kernel/platform/variables.ts';

/** Tables that the consumer does not write are absent. */
export interface ConsumerConfig {
  readonly tables: { readonly idempotency: string; readonly views?: string; readonly registry?: string };
  readonly parkingQueueUrl: string;
}

const consumerEnvironment = z.object({
  [Environment.idempotencyTable]: tableName,
  [Environment.viewsTable]: tableName.exactOptional(),
  [Environment.registryTable]: tableName.exactOptional(),
  [Environment.parkingQueueUrl]: queueUrl,
});

/** @throws Error naming the variable that is missing or wrong */
export function readConsumerConfig(environment: Variables): ConsumerConfig {
  const data = readVariables(consumerEnvironment, environment);
  const views = data[Environment.viewsTable];
  const registry = data[Environment.registryTable];
  return {
    tables: {
      idempotency: data[Environment.idempotencyTable],
      ...defined({ views, registry }),
    },
    parkingQueueUrl: data[Environment.parkingQueueUrl],
  };
}

export interface PublisherConfig {
  readonly tables: { readonly ledger: string; readonly registry: string };
  readonly eventBus: string;
}

const publisherEnvironment = z.object({
  [Environment.ledgerTable]: tableName,
  [Environment.registryTable]: tableName,
  [Environment.eventBus]: z.string('is not set').min(1, 'must be the name of an event bus'),
});

/** @throws Error naming the variable that is missing or wrong */
export function readPublisherConfig(environment: Variables): PublisherConfig {
  const data = readVariables(publisherEnvironment, environment);
  const tables = { ledger: data[Environment.ledgerTable], registry: data[Environment.registryTable] };
  return { tables, eventBus: data[Environment.eventBus] };
}

/** @throws Error as {@link readConsumerConfig} */
export function readReceiptConfig(environment: Variables) {
  const { tables, parkingQueueUrl } = readConsumerConfig(environment);
  const ledger = z.object({ [Environment.ledgerTable]: tableName, [Environment.registryTable]: tableName });
  const data = readVariables(ledger, environment);
  return {
    tables: { ...tables, ledger: data[Environment.ledgerTable], registry: data[Environment.registryTable] },
    parkingQueueUrl,
  };
}

/** @throws Error as {@link readPublisherConfig} */
export function readRelayConfig(environment: Variables): PublisherConfig & Pick<ConsumerConfig, 'parkingQueueUrl'> {
  const parkingQueueUrl = readVariable(Environment.parkingQueueUrl, queueUrl, environment);
  return { ...readPublisherConfig(environment), parkingQueueUrl };
}

const seconds = z.coerce
  .number('must be a number of seconds')
  .int('must be a whole number of seconds')
  .min(1, 'must be at least 1 second');

/**
 * If the projector has not seen an event after `lostAfterSeconds`, the event is considered lost.
 *
 * @throws Error as {@link readPublisherConfig}
 */
export function readLostEventsConfig(environment: Variables): PublisherConfig & {
  readonly lostAfterSeconds: number;
  readonly projectorQueueUrl: string;
  /** The relay's queue of parked records. */
  readonly parkingQueueUrl: string;
} {
  return {
    ...readPublisherConfig(environment),
    lostAfterSeconds: readVariable(Environment.lostAfterSeconds, seconds, environment),
    projectorQueueUrl: readVariable(PROJECTOR_QUEUE_URL, queueUrl, environment),
    parkingQueueUrl: readVariable(RELAY_PARKING_QUEUE_URL, queueUrl, environment),
  };
}
