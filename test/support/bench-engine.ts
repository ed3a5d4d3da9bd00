import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { documentClient } from '../../lambdas/adapters/dynamodb/document-client.ts';
import { DynamoDbStore } from '../../lambdas/adapters/dynamodb/dynamodb-store.ts';
import type { StoreTables } from '../../lambdas/adapters/dynamodb/transact-items.ts';
import { createMemoryProcessor, type MemoryProcessor } from '../../lambdas/adapters/memory/memory-processor.ts';
import { ProcessReplayCache } from '../../lambdas/adapters/memory/replay-cache.ts';
import { idempotentRunner } from '../../lambdas/adapters/powertools/idempotent-runner.ts';
import { systemClock, systemDigest, systemEntropy } from '../../lambdas/adapters/system/platform.ts';
import type { CreatePaymentTools } from '../../lambdas/app/create-payment-types.ts';

/** One process of the engine on the DynamoDB API: the real clock, the real store, a processor in memory. */
export function engineProcess(
  client: DynamoDBClient,
  tables: StoreTables,
  processor: MemoryProcessor = createMemoryProcessor({ clock: systemClock }),
): CreatePaymentTools & { readonly processor: MemoryProcessor } {
  return {
    store: new DynamoDbStore(documentClient(client), tables, { clock: systemClock, entropy: systemEntropy }),
    processor,
    runner: idempotentRunner,
    // Its own: another process is warm with other answers.
    replays: new ProcessReplayCache(),
    clock: systemClock,
    entropy: systemEntropy,
    digest: systemDigest,
  };
}
