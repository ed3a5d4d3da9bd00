import { RetryableError } from '../../kernel/faults.ts';
import { orderOperation } from '../../kernel/ids.ts';
import { isExpired } from '../../once/domain/idempotency.ts';
import { judgeRecord, type RunNotes } from '../../once/use/judge-record.ts';

import type { CreateOrder, CreateOrderOutcome, OrderTools } from './create-order-types.ts';
import { OrderRun } from './order-run.ts';

/**
 * Makes an order so that each of its steps happens once in effect, and so that it ends fulfilled or wholly undone: claim,
 * charge, reserve, confirm, credit, commit. Called again with the same key, at the same time or years later, nothing of it
 * happens again.
 *
 * @throws RetryableError when nothing happened and the same key may be used again
 * @throws AmbiguousError when the store did not say whether it wrote; the same key finds out
 */
export async function createOrder(
  tools: OrderTools,
  request: CreateOrder,
  notes: RunNotes = { takenOver: false, fenced: false },
): Promise<CreateOrderOutcome> {
  const operationId = orderOperation(request.orderId);
  const warm = tools.replays.get(operationId);
  if (warm !== undefined && !isExpired(warm, tools.clock.nowMs())) {
    const outcome = judgeRecord(warm, request, tools.clock.nowMs());
    if (outcome.kind === 'replay') return { ...outcome, source: 'cache' };
    if (outcome.kind === 'payload_mismatch') return outcome;
  }
  const unready = await processorUnready(tools, request);
  // The breaker is open: what was begun goes on, and nothing new is begun.
  if (unready !== undefined && (await tools.store.readRecord(operationId)) === undefined) throw unready;
  return tools.runner.run(operationId, new OrderRun(tools, request, notes));
}

async function processorUnready(tools: OrderTools, request: CreateOrder): Promise<RetryableError | undefined> {
  try {
    await (tools.choose?.(request) ?? tools.processor).ready();
    return undefined;
  } catch (error) {
    if (error instanceof RetryableError) return error;
    throw error;
  }
}
