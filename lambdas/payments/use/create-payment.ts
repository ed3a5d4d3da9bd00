import { RetryableError } from '../../kernel/faults.ts';
import type { OperationId } from '../../kernel/ids.ts';
import { chargeOperation } from '../../kernel/ids.ts';
import { isExpired } from '../../once/domain/idempotency.ts';
import { judgeRecord, type RunNotes } from '../../once/use/judge-record.ts';
import type { CreatePayment, CreatePaymentOutcome, CreatePaymentTools } from './create-payment-types.ts';

import { PaymentRun } from './payment-run.ts';
import type { Processor } from './processor.ts';

/**
 * Takes a payment so that it happens once in effect: claim, ask the processor, commit. Called again with the same key,
 * at the same time or years later, it never charges again.
 *
 * @throws RetryableError when nothing happened and the same key may be used again
 * @throws AmbiguousError when the store did not say whether it wrote; the same key finds out
 */
export async function createPayment(
  tools: CreatePaymentTools,
  request: CreatePayment,
  notes: RunNotes = { takenOver: false, fenced: false },
): Promise<CreatePaymentOutcome> {
  const operationId = chargeOperation(request.paymentId);
  const warm = tools.replays.get(operationId);
  if (warm !== undefined && !isExpired(warm, tools.clock.nowMs())) {
    const outcome = judgeRecord(warm, request, tools.clock.nowMs());
    if (outcome.kind === 'replay') return { ...outcome, source: 'cache' };
    if (outcome.kind === 'payload_mismatch') return outcome;
  }
  const unready = await processorUnready(tools.processor);
  if (unready !== undefined) return answerWithoutProcessor(tools, request, operationId, unready);
  return tools.runner.run(operationId, new PaymentRun(tools, request, notes));
}

async function processorUnready(processor: Processor): Promise<RetryableError | undefined> {
  try {
    await processor.ready();
    return undefined;
  } catch (error) {
    if (error instanceof RetryableError) return error;
    throw error;
  }
}

/** The breaker is open: what was answered before is still answered, and nothing new is begun. */
async function answerWithoutProcessor(
  tools: CreatePaymentTools,
  request: CreatePayment,
  operationId: OperationId,
  unready: RetryableError,
): Promise<CreatePaymentOutcome> {
  const record = await tools.store.readRecord(operationId);
  if (record === undefined) throw unready;
  const judged = judgeRecord(record, request, tools.clock.nowMs());
  if (judged.kind === 'stale') throw unready;
  return judged;
}
