import type { OperationId } from '../../kernel/ids.ts';
import type { Clock } from '../../kernel/world.ts';
import { isLeased } from '../domain/idempotency.ts';
import type { RecordStore } from './record-store.ts';

export interface AwaitFirstTools {
  readonly store: Pick<RecordStore, 'readRecord'>;
  readonly clock: Clock;
}

/** The first read comes soon, because most requests take less than a second. The pauses double up to the longest. Milliseconds. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 800;
/** More reads than fit into the longest wait. The loop ends even if the clock stands still. */
const MAX_LOOKS = 24;

/**
 * Runs an operation. While another request with the same key is in progress, waits for it and replays its answer. If its
 * lease ends meanwhile, this request takes over, as any retry would.
 *
 * @param waitMs the longest wait; 0 answers at once. Milliseconds
 * @param attempt runs the operation, or replays its answer
 * @throws what `attempt` throws
 */
export async function awaitFirst<Outcome extends { readonly kind: string }>(
  { store, clock }: AwaitFirstTools,
  operationId: OperationId,
  waitMs: number,
  attempt: () => Promise<Outcome>,
): Promise<Outcome> {
  const untilMs = clock.nowMs() + waitMs;
  let outcome = await attempt();
  let pauseMs = FIRST_PAUSE_MS;
  for (let look = 0; look < MAX_LOOKS && outcome.kind === 'in_progress'; look += 1) {
    const leftMs = untilMs - clock.nowMs();
    if (leftMs <= 0) break;
    await clock.sleep(Math.min(pauseMs, leftMs));
    pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
    // A read costs a quarter of a claim.
    const record = await store.readRecord(operationId);
    if (record?.status === 'INPROGRESS' && isLeased(record, clock.nowMs())) continue;
    outcome = await attempt();
  }
  return outcome;
}
