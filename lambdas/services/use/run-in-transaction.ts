import type { Answer } from '../../kernel/answer.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { OperationId } from '../../kernel/ids.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import { type ExpiryOptions, expirySeconds } from '../../once/domain/idempotency.ts';
import type { Executed } from '../../once/use/execute-once.ts';
import { judgeEffect } from '../../once/use/judge-record.ts';
import type { OperationRunner } from '../../once/use/operation-runner.ts';
import { rounds } from '../../once/use/rounds.ts';
import {
  type OwnRecord,
  type OwnTransaction,
  type OwnTransactions,
  StillInProgress,
  type StoredRequest,
  type TransactionEffect,
} from './own-transactions.ts';
import { type Expired, storable } from './run-request.ts';

export interface TransactionTools<Tx> extends Pick<ExpiryOptions, 'retention'> {
  readonly transactions: OwnTransactions<Tx>;
  readonly runner: OperationRunner;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

export interface TransactionRequest<Tx> {
  readonly scope: string;
  readonly key: string;
  readonly operationId: OperationId;
  readonly fingerprint: Fingerprint;
  /** Called again when the transaction was rolled back because of a conflict or a lost connection. */
  readonly handle: (effect: TransactionEffect<Tx>) => Promise<Answer>;
}

/**
 * Runs the handler of a request in one transaction with its record, so that it takes effect once. A concurrent
 * duplicate waits for the row of the record, and then replays the response:
 *
 *   A ── INSERT record ✓ ── handler ── response ── COMMIT ✓
 *   B ───── INSERT record … waits …………………………………………… ✗ exists ── SELECT: replay
 *
 * If the response to COMMIT is lost, the next attempt waits until the server has decided, and then finds its own record
 * or runs the handler again.
 *
 * @throws NotStored; the errors from the handler; RetryableError and AmbiguousError of the database
 */
export async function runInTransaction<Tx>(
  tools: TransactionTools<Tx>,
  { scope, key, operationId, fingerprint, handle }: TransactionRequest<Tx>,
): Promise<Executed<Expired>> {
  const { transactions, clock, entropy } = tools;
  const owner = entropy.ownerToken();
  const recordedAtMs = clock.nowMs();
  const expiresAtSeconds = expirySeconds(tools, scope, recordedAtMs);
  const record = { operationId, scope, key, fingerprint, owner, recordedAtMs, expiresAtSeconds };
  const first = (answer: Answer) => ({ kind: 'first', answer, unknown: false }) as const;
  return rounds<Executed<Expired>>('this key', async () => {
    try {
      const answer = await writeOnce(tools, record, async (transaction, effect) => {
        const handled = storable(await handle(effect));
        await transaction.complete(record, handled);
        return handled;
      });
      if (answer !== undefined) return first(answer);
    } catch (error) {
      if (error instanceof StillInProgress) return { kind: 'in_progress', leaseExpiresAtMs: clock.nowMs() };
      throw error;
    }
    const stored = await transactions.readRequest(operationId);
    // The record expired and was deleted after the insert had found it.
    if (stored === undefined) return 'again';
    return stored.owner === owner ? first(stored.answer) : judge(stored, fingerprint, clock.nowMs());
  });
}

function judge(
  { fingerprint, answer, expiresAtSeconds }: StoredRequest,
  mine: Fingerprint,
  nowMs: number,
): Executed<Expired> {
  if (expiresAtSeconds * 1000 <= nowMs) return { kind: 'key_expired' };
  const judged = judgeEffect({ request: { fingerprint, answer } }, mine);
  return judged.kind === 'replay' ? { ...judged, source: 'store' } : judged;
}

/** @returns the result of the work; undefined when the operation has a record */
export async function writeOnce<Tx, Result>(
  { transactions, runner }: Pick<TransactionTools<Tx>, 'transactions' | 'runner'>,
  record: OwnRecord,
  work: (transaction: OwnTransaction<Tx>, effect: TransactionEffect<Tx>) => Promise<Result>,
): Promise<Result | undefined> {
  const { operationId } = record;
  return transactions.run((transaction) =>
    runner.run<OwnTransaction<Tx>, Result, Result | undefined>(operationId, {
      claim: async () =>
        (await transaction.claim(record))
          ? { kind: 'claimed', held: transaction }
          : { kind: 'refused', outcome: undefined },
      execute: (held) => work(held, { tx: held.tx, operationId }),
      // Writes nothing: `transactions.run` commits the transaction after this step.
      commit: async (result) => result,
    }),
  );
}
