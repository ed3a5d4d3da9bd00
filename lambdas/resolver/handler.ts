import { documentClient } from '../adapters/dynamodb/document-client.ts';
import { DynamoDbEffects } from '../adapters/dynamodb/dynamodb-effects.ts';
import { DynamoDbOrders } from '../adapters/dynamodb/dynamodb-orders.ts';
import { DynamoDbStore } from '../adapters/dynamodb/dynamodb-store.ts';
import { DynamoDbUnfinishedWork } from '../adapters/dynamodb/dynamodb-unfinished.ts';
import { ProcessReplayCache } from '../adapters/memory/replay-cache.ts';
import { idempotentRunner } from '../adapters/powertools/idempotent-runner.ts';
import { configuredProcessors } from '../adapters/processor/configured-processors.ts';
import { systemClock, systemDigest, systemEntropy } from '../adapters/system/platform.ts';
import { configuredParties } from '../adapters/vendors/configured-parties.ts';
import { observedWork } from '../app/observed-work.ts';
import { backlogTelemetry } from '../runtime/backlog-telemetry.ts';
import { readPaymentsConfig } from '../runtime/config.ts';
import { outboundTelemetry } from '../runtime/outbound-telemetry.ts';
import { readPartiesConfig } from '../runtime/parties-config.ts';
import { standardTelemetry } from '../runtime/telemetry.ts';
import { resolverRuns, unreadableRows } from './resolver-runs.ts';

const config = readPaymentsConfig(process.env);
const { tables } = config;
const parties = readPartiesConfig(process.env);
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const store = new DynamoDbStore(client, tables, pacing);

const telemetry = standardTelemetry('resolver');
const unreadable = unreadableRows(telemetry);

/** Ends what nobody else finishes: open claims, unknown outcomes, charges that must go back, orders. Run by the clock. */
export const handler = resolverRuns({
  store,
  effects: new DynamoDbEffects(client, tables, pacing, store),
  work: observedWork(
    new DynamoDbUnfinishedWork(client, tables, pacing, store, unreadable),
    systemClock,
    backlogTelemetry(),
  ),
  orders: new DynamoDbOrders(client, tables, pacing, store, unreadable),
  ...(await configuredProcessors(config, systemClock)),
  ...(parties === undefined
    ? {}
    : { parties: await configuredParties(parties, { client, observer: outboundTelemetry(), ...pacing }) }),
  runner: idempotentRunner,
  replays: new ProcessReplayCache(),
  telemetry,
  digest: systemDigest,
  ...pacing,
});
