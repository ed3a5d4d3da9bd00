import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { ProcessReplayCache } from '../../lambdas/once/process-records.ts';
import type { StoreTables } from '../../lambdas/once/store/transact-items.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import type { CreatePaymentTools } from '../../lambdas/payments/use/create-payment.ts';
import { createSandboxInProcess, type SandboxInProcess } from '../world/sandbox-in-process.ts';

export function engineProcess(
  client: DynamoDBClient,
  tables: StoreTables,
  processor: SandboxInProcess = createSandboxInProcess({ clock: systemClock }),
): CreatePaymentTools & { readonly processor: SandboxInProcess } {
  return {
    store: new DynamoDbStore(documentClient(client), tables, { clock: systemClock, entropy: systemEntropy }),
    processor,
    runner: idempotentRunner,
    // The cached responses differ between processes.
    replays: new ProcessReplayCache(),
    clock: systemClock,
    entropy: systemEntropy,
    digest: systemDigest,
  };
}
