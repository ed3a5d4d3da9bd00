import { configuredAuthority } from '../authority/configured-authority.ts';
import { consumerTelemetry } from '../events/http/event-telemetry.ts';
import { configuredParking } from '../events/store/sqs-parking.ts';
import { paymentRequests } from '../intake/http/transports.ts';
import { readIntakeConfig } from '../intake/settings.ts';
import { configuredRequestQueue } from '../intake/store/request-queue.ts';
import { loadedOnce } from '../kernel/loaded-once.ts';
import { keyedEmailHashes } from '../kernel/platform/keyed-email-hashes.ts';
import { queues } from '../kernel/platform/sqs.ts';
import { lazySecrets, type Platform, type Queues, systemPlatform } from '../kernel/platform/system-platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import { ProcessReplayCache } from '../once/process-records.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { callOnce } from '../outbound/http-call.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import { configuredProcessors, type ProcessorsPlatform } from '../processors/configured-processors.ts';
import { PROCESSORS } from '../processors/registry.ts';
import { readPaymentsConfig } from '../processors/settings.ts';
import { tenantLimits } from '../tenants/store/dynamodb-limits.ts';
import { knownTenants } from '../tenants/store/tenant-owners.ts';

export const handler = await idempotently(
  { unit: 'an event that requests a payment', record: 'the record of the payment in the Idempotency table' },
  (runner) => wire({ ...systemPlatform(), ...queues, ...lazySecrets, send: callOnce }, runner),
);

export async function wire(
  platform: Platform & Queues & ProcessorsPlatform,
  runner: OperationRunner,
  processors = PROCESSORS,
) {
  const { documents, clock, entropy, retention, digest, variables, instruments } = platform;
  const config = readPaymentsConfig(variables, processors);
  const { senders, oldestMs, queues: ofSenders, ...urls } = readIntakeConfig(variables);
  const pacing = { clock, entropy, retention };
  const parking = configuredParking(platform, urls.parkingQueueUrl);
  const { client, postgres } = await configuredAuthority(platform, config.tables);
  const emailHashes = loadedOnce(async () => keyedEmailHashes(variables, platform));
  return paymentRequests({
    senders,
    isTenant: knownTenants(documents, config.tables.registry, pacing),
    oldestMs,
    queues: ofSenders,
    requests: configuredRequestQueue(platform, urls),
    acknowledge: async (message) => parking.acknowledge(message),
    store: postgres?.store ?? new DynamoDbStore(client, config.tables, pacing),
    emailHashes: { of: async (...asked) => (await emailHashes()).of(...asked) },
    limits: tenantLimits(platform, config.tables.registry),
    ...(await configuredProcessors(config, platform)),
    runner,
    replays: postgres?.replays ?? new ProcessReplayCache(),
    copies: postgres?.copies,
    telemetry: {
      ...standardTelemetry('payment-requests', instruments),
      ...consumerTelemetry('payment-requests', platform),
    },
    digest,
    ...pacing,
  });
}
