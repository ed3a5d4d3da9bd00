import { isExpired } from '../../once/domain/idempotency.ts';
import { judgeRecord, type RunNotes } from '../../once/use/judge-record.ts';
import type { ChangePayment, ChangePaymentOutcome } from './change-payment-types.ts';
import { ChangeRun } from './change-run.ts';
import type { CreatePaymentTools } from './create-payment-types.ts';

/**
 * Captures, cancels or refunds so that it happens once in effect, and never beyond what was captured: claim with a pending
 * transition that reserves, ask the processor, commit.
 *
 * @throws RetryableError when nothing happened and the same key may be used again
 * @throws AmbiguousError when the store did not say whether it wrote; the same key finds out
 */
export async function changePayment(
  tools: CreatePaymentTools,
  request: ChangePayment,
  notes: RunNotes = { takenOver: false, fenced: false },
): Promise<ChangePaymentOutcome> {
  const { operationId } = request;
  const warm = tools.replays.get(operationId);
  if (warm !== undefined && !isExpired(warm, tools.clock.nowMs())) {
    const outcome = judgeRecord(warm, request, tools.clock.nowMs());
    if (outcome.kind === 'replay') return { ...outcome, source: 'cache' };
    if (outcome.kind === 'payload_mismatch') return outcome;
  }
  return tools.runner.run(operationId, new ChangeRun(tools, request, notes));
}
