import * as z from 'zod';
import { DynamoDbActivity } from '../activity/store/dynamodb-activity.ts';
import { configuredAuthority } from '../authority/configured-authority.ts';
import { authenticatedApi } from '../http/authenticated-api.ts';
import { byPath, operatorApi } from '../http/operator-api.ts';
import { DynamoDbJobMarks } from '../jobs/store/dynamodb-job-marks.ts';
import type { OperatorCause } from '../kernel/cause.ts';
import { Environment } from '../kernel/contract/environment.ts';
import { keyedEmailHashes } from '../kernel/platform/keyed-email-hashes.ts';
import { lambdaClient } from '../kernel/platform/lambda.ts';
import { queues } from '../kernel/platform/sqs.ts';
import {
  type Functions,
  lazySecrets,
  type Platform,
  type Queues,
  systemPlatform,
} from '../kernel/platform/system-platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { jsonOf, readVariables, tableName } from '../kernel/platform/variables.ts';
import { idempotently } from '../once/idempotently.ts';
import { ProcessReplayCache } from '../once/process-records.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { MESSAGE_QUEUES } from '../operators/contract.ts';
import { ADMIN_ROUTES } from '../operators/http/admin-routes.ts';
import { OPERATOR_EFFECT_ROUTES } from '../operators/http/operator-effects.ts';
import { DynamoDbApprovals } from '../operators/store/dynamodb-approvals.ts';
import { DynamoDbQueues } from '../operators/store/dynamodb-queues.ts';
import { deployedQueues, messageQueueNames, SqsQueues, startRedrives } from '../operators/store/sqs-queues.ts';
import { callOnce } from '../outbound/http-call.ts';
import { DynamoDbEffects } from '../payments/store/dynamodb-effects.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import { LedgerTransitions } from '../payments/store/ledger-transitions.ts';
import { configuredProcessors, type ProcessorsPlatform } from '../processors/configured-processors.ts';
import { PROCESSORS } from '../processors/registry.ts';
import { readPaymentsConfig } from '../processors/settings.ts';
import { deployedLimit, tenantLimits } from '../tenants/store/dynamodb-limits.ts';
import { LimitAdministration } from '../tenants/store/limit-administration.ts';
import { operatorsForTenants } from '../tenants/store/operator-registry.ts';
import { TenantAdministration } from '../tenants/store/tenant-administration.ts';
import { DynamoDbApiKeyRegistry } from '../tenants/store/tenant-registry.ts';
import { DynamoDbViews } from '../views/store/dynamodb-views.ts';
import { emailIndex } from '../views/store/email-index.ts';
import { DynamoDbWebhooks } from '../webhooks/store/dynamodb-webhooks.ts';

const settings = z.object({
  [Environment.viewsTable]: tableName,
  [Environment.approvals]: jsonOf(
    z.object({ aboveMinor: z.record(z.string(), z.int().min(0)), lifetimeMs: z.int().min(1) }),
  ).optional(),
  [MESSAGE_QUEUES]: jsonOf(messageQueueNames),
});

export const handler = await idempotently(
  { unit: 'a request with an idempotency key', record: 'the record of the request in the Idempotency table' },
  (runner) => wire({ ...systemPlatform(), ...queues, ...lazySecrets, lambda: lambdaClient, send: callOnce }, runner),
);

export async function wire(
  platform: Platform & Queues & Functions & ProcessorsPlatform,
  runner: OperationRunner,
  processors = PROCESSORS,
) {
  const { documents, clock, entropy, retention, digest } = platform;
  const payments = readPaymentsConfig(platform.variables, processors);
  const config = readVariables(settings, platform.variables);
  const { tables } = payments;
  const pacing = { clock, entropy, retention };
  const views = new DynamoDbViews(documents, config[Environment.viewsTable], pacing);
  const { client, postgres } = await configuredAuthority(platform, tables);
  const store = postgres?.store ?? new DynamoDbStore(client, tables, pacing);
  const effects = postgres?.approvals ?? new DynamoDbApprovals(client, tables, pacing, store);
  const access = new DynamoDbActivity(documents, tables, pacing);
  const activity = postgres === undefined ? [access] : [postgres.activity, access];
  const operators = operatorsForTenants(platform, tables.registry);
  const webhooks = new DynamoDbWebhooks(documents, tables, pacing);
  const tools = {
    operators,
    isTenant: operators.isTenant,
    views,
    marks: new DynamoDbJobMarks(documents, tables.registry, pacing),
    store,
    activity,
    timeline: {
      chains: store,
      records: store,
      effects: postgres?.effectRecords ?? effects,
      webhooks,
      activity,
      digest,
    },
    search: {
      views,
      store,
      transitions: new LedgerTransitions(documents, tables, pacing),
      emailHashes: keyedEmailHashes(platform.variables, platform),
      emailIndex: emailIndex(documents, tables.registry, pacing),
    },
    queues: postgres?.queues ?? new DynamoDbQueues(client, tables, pacing),
    webhooks,
    messages: new SqsQueues(platform.sqs({}), deployedQueues(config[MESSAGE_QUEUES]), clock, startRedrives(platform)),
    keysBy: (by: OperatorCause) => new TenantAdministration(documents, tables, by, pacing),
    limitsBy: (by: OperatorCause) => new LimitAdministration(documents, tables, by, pacing),
    deployedLimit: deployedLimit(platform),
    approvals: config[Environment.approvals],
    // Operators' decisions are compared with the processors' books.
    ...(await configuredProcessors(payments, platform)),
    effects,
    accessRecords: new DynamoDbEffects(documents, tables, pacing, store),
    replays: postgres?.replays ?? new ProcessReplayCache(),
    copies: postgres?.copies,
    keys: new DynamoDbApiKeyRegistry(documents, tables.registry, pacing),
    limits: tenantLimits(platform, tables.registry),
    runner,
    telemetry: standardTelemetry('ledger', platform.instruments),
    digest,
    ...pacing,
  };
  return byPath(operatorApi(ADMIN_ROUTES, tools, operators.identify), authenticatedApi(OPERATOR_EFFECT_ROUTES, tools));
}
