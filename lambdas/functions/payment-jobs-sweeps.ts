import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Job } from '../jobs/use/job.ts';
import { observedWork } from '../jobs/use/observed-work.ts';
import type { AlarmMetric } from '../kernel/contract/metrics.ts';
import { HOLDS } from '../kernel/platform/due-rows.ts';
import { systemClock, systemDigest, systemEntropy } from '../kernel/platform/platform.ts';
import type { Telemetry } from '../kernel/platform/telemetry.ts';
import { idempotentRunner } from '../once/idempotent-runner.ts';
import { ProcessReplayCache } from '../once/replay-cache.ts';
import { configuredParties } from '../orders/parties/configured-parties.ts';
import type { readPartiesConfig } from '../orders/parties/settings.ts';
import { DynamoDbOrders } from '../orders/store/dynamodb-orders.ts';
import { outboundTelemetry } from '../outbound/outbound-telemetry.ts';
import { DynamoDbEffects } from '../payments/store/dynamodb-effects.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import { configuredProcessors } from '../processors/configured-processors.ts';
import type { PaymentsConfig } from '../processors/settings.ts';
import { backlogTelemetry } from '../resolving/http/backlog-telemetry.ts';
import { DynamoDbDueQueue } from '../resolving/store/dynamodb-due-queue.ts';
import { DynamoDbUnfinishedWork } from '../resolving/store/dynamodb-unfinished.ts';
import { expireAuthorizationsJob } from '../resolving/use/expire-authorizations.ts';
import type { Resolved } from '../resolving/use/resolve.ts';
import { resolveJob } from '../resolving/use/resolve-all.ts';
import { type RetriedOrphans, retryOrphansJob } from '../resolving/use/retry-orphans.ts';

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
