import type { OperationId } from '../../kernel/ids.ts';
import type { Clock } from '../../kernel/world.ts';
import { isLeased } from '../domain/idempotency.ts';
import type { RecordStore } from './record-store.ts';

export interface AwaitFirstTools {
  readonly store: Pick<RecordStore, 'readRecord'>;
  readonly clock: Clock;
}

export interface Waiting {
  /** 0 responds immediately. */
  readonly waitMs: number;
  /**
   * Slots are limited, because each waiting request occupies one of the concurrent executions of its function.
   *
   * @returns a function that releases the slot; undefined when no slot is free, so that the request is answered
   * immediately
   */
  readonly enter: (waitMs: number) => Promise<(() => Promise<void>) | undefined>;
}

/** Short, because most requests take less than a second. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 800;
/** Higher than any wait can reach. Ends the loop only if the clock does not advance. */
const MAX_POLLS = 24;

/**
 * If another request with the same key is in progress and a slot is free, waits for that request and replays its
 * response. If the lease ends during the wait, this request takes over, as any retry would.
 *
 * @param attempt runs the operation, or replays its response
 * @throws the errors of `attempt`, of `enter`, and of reading the record
 */
export async function awaitFirst<Outcome extends { readonly kind: string }>(
  { store, clock }: AwaitFirstTools,
  operationId: OperationId,
  { waitMs, enter }: Waiting,
  attempt: () => Promise<Outcome>,
): Promise<Outcome> {
  const untilMs = clock.nowMs() + waitMs;
  const outcome = await attempt();
  if (outcome.kind !== 'in_progress' || waitMs <= 0) return outcome;
  const leave = await enter(waitMs);
  if (leave === undefined) return outcome;
  try {
    return await pollUntil({ store, clock }, operationId, untilMs, outcome, attempt);
  } finally {
    await leave();
  }
}

async function pollUntil<Outcome extends { readonly kind: string }>(
  { store, clock }: AwaitFirstTools,
  operationId: OperationId,
  untilMs: number,
  first: Outcome,
  attempt: () => Promise<Outcome>,
): Promise<Outcome> {
  let outcome = first;
  let pauseMs = FIRST_PAUSE_MS;
  for (let poll = 0; poll < MAX_POLLS && outcome.kind === 'in_progress'; poll += 1) {
    const leftMs = untilMs - clock.nowMs();
    if (leftMs <= 0) break;
    await clock.sleep(Math.min(pauseMs, leftMs));
    pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
    // Read first: a read costs less than a claim.
    const record = await store.readRecord(operationId);
    if (record?.status === 'INPROGRESS' && isLeased(record, clock.nowMs())) continue;
    outcome = await attempt();
  }
  return outcome;
}
