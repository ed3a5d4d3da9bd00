import { cronExecutor } from '../jobs/http/executor.ts';
import { readExecutorConfig } from '../jobs/settings.ts';
import { httpJobRoutes, signer } from '../jobs/store/http-job-routes.ts';
import { ActiveSecrets } from '../kernel/platform/active-secrets.ts';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../kernel/platform/platform.ts';
import { secretsManager } from '../kernel/platform/secrets-manager.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import { DynamoDbConsumerRecords } from '../once/store/dynamodb-consumer-records.ts';

const { idempotencyTable, credentialSecretId: secretId, apiUrl } = readExecutorConfig(process.env);
const pacing = { clock: systemClock, entropy: systemEntropy };
const secrets = new ActiveSecrets(secretsManager(), systemClock);

export const handler = idempotently({ unit: 'a firing of a schedule', record: 'the record of its run-id' }, (runner) =>
  cronExecutor({
    routes: httpJobRoutes({ apiUrl, sign: signer({ secrets, secretId, clock: systemClock }) }),
    records: new DynamoDbConsumerRecords(documentClient(), { idempotency: idempotencyTable }, pacing),
    runner,
    digest: systemDigest,
    telemetry: standardTelemetry('cron-executor'),
    ...pacing,
  }),
);
