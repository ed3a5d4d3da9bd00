import { documentClient } from '../adapters/dynamodb/document-client.ts';
import { DynamoDbEffects } from '../adapters/dynamodb/dynamodb-effects.ts';
import { DynamoDbStore } from '../adapters/dynamodb/dynamodb-store.ts';
import { DynamoDbUnfinishedWork } from '../adapters/dynamodb/dynamodb-unfinished.ts';
import { ProcessReplayCache } from '../adapters/memory/replay-cache.ts';
import { idempotentRunner } from '../adapters/powertools/idempotent-runner.ts';
import { configuredProcessors } from '../adapters/processor/configured-processors.ts';
import { systemClock, systemDigest, systemEntropy } from '../adapters/system/platform.ts';
import { type Resolved, resolveClaims, resolveInquiries } from '../app/resolve.ts';
import { returnCharges } from '../app/return-charges.ts';
import { readPaymentsConfig } from '../runtime/config.ts';
import { standardTelemetry } from '../runtime/telemetry.ts';

const config = readPaymentsConfig(process.env);
const { tables } = config;
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const store = new DynamoDbStore(client, tables, pacing);
const telemetry = standardTelemetry('resolver');
const processors = await configuredProcessors(config, systemClock);
const tools = {
  store,
  effects: new DynamoDbEffects(client, tables, pacing, store),
  work: new DynamoDbUnfinishedWork(client, tables, pacing, store),
  ...processors,
  runner: idempotentRunner,
  replays: new ProcessReplayCache(),
  digest: systemDigest,
  report: (error: unknown) => telemetry.fault('resolver', error),
  ...pacing,
};

/** Ends what nobody else finishes: open claims, unknown outcomes, charges that must go back. Run by the clock. */
export async function handler(): Promise<Readonly<Record<string, Resolved>>> {
  const came: Record<string, Resolved> = {};
  for (const [name, run] of [
    ['claims', () => resolveClaims(tools)],
    ['inquiries', () => resolveInquiries(tools)],
    ['returns', () => returnCharges(tools)],
  ] as const) {
    came[name] = await run();
    telemetry.run(
      `resolve ${name}`,
      { resolved: came[name].finished, unavailable: came[name].failed, undecidable: came[name].undecidable },
      { ...came[name] },
    );
  }
  return came;
}
