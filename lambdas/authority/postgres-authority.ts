import { existsSync } from 'node:fs';
import * as z from 'zod';
import type { ActivityDraft } from '../activity/domain/activity.ts';
import { PostgresActivity } from '../activity/store/postgres-activity.ts';
import { erasePostgresDetails } from '../activity/store/postgres-erasure.ts';
import type { JobMarks } from '../jobs/use/job-marks.ts';
import { COMMIT_SECONDS } from '../kernel/contract/timing.ts';
import { loadedOnce } from '../kernel/loaded-once.ts';
import type { Unreadable } from '../kernel/platform/queue-rows.ts';
import type { Secrets } from '../kernel/platform/secrets-manager.ts';
import type { Platform } from '../kernel/platform/system-platform.ts';
import { jsonOf, readVariable, secretId } from '../kernel/platform/variables.ts';
import { ProcessReplayCache } from '../once/process-records.ts';
import type { StoreTables } from '../once/store/transact-items.ts';
import type { ReplayCache } from '../once/use/operation-runner.ts';
import { PostgresApprovals } from '../operators/store/postgres-approvals.ts';
import { PostgresExpiredRecords } from '../operators/store/postgres-expired-records.ts';
import { PostgresQueues } from '../operators/store/postgres-queues.ts';
import { ORDER_CHAIN, PostgresOrders } from '../orders/store/postgres-orders.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import { LedgerCarrier, PAYMENT_CHAIN } from '../payments/store/postgres-carrier.ts';
import { PostgresEffects } from '../payments/store/postgres-effects.ts';
import { PostgresStore } from '../payments/store/postgres-store.ts';
import type { PostgresTools } from '../postgres/attempts.ts';
import { carryOrReport } from '../postgres/carry.ts';
import { carryTelemetry } from '../postgres/carry-telemetry.ts';
import { openDatabase } from '../postgres/connection.ts';
import type { Database } from '../postgres/database.ts';
import { Outbox } from '../postgres/outbox.ts';
import { isLoopback, type Server, secretCredentials, serverSecret } from '../postgres/server.ts';
import { PostgresHolds } from '../resolving/store/postgres-holds.ts';
import { PostgresUnfinishedWork } from '../resolving/store/postgres-unfinished.ts';
import { carryJob } from './carry-job.ts';
import { POSTGRES_AUTHORITY, type PostgresSettings, REPLAY_CACHE_TABLE } from './contract.ts';
import { TableReplayCache } from './replay-cache.ts';
import { replayTelemetry } from './replay-telemetry.ts';

export interface AuthorityPlatform extends Platform, Secrets {
  /** Opens the database. @default connects to the server of the settings */
  readonly openDatabase?: (settings: PostgresSettings) => Database;
}

const settingsText = jsonOf(
  z.strictObject({
    secretId,
    host: z.string().min(1).exactOptional(),
    port: z.int().min(1).max(65_535).exactOptional(),
    database: z.string().min(1).exactOptional(),
  }) satisfies z.ZodType<PostgresSettings>,
);

/**
 * The CA certificates of RDS in the Lambda runtime (AWS Lambda developer guide, "Building Lambda functions with
 * Node.js", CA certificate loading).
 */
const RDS_CERTIFICATES = '/var/runtime/ca-cert.pem';

export type PostgresAuthority = ReturnType<typeof openPostgresAuthority>;

/** Creates the stores on PostgreSQL. They share one connection, which opens at its first use. */
export function openPostgresAuthority(platform: AuthorityPlatform, tables: StoreTables) {
  const { documents, clock, entropy, retention, instruments, variables } = platform;
  const settings = readVariable(POSTGRES_AUTHORITY, settingsText, variables);
  const stores = {
    database: platform.openDatabase?.(settings) ?? connect(platform, settings),
    pacing: { clock, entropy, retention },
  };
  const observer = carryTelemetry(instruments);
  const chains = [PAYMENT_CHAIN, ORDER_CHAIN];
  const carrier = new LedgerCarrier({ ...stores, client: documents, tables, chains, observer });
  const tools: PostgresTools = {
    ...stores,
    // The commit and its copy share the time that a request keeps for them.
    committed: (id, beganMs) =>
      carryOrReport({ carrier: carrier.until(beganMs + COMMIT_SECONDS * 1000), observer }, id),
  };
  const store = new PostgresStore(tools);
  return {
    store,
    orders: (unreadable?: Unreadable) => new PostgresOrders(tools, unreadable),
    effects: (unreadable?: Unreadable) => new PostgresEffects(tools, store, unreadable),
    approvals: new PostgresApprovals(tools, store),
    activity: new PostgresActivity(tools),
    work: (unreadable: Unreadable) => new PostgresUnfinishedWork(tools, unreadable),
    holds: new PostgresHolds(tools),
    queues: new PostgresQueues(tools),
    expired: new PostgresExpiredRecords(tools),
    carryJob: (marks: JobMarks) => carryJob({ outbox: new Outbox(tools), carrier, observer, clock, marks }),
    replays: replayCache(platform),
    copies: new DynamoDbStore(documents, tables, stores.pacing),
    erase: (draft: ActivityDraft) => erasePostgresDetails(tools, carrier, draft),
  };
}

/** Returns the cache of completed records: the table of the deployment, or only this process. */
function replayCache({ documents, clock, entropy, instruments, variables }: AuthorityPlatform): ReplayCache {
  const table = variables[REPLAY_CACHE_TABLE];
  if (table === undefined) return new ProcessReplayCache();
  return new TableReplayCache({ client: documents, table, clock, entropy, observer: replayTelemetry(instruments) });
}

function connect({ clock, secretsManager }: AuthorityPlatform, { secretId: id, ...inSettings }: PostgresSettings) {
  const secrets = loadedOnce(async () => {
    const { SecretReader } = await import('../kernel/platform/secrets-manager.ts');
    return new SecretReader<Server>(await secretsManager(), clock, serverSecret(inSettings));
  });
  const isLocal = inSettings.host !== undefined && isLoopback(inSettings.host);
  return openDatabase({
    clock,
    tls: isLocal ? undefined : { caFile: existsSync(RDS_CERTIFICATES) ? RDS_CERTIFICATES : undefined },
    credentials: secretCredentials(
      {
        active: async (asked) => (await secrets()).active(asked),
        renewed: async (asked) => (await secrets()).renewed(asked),
      },
      id,
    ),
  });
}
