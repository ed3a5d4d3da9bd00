import type { OrderTools } from '../app/create-order-types.ts';
import { type Resolved, resolveClaims, resolveInquiries } from '../app/resolve.ts';
import { finishOrderClaim, resolveOrders } from '../app/resolve-orders.ts';
import { type ReturnTools, returnCharges } from '../app/return-charges.ts';
import type { Telemetry } from '../runtime/telemetry.ts';

export interface ResolverTools
  extends Omit<ReturnTools, 'report' | 'finishOther'>,
    Pick<OrderTools, 'orders' | 'choose'> {
  /** Left out where orders are not taken. */
  readonly parties?: Pick<OrderTools, 'stock' | 'referrals' | 'mailer'>;
  readonly telemetry: Telemetry;
}

/** One run over all queues, each after the other. */
export function resolverRuns(tools: ResolverTools): () => Promise<Readonly<Record<string, Resolved>>> {
  const { parties, telemetry } = tools;
  const report = (error: unknown): void => telemetry.fault('resolver', error);
  const orders: OrderTools | undefined = parties === undefined ? undefined : { ...tools, ...parties, report };
  const payments: ReturnTools = {
    ...tools,
    report,
    ...(orders === undefined ? {} : { finishOther: (record) => finishOrderClaim(orders, record) }),
  };
  const runs = {
    claims: () => resolveClaims(payments),
    inquiries: () => resolveInquiries(payments),
    returns: () => returnCharges(payments),
    ...(orders === undefined ? {} : { orders: () => resolveOrders(orders) }),
  };
  return async () => {
    const came: Record<string, Resolved> = {};
    for (const [name, run] of Object.entries(runs)) {
      const resolved = await run();
      came[name] = resolved;
      const { finished, failed, undecidable } = resolved;
      telemetry.run(`resolve ${name}`, { resolved: finished, unavailable: failed, undecidable }, { ...resolved });
    }
    return came;
  };
}
