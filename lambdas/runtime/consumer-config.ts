import * as z from 'zod';
import { Environment, POWERTOOLS_IDEMPOTENCY_DISABLED } from '../contract/environment.ts';

/** What a consumer of events was deployed with; of the tables that it does not write, nothing is said. */
export interface ConsumerConfig {
  readonly tables: { readonly idempotency: string; readonly views?: string; readonly registry?: string };
  readonly parkingQueueUrl: string;
}

type Variables = Readonly<Record<string, string | undefined>>;

const tableName = z.string('is not set').regex(/^[A-Za-z0-9_.-]{3,255}$/, 'must be the name of a DynamoDB table');
const queueUrl = z.url('must be the address of an SQS queue');
const consumerEnvironment = z.object({
  [Environment.idempotencyTable]: tableName,
  [Environment.viewsTable]: tableName.exactOptional(),
  [Environment.registryTable]: tableName.exactOptional(),
  [Environment.parkingQueueUrl]: queueUrl,
});

/** @throws Error naming the variable that is missing or wrong, or the one that would switch idempotency off */
export function readConsumerConfig(environment: Variables): ConsumerConfig {
  if (environment[POWERTOOLS_IDEMPOTENCY_DISABLED] !== undefined) {
    throw new Error(
      `${POWERTOOLS_IDEMPOTENCY_DISABLED} is set: remove it, this function never runs without idempotency`,
    );
  }
  const data = read(consumerEnvironment, environment);
  const views = data[Environment.viewsTable];
  const registry = data[Environment.registryTable];
  return {
    tables: {
      idempotency: data[Environment.idempotencyTable],
      ...(views === undefined ? {} : { views }),
      ...(registry === undefined ? {} : { registry }),
    },
    parkingQueueUrl: data[Environment.parkingQueueUrl],
  };
}

/** What puts events on the bus was deployed with. */
export interface PublisherConfig {
  readonly ledgerTable: string;
  readonly eventBus: string;
}

const publisherEnvironment = z.object({
  [Environment.ledgerTable]: tableName,
  [Environment.eventBus]: z.string('is not set').min(1, 'must be the name of an event bus'),
});

/** @throws Error naming the variable that is missing or wrong */
export function readPublisherConfig(environment: Variables): PublisherConfig {
  const data = read(publisherEnvironment, environment);
  return { ledgerTable: data[Environment.ledgerTable], eventBus: data[Environment.eventBus] };
}

/** What the relay was deployed with. @throws Error as {@link readPublisherConfig} */
export function readRelayConfig(environment: Variables): PublisherConfig & Pick<ConsumerConfig, 'parkingQueueUrl'> {
  const data = read(z.object({ [Environment.parkingQueueUrl]: queueUrl }), environment);
  return { ...readPublisherConfig(environment), parkingQueueUrl: data[Environment.parkingQueueUrl] };
}

function read<Value>(schema: z.ZodType<Value>, environment: Variables): Value {
  const parsed = schema.safeParse(environment);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`the environment variable ${issue?.path.join('.') ?? ''} ${issue?.message ?? 'is wrong'}`);
}
