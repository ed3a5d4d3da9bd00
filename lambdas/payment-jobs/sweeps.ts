import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { HOLDS } from '../adapters/dynamodb/due-rows.ts';
import { DynamoDbDueQueue } from '../adapters/dynamodb/dynamodb-due-queue.ts';
import { DynamoDbEffects } from '../adapters/dynamodb/dynamodb-effects.ts';
import { DynamoDbOrders } from '../adapters/dynamodb/dynamodb-orders.ts';
import { DynamoDbStore } from '../adapters/dynamodb/dynamodb-store.ts';
import { DynamoDbUnfinishedWork } from '../adapters/dynamodb/dynamodb-unfinished.ts';
import { ProcessReplayCache } from '../adapters/memory/replay-cache.ts';
import { idempotentRunner } from '../adapters/powertools/idempotent-runner.ts';
import { configuredProcessors } from '../adapters/processor/configured-processors.ts';
import { systemClock, systemDigest, systemEntropy } from '../adapters/system/platform.ts';
import { configuredParties } from '../adapters/vendors/configured-parties.ts';
import { expireAuthorizationsJob } from '../app/expire-authorizations.ts';
import type { Job } from '../app/job.ts';
import { observedWork } from '../app/observed-work.ts';
import type { Resolved } from '../app/resolve.ts';
import { resolveJob } from '../app/resolve-all.ts';
import { type RetriedOrphans, retryOrphansJob } from '../app/retry-orphans.ts';
import type { AlarmMetric } from '../contract/metrics.ts';
import { backlogTelemetry } from '../runtime/backlog-telemetry.ts';
import type { PaymentsConfig } from '../runtime/config.ts';
import { outboundTelemetry } from '../runtime/outbound-telemetry.ts';
import type { readPartiesConfig } from '../runtime/parties-config.ts';
import type { Telemetry } from '../runtime/telemetry.ts';

export interface PaymentSweepsParts {
  readonly config: PaymentsConfig;
  /** Undefined where orders are not taken. */
  readonly parties: ReturnType<typeof readPartiesConfig>;
  readonly client: DynamoDBDocumentClient;
  readonly telemetry: Telemetry;
}

/** The jobs that move money, on the tables and the processors that this function was deployed with. */
export async function paymentSweeps(
  parts: PaymentSweepsParts,
): Promise<Readonly<Record<'resolve' | 'retry-orphans' | 'expire-authorizations', Job>>> {
  const { config, parties, client, telemetry } = parts;
  const { tables } = config;
  const pacing = { clock: systemClock, entropy: systemEntropy };
  const store = new DynamoDbStore(client, tables, pacing);
  const unreadable = unreadableRows(telemetry);
  const effects = new DynamoDbEffects(client, tables, pacing, store, unreadable);
  const payments = {
    store,
    effects,
    ...(await configuredProcessors(config, systemClock)),
    runner: idempotentRunner,
    replays: new ProcessReplayCache(),
    digest: systemDigest,
    report: (error: unknown) => telemetry.fault('payment-jobs', error),
    // At once: a process that dies later has told.
    alarm: (what: AlarmMetric) => telemetry.run('alarm', { [what]: 1 }, { [what]: 1 }),
    ...pacing,
  };
  return {
    resolve: resolveJob({
      ...payments,
      work: observedWork(
        new DynamoDbUnfinishedWork(client, tables, pacing, store, unreadable),
        systemClock,
        backlogTelemetry(),
      ),
      orders: new DynamoDbOrders(client, tables, pacing, store, unreadable),
      ...(parties === undefined
        ? {}
        : { parties: await configuredParties(parties, { client, observer: outboundTelemetry(), ...pacing }) }),
      told: (queue, resolved, inReview) => tellResolved(telemetry, queue, resolved, inReview),
    }),
    'retry-orphans': retryOrphansJob({ ...payments, shelf: effects }, (retried) => tellRetried(telemetry, retried)),
    'expire-authorizations': expireAuthorizationsJob({
      ...payments,
      holds: new DynamoDbDueQueue({ client, table: tables.registry, pacing, unreadable }, HOLDS),
    }),
  };
}

function tellResolved(telemetry: Telemetry, queue: string, resolved: Resolved, inReview: number): void {
  const { finished, failed, undecidable } = resolved;
  const counts = { resolved: finished, unavailable: failed, undecidable, order_needs_review: inReview };
  telemetry.run(`resolve ${queue}`, counts, { ...resolved });
}

function tellRetried(telemetry: Telemetry, retried: RetriedOrphans): void {
  const counts = { orphan_adopted: retried.adopted, orphan_given_up: retried.givenUp };
  telemetry.run('retry orphaned callbacks', counts, { ...retried });
}

/** A row that the code in place cannot read is for a person: it stays in its queue, and is told of at every reading. */
function unreadableRows(telemetry: Telemetry): (error: unknown) => void {
  return (error) => {
    telemetry.fault('payment-jobs', error);
    telemetry.run('resolve unreadable', { undecidable: 1 }, { unreadable: 1 });
  };
}
