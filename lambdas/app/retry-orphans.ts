import { AmbiguousError, RetryableError } from '../core/faults.ts';
import type { OrphanShelf } from './ports.ts';
import { adoptOrphan, type ReceiveCallbackTools } from './receive-callback.ts';

/** An orphan is tried again for this long, then kept for people. Milliseconds. */
const RETRY_FOR_MS = 24 * 60 * 60_000;
/** Some seconds of work; the next run goes on. */
const MAX_ORPHANS = 100;

export interface RetryOrphansTools extends ReceiveCallbackTools {
  readonly shelf: OrphanShelf;
}

export interface RetriedOrphans {
  readonly adopted: number;
  readonly waiting: number;
  readonly givenUp: number;
  /** Not tried, because the world did not allow it; the next run does. */
  readonly failed: number;
  /** Of the adopted ones: how many brought money that came too late. */
  readonly lateSuccesses: number;
  /** Of the adopted ones: what they said that cannot be. */
  readonly contradictions: number;
}

/** Gives every waiting orphan one more try; the one that cannot be tried now does not hold up the others. */
export async function retryOrphans(tools: RetryOrphansTools): Promise<RetriedOrphans> {
  const counts = { adopted: 0, waiting: 0, givenUp: 0, failed: 0, lateSuccesses: 0, contradictions: 0 };
  for (const orphan of await tools.shelf.waiting(MAX_ORPHANS)) {
    try {
      const outcome = await adoptOrphan(tools, orphan);
      if (outcome.kind === 'taken_in') {
        if (outcome.transitions.includes('payment.late_success')) counts.lateSuccesses += 1;
        counts.contradictions += outcome.contradictions.length;
      }
      if (outcome.kind !== 'orphaned') counts.adopted += 1;
      else if (tools.clock.nowMs() - orphan.receivedAtMs < RETRY_FOR_MS) counts.waiting += 1;
      else {
        await tools.shelf.giveUp(orphan);
        counts.givenUp += 1;
      }
    } catch (error) {
      if (!(error instanceof RetryableError || error instanceof AmbiguousError)) throw error;
      counts.failed += 1;
    }
  }
  return counts;
}
