import type { Commission, CommissionName } from '../../lambdas/follow-ups/commission.ts';
import type { CommissionBook, CommissionDue } from '../../lambdas/follow-ups/commission-book.ts';
import { commissionDuePartition, commissionKeys } from '../../lambdas/follow-ups/commission-rows.ts';
import { parseCommission, parseCommissionDue } from '../../lambdas/follow-ups/store/commission-items.ts';
import { DUE_SHARDS } from '../../lambdas/kernel/due-sort.ts';
import type { MemoryConsumerRecords } from '../once/memory-consumer-records.ts';
import { MemoryDueQueue } from '../resolving/memory-due-queue.ts';

/** In-memory commissions of a consumer. The same contract suite tests them and those on DynamoDB. */
export class MemoryCommissions implements CommissionBook {
  readonly #records: MemoryConsumerRecords;

  constructor(records: MemoryConsumerRecords) {
    this.#records = records;
  }

  readonly due: CommissionBook['due'] = {
    dueBefore: (...asked) => this.#queue().dueBefore(...asked),
  };

  async readCommission(name: CommissionName): Promise<Commission | undefined> {
    const row = this.#records.row({ table: 'registry', ...commissionKeys(name).own });
    return row === undefined ? undefined : parseCommission(row, name);
  }

  /** The current commission. */
  #queue(): MemoryDueQueue<CommissionDue> {
    const queue = new MemoryDueQueue<CommissionDue>(({ releasesAtMs, paymentId }) => [releasesAtMs, paymentId]);
    for (let shard = 0; shard < DUE_SHARDS; shard += 1) {
      const partition = commissionDuePartition(shard);
      for (const { row } of this.#records.rowsIn({ table: 'registry', partition })) queue.add(parseCommissionDue(row));
    }
    return queue;
  }
}
