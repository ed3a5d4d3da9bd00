import { type Job, type JobCounts, ONE_DONE, ONE_LEFT } from '../../jobs/use/job.ts';
import { defined } from '../../kernel/defined.ts';
import { TerminalError } from '../../kernel/faults.ts';
import { fingerprintOf } from '../../kernel/fingerprint.ts';
import { invariant } from '../../kernel/invariant.ts';
import { isHoldChanging } from '../../payments/domain/change.ts';
import { chargeOperation } from '../../payments/ids.ts';
import { changePayment } from '../../payments/use/change-payment.ts';
import { type PaymentChain, readChain } from '../../payments/use/payment-chain.ts';
import type { Hold } from '../../payments/use/payment-store.ts';
import { knownProcessors, pinnedBooks, pinnedProcessor } from '../../payments/use/pinned-processor.ts';
import type { Processor } from '../../payments/use/processor.ts';
import { recordIfKnown } from '../../payments/use/record-charge.ts';
import { holdExpiryOperation } from '../ids.ts';
import type { DueQueue } from './due-queue.ts';
import { marked } from './process-entries.ts';
import { inquireOperation, type ResolveTools } from './resolve.ts';

export interface ExpireAuthorizationsTools extends Omit<ResolveTools, 'work' | 'report' | 'deadlineMs' | 'cause'> {
  readonly holds: DueQueue<Hold>;
}

type EndHoldTools = ExpireAuthorizationsTools & Pick<ResolveTools, 'cause'>;

/**
 * Time after a hold's expiry before the job acts, in milliseconds. If a processor expires holds itself, its callback
 * arrives within this time. The time also exceeds any difference between the clocks of Payonce and the processor.
 */
const MARGIN_MS = 2 * 60 * 60_000;

/**
 * Assumed validity of a hold at a processor that no longer declares holds, in milliseconds: the usual validity for
 * cards. The merchant may still capture such a hold.
 */
const UNDECLARED_VALIDITY_MS = 7 * 24 * 60 * 60_000;

/** Wait before the next attempt for a hold that is still open after a run: the time until the next run. Milliseconds. */
const AGAIN_MS = 60 * 60_000;

/** Limits the requests per second to a processor. */
const AT_ONCE = 10;

/** After this many proven failures, an operator must find the reason. */
const MAX_ATTEMPTS = 10;

/**
 * Creates the job that ends holds that were not captured in time. The clock alone does not decide: the job first reads
 * the charge at the processor and records its state, as a callback would. Only a hold that still exists there is
 * voided. The void is a change like a merchant's cancellation, but its key is derived from the payment and the attempt:
 *
 *   job       due ── reads: authorized ── void.pending n + 1 ✓ ── void ── canceled (expired)
 *   merchant  ──────────────────────── capture.pending n + 1 ✗ ── refused: a cancellation is in progress
 *
 *   job       due ── reads: authorized ── void.pending n + 1 ✗ ── left: a capture is in progress
 *   merchant  ── capture.pending n + 1 ✓ ── capture ── succeeded
 */
export function expireAuthorizationsJob(tools: ExpireAuthorizationsTools): Job<Hold> {
  const { holds, clock } = tools;
  const shortestMs = Math.min(...knownProcessors(tools).map(validityMs));
  return {
    atOnce: AT_ONCE,
    page: async (cursor, limit, { scheduledForMs }) => {
      // Without processors, no hold can be ended.
      if (shortestMs === Infinity) return { items: [] };
      // A hold is first due after the shortest validity of all processors, and then at its own due time.
      const untilMs = Math.min(scheduledForMs, clock.nowMs());
      const range = { limit, postponedBeforeMs: untilMs + 1, ...defined({ cursor }) };
      const page = await holds.dueBefore(untilMs - shortestMs - MARGIN_MS, range);
      return {
        items: page.rows.map(({ row, cursor: after }) => ({ thing: row, name: row.paymentId, after })),
        ...defined({ next: page.next }),
      };
    },
    handle: (hold, run) => handleHold({ ...tools, cause: { by: 'run', runId: run.runId } }, hold, run),
  };
}

function validityMs({ abilities: { holdValidityMs } }: Pick<Processor, 'abilities'>): number {
  return holdValidityMs > 0 ? holdValidityMs : UNDECLARED_VALIDITY_MS;
}

/**
 * A hold that stays open is postponed, also after an error, so that it does not delay other holds. If no run can end
 * the hold, one alarm is raised, and the hold is counted as failed once.
 */
async function handleHold(
  tools: EndHoldTools,
  hold: Hold,
  { scheduledForMs, deadlineMs }: Parameters<Job<Hold>['handle']>[1],
): Promise<JobCounts> {
  const { undecidable = false } = hold;
  const entry = { about: hold.paymentId, undecidable };
  let dueAtMs = scheduledForMs + AGAIN_MS;
  const keep = (isUndecidable: boolean): Promise<void> =>
    tools.holds.postpone(hold, { dueAtMs, undecidable: isUndecidable });
  try {
    const ended = await endHold(tools, hold, deadlineMs);
    if (typeof ended === 'number' && ended > scheduledForMs) dueAtMs = ended;
    await marked(tools, entry, ended === 'ended' ? 'finished' : 'waiting', keep);
    return ended === 'ended' ? ONE_DONE : ONE_LEFT;
  } catch (error) {
    // If this write also fails, the hold stays due.
    if (!(error instanceof TerminalError)) await keep(undecidable).catch(() => undefined);
    else if ((await marked(tools, entry, 'undecidable', keep)) !== 'undecidable') return ONE_LEFT;
    throw error;
  }
}

/**
 * Voids the hold if it is due and still open at the processor.
 *
 * @returns `ended` if the queue entry was closed; `left` if a later run must handle the hold; for a hold that is not
 * due yet, the time from which it may be voided, in Unix milliseconds
 * @throws TerminalError if no run can end the hold
 */
async function endHold(tools: EndHoldTools, hold: Hold, deadlineMs: number): Promise<'ended' | 'left' | number> {
  const { clock, holds } = tools;
  // A void can take as long as a request. If it started after the deadline, the worker could be stopped before the void
  // ends.
  const isTime = () => clock.nowMs() < deadlineMs;
  const chain = await readChain(tools.store, hold.paymentId);
  // A payment is missing if a restore lost it but kept its queue entry.
  if (chain === undefined || !isHeld(chain)) {
    await holds.close(hold);
    return 'ended';
  }
  const processor = pinnedProcessor(tools, chain.first);
  if (processor === undefined) {
    throw new TerminalError('processor_elsewhere', `this deployment does not call the processor of ${hold.paymentId}`);
  }
  const dueAtMs = hold.authorizedAtMs + validityMs(processor) + MARGIN_MS;
  if (clock.nowMs() < dueAtMs) return dueAtMs;
  // The owner of the change, or the resolver, finishes the change.
  if (isHoldChanging(chain.state)) return 'left';
  const status = await checkHold(tools, chain);
  const current = await chainOfHold(tools, hold);
  // The void is refused if a capture has started since the chain was read.
  if (isHeld(current) && status === 'authorized' && isTime()) {
    await voidHold(tools, current);
    if (isTime()) await checkHold(tools, current);
  }
  const after = await chainOfHold(tools, hold);
  if (isHeld(after)) return 'left';
  await holds.close(hold);
  return 'ended';
}

/** If the outcome is unknown or the process crashes, the resolver finishes the void. */
async function voidHold(tools: EndHoldTools, { first, state }: PaymentChain): Promise<void> {
  const { digest, cause } = tools;
  const { id: paymentId, tenantId, mode } = first.payment;
  const attempt = failedExpiries(state) + 1;
  if (attempt > MAX_ATTEMPTS) {
    throw new TerminalError('hold_stuck', `the hold of ${paymentId} could not be voided in ${MAX_ATTEMPTS} attempts`);
  }
  const operationId = holdExpiryOperation(digest, paymentId, attempt);
  await changePayment(tools, {
    operationId,
    paymentId,
    tenantId,
    mode,
    fingerprint: fingerprintOf(digest, { body: { expiry_of: paymentId, attempt }, query: {} }),
    requestId: operationId,
    cause,
    command: { kind: 'cancel', reason: 'expired' },
  });
}

function failedExpiries({ holdChanges }: PaymentChain['state']): number {
  return [...holdChanges.values()].filter(({ reason, status }) => reason === 'expired' && status === 'failed').length;
}

/** If the processor provably no longer has the charge, the payment goes into review. */
async function checkHold(tools: EndHoldTools, chain: PaymentChain) {
  const { first, state } = chain;
  const { id, chargeId } = state.payment;
  const books = pinnedBooks(tools, first);
  invariant(
    chargeId !== undefined && books !== undefined,
    'an authorized payment has no charge id or no configured books',
  );
  const asked = holdExpiryOperation(tools.digest, id, 1);
  const recorded = await recordIfKnown(tools, books, chargeId, asked, chain);
  if (recorded === undefined) {
    const operationId = chargeOperation(id);
    await inquireOperation(tools, { operationId, paymentId: id, claimedAtMs: first.occurredAtMs }, chain);
  }
  return recorded?.charge.status;
}

async function chainOfHold({ store }: ExpireAuthorizationsTools, { paymentId }: Hold): Promise<PaymentChain> {
  const chain = await readChain(store, paymentId);
  invariant(chain !== undefined, 'the payment of the hold does not exist');
  return chain;
}

function isHeld({ state }: PaymentChain): boolean {
  return state.payment.status === 'requires_capture';
}
