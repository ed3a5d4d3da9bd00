import type { Job, JobCounts } from '../../jobs/use/job.ts';
import { type Piece, sweepsJob } from '../../jobs/use/pieces-job.ts';
import type { Cause } from '../../kernel/cause.ts';
import { defined } from '../../kernel/defined.ts';
import { NO_PARTIES, type OrderTools } from '../../orders/use/order-calls.ts';
import type { Resolved } from './process-entries.ts';
import { type ResolveTools, resolveClaims, resolveInquiries } from './resolve.ts';
import { finishOrderClaim, resolveOrders } from './resolve-orders.ts';
import { returnCharges } from './return-charges.ts';

export interface ResolveAllTools
  extends Omit<ResolveTools, 'finishOther' | 'deadlineMs' | 'cause'>,
    Pick<OrderTools, 'orders' | 'choose'> {
  /**
   * The external services for orders. Absent if the deployment accepts no orders; every call to these services for an
   * order that was accepted earlier then counts as unanswered, and an alarm reports the order.
   */
  readonly parties?: Pick<OrderTools, keyof typeof NO_PARTIES>;
  readonly onResolved: (queue: string, resolved: Resolved) => void;
}

interface Sweep {
  readonly cause: Cause;
  /**
   * Scheduled time of the run, in Unix milliseconds. Work that becomes due later, except a claim, is left to the next
   * run, even if the run is late or its earlier queues take more than a minute.
   */
  readonly startedAtMs: number;
  readonly deadlineMs?: number;
}

export type SweepQueue = (times: Sweep) => Promise<Resolved>;

const NOT_SWEPT: Resolved = { finished: 0, waiting: 0, undecidable: 0, failed: 1 };

/**
 * Returns one sweep for each queue of unfinished work, in the order in which the job runs them. If a queue cannot be
 * read, the error is reported, and the sweep's result contains one failed item.
 */
export function sweepsOf(tools: ResolveAllTools): Readonly<Record<string, SweepQueue>> {
  const { parties = NO_PARTIES, report } = tools;
  const orders: OrderTools = { ...tools, ...parties };
  const payments = ({ cause, deadlineMs }: Sweep): ResolveTools => ({
    ...tools,
    cause,
    ...defined({ deadlineMs }),
    finishOther: (record) => finishOrderClaim({ ...orders, cause }, record),
  });
  const onResolved =
    (queue: string, sweep: SweepQueue): SweepQueue =>
    async (times) => {
      const resolved = await sweep(times).catch((error: unknown) => {
        report(error);
        return NOT_SWEPT;
      });
      tools.onResolved(queue, resolved);
      return resolved;
    };
  return {
    claims: onResolved('claims', (times) => resolveClaims(payments(times))),
    inquiries: onResolved('inquiries', (times) => resolveInquiries(payments(times), times.startedAtMs)),
    returns: onResolved('returns', (times) => returnCharges(payments(times), times.startedAtMs)),
    orders: onResolved('orders', ({ startedAtMs, ...times }) => resolveOrders({ ...orders, ...times }, startedAtMs)),
  };
}

export function resolveJob(tools: ResolveAllTools): Job<string> {
  const pieces: Record<string, Piece> = {};
  for (const [queue, sweep] of Object.entries(sweepsOf(tools))) {
    pieces[queue] = async ({ runId, scheduledForMs, deadlineMs }) =>
      countsOf(await sweep({ cause: { by: 'run', runId }, startedAtMs: scheduledForMs, deadlineMs }));
  }
  return sweepsJob(pieces);
}

/** Undecidable items are counted as left: later runs retry them, and a separate alarm reports them. */
function countsOf({ finished, waiting, undecidable, failed }: Resolved): JobCounts {
  return { done: finished, left: waiting + undecidable, failed };
}
