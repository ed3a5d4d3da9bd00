import { LRUCache } from '@aws-lambda-powertools/commons/utils/lru-cache';
import type { OperationId } from '../kernel/ids.ts';
import type { CompletedRecord } from './domain/idempotency.ts';
import type { OnceInProcess, ReplayCache } from './use/operation-runner.ts';

/** If a response has 1 KB, the records occupy about 2 MB. */
const MAX_RECORDS = 2_000;

/** The least recently used outcomes are evicted. */
export class ProcessRecords<Outcome> implements OnceInProcess<Outcome> {
  readonly #records = new LRUCache<OperationId, Outcome>({ maxSize: MAX_RECORDS });

  find(operationId: OperationId): Outcome | undefined {
    return this.#records.get(operationId);
  }

  keep(operationId: OperationId, outcome: Outcome): void {
    this.#records.add(operationId, outcome);
  }
}

/** The caller of `find` checks the expiry. */
export class ProcessReplayCache implements ReplayCache {
  readonly #records = new ProcessRecords<CompletedRecord>();

  async find(operationId: OperationId): Promise<CompletedRecord | undefined> {
    return this.#records.find(operationId);
  }

  put(record: CompletedRecord): void {
    this.#records.keep(record.operationId, record);
  }

  async committed(record: CompletedRecord): Promise<void> {
    this.put(record);
  }
}
