import type { OrderTools } from '../app/create-order-types.ts';
import { type Resolved, type ResolveTools, resolveClaims, resolveInquiries } from '../app/resolve.ts';
import { finishOrderClaim, resolveOrders } from '../app/resolve-orders.ts';
import { returnCharges } from '../app/return-charges.ts';
import type { Telemetry } from '../runtime/telemetry.ts';

export interface ResolverTools
  extends Omit<ResolveTools, 'report' | 'finishOther'>,
    Pick<OrderTools, 'orders' | 'choose'> {
  /** Left out where orders are not taken. */
  readonly parties?: Pick<OrderTools, 'stock' | 'referrals' | 'mailer'>;
  readonly telemetry: Telemetry;
}

const NOT_RUN: Resolved = { finished: 0, waiting: 0, undecidable: 0, failed: 1 };

/** One run over all queues, each after the other; one that cannot be read now does not hold up the others. */
export function resolverRuns(tools: ResolverTools): () => Promise<Readonly<Record<string, Resolved>>> {
  const { parties, telemetry } = tools;
  const report = (error: unknown): void => telemetry.fault('resolver', error);
  let inReview = 0;
  const alarm = (): void => {
    inReview += 1;
  };
  const orders: OrderTools | undefined = parties === undefined ? undefined : { ...tools, ...parties, report, alarm };
  const payments: ResolveTools = {
    ...tools,
    report,
    ...(orders === undefined ? {} : { finishOther: (record) => finishOrderClaim(orders, record) }),
  };
  const runs = {
    claims: () => resolveClaims(payments),
    inquiries: (startedAtMs: number) => resolveInquiries(payments, startedAtMs),
    returns: () => returnCharges(payments),
    ...(orders === undefined ? {} : { orders: (startedAtMs: number) => resolveOrders(orders, startedAtMs) }),
  };
  return async () => {
    const came: Record<string, Resolved> = {};
    const startedAtMs = tools.clock.nowMs();
    for (const [name, run] of Object.entries(runs)) {
      inReview = 0;
      const resolved = await run(startedAtMs).catch((error: unknown) => {
        report(error);
        return NOT_RUN;
      });
      came[name] = resolved;
      const { finished, failed, undecidable } = resolved;
      const counts = { resolved: finished, unavailable: failed, undecidable, order_needs_review: inReview };
      telemetry.run(`resolve ${name}`, counts, { ...resolved });
    }
    return came;
  };
}

/** A row that the code in place cannot read is for a person: it stays in its queue, and is told of at every reading. */
export function unreadableRows(telemetry: Telemetry): (error: unknown) => void {
  return (error) => {
    telemetry.fault('resolver', error);
    telemetry.run('resolve unreadable', { undecidable: 1 }, { unreadable: 1 });
  };
}
