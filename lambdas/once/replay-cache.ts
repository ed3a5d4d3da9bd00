import { LRUCache } from '@aws-lambda-powertools/commons/utils/lru-cache';
import type { OperationId } from '../kernel/ids.ts';
import type { CompletedRecord } from './domain/idempotency.ts';
import type { ReplayCache } from './use/operation-runner.ts';

/** Some two megabytes at a kilobyte an answer. */
const MAX_RECORDS = 2_000;

/** Lives as long as the process; expiry is judged by whoever reads. */
export class ProcessReplayCache implements ReplayCache {
  readonly #records = new LRUCache<OperationId, CompletedRecord>({ maxSize: MAX_RECORDS });

  get(operationId: OperationId): CompletedRecord | undefined {
    return this.#records.get(operationId);
  }

  put(record: CompletedRecord): void {
    this.#records.add(record.operationId, record);
  }
}
