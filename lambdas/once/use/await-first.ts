import type { OperationId } from '../../kernel/ids.ts';
import type { Clock } from '../../kernel/world.ts';
import { isLeased } from '../domain/idempotency.ts';
import type { RecordStore } from './record-store.ts';

export interface AwaitFirstTools {
  readonly store: Pick<RecordStore, 'readRecord'>;
  readonly clock: Clock;
}

/** The first look comes soon, as most requests take less than a second; later ones cost less than they annoy. Milliseconds. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 800;
/** 8 s at the longest pause, and some: the loop ends even on a clock that stands still. */
const MAX_LOOKS = 24;

/**
 * Runs an operation; when the same key is being worked on, waits for that to finish and replays its answer. A lease that
 * ends meanwhile is taken over as it would be by any retry.
 *
 * @param waitMs how long to wait at most; 0 answers at once
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
    // One read, where another claim would cost four times as much.
    const record = await store.readRecord(operationId);
    if (record?.status === 'INPROGRESS' && isLeased(record, clock.nowMs())) continue;
    outcome = await attempt();
  }
  return outcome;
}
