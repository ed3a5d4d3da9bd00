import { documentClient } from '../adapters/dynamodb/document-client.ts';
import { DynamoDbEffects } from '../adapters/dynamodb/dynamodb-effects.ts';
import { DynamoDbStore } from '../adapters/dynamodb/dynamodb-store.ts';
import { idempotentRunner } from '../adapters/powertools/idempotent-runner.ts';
import { configuredProcessors } from '../adapters/processor/configured-processors.ts';
import { systemClock, systemDigest, systemEntropy } from '../adapters/system/platform.ts';
import { type RetriedOrphans, retryOrphans } from '../app/retry-orphans.ts';
import type { AlarmMetric } from '../contract/metrics.ts';
import { readPaymentsConfig } from '../runtime/config.ts';
import { standardTelemetry } from '../runtime/telemetry.ts';

const config = readPaymentsConfig(process.env);
const { tables } = config;
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const effects = new DynamoDbEffects(client, tables, pacing, new DynamoDbStore(client, tables, pacing));
const { books } = await configuredProcessors(config, systemClock);
const telemetry = standardTelemetry('orphaned-callbacks');

/** Tries callbacks again that found no payment when they came. Run by the clock. */
export async function handler(): Promise<RetriedOrphans> {
  const alarms: Partial<Record<AlarmMetric, number>> = {};
  const retried = await retryOrphans({
    effects,
    shelf: effects,
    books,
    runner: idempotentRunner,
    digest: systemDigest,
    ...pacing,
    alarm: (what) => {
      alarms[what] = (alarms[what] ?? 0) + 1;
    },
    report: (error) => telemetry.fault('retry orphaned callbacks', error),
  });
  const counts = { orphan_adopted: retried.adopted, orphan_given_up: retried.givenUp, ...alarms };
  telemetry.run('retry orphaned callbacks', counts, { ...retried });
  return retried;
}
