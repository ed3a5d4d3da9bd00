import { isLeased } from '../core/idempotency.ts';
import { chargeOperation } from '../core/ids.ts';
import { createPayment } from './create-payment.ts';
import type { CreatePayment, CreatePaymentOutcome, CreatePaymentTools, RunNotes } from './create-payment-types.ts';

/** The first look comes soon, as most payments take less than a second; later ones cost less than they annoy. Milliseconds. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 800;
/** 8 s at the longest pause, and some: the loop ends even on a clock that stands still. */
const MAX_LOOKS = 24;

/**
 * Takes a payment; when the same key is being worked on, waits for that to finish and replays its answer. A lease that
 * ends meanwhile is taken over as it would be by any retry.
 *
 * @param waitMs how long to wait at most; 0 answers at once
 * @throws what {@link createPayment} throws
 */
export async function createPaymentOrWait(
  tools: CreatePaymentTools,
  request: CreatePayment,
  waitMs: number,
  notes: RunNotes,
): Promise<CreatePaymentOutcome> {
  const { clock } = tools;
  const untilMs = clock.nowMs() + waitMs;
  let outcome = await createPayment(tools, request, notes);
  let pauseMs = FIRST_PAUSE_MS;
  for (let look = 0; look < MAX_LOOKS && outcome.kind === 'in_progress'; look += 1) {
    const leftMs = untilMs - clock.nowMs();
    if (leftMs <= 0) break;
    await clock.sleep(Math.min(pauseMs, leftMs));
    pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
    if (await isStillRunning(tools, request)) continue;
    outcome = await createPayment(tools, request, notes);
  }
  return outcome;
}

/** One read, where another claim would cost four times as much. */
async function isStillRunning({ store, clock }: CreatePaymentTools, request: CreatePayment): Promise<boolean> {
  const record = await store.readRecord(chargeOperation(request.paymentId));
  return record?.status === 'INPROGRESS' && isLeased(record, clock.nowMs());
}
