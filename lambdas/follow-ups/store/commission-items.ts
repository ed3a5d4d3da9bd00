import * as z from 'zod';
import type { TenantId } from '../../kernel/ids.ts';
import type { Commission, CommissionName } from '../commission.ts';
import type { CommissionDue } from '../commission-book.ts';

const dueItem = z.object({
  tenant: z.string().transform((id) => id as TenantId),
  mode: z.enum(['test', 'live']),
  affiliate: z.string(),
  order: z.string(),
  payment: z.string(),
  releasesAtMs: z.int(),
});

export function parseCommissionDue(item: unknown): CommissionDue {
  const { tenant: tenantId, order: orderId, payment: paymentId, ...rest } = dueItem.parse(item);
  return { tenantId, orderId, paymentId, ...rest };
}

const commissionItem = z.object({
  payment: z.string(),
  amountMinor: z.int().min(0),
  currency: z.string(),
  status: z.enum(['pending', 'locked', 'canceled', 'released']),
  releasesAtMs: z.int(),
  sequence: z.int(),
});

/** The second argument contains the fields that are in the row's key. */
export function parseCommission(item: unknown, { tenantId, mode, affiliate, orderId }: CommissionName): Commission {
  const { payment: paymentId, ...rest } = commissionItem.parse(item);
  return { tenantId, mode, affiliate, orderId, paymentId, ...rest };
}
