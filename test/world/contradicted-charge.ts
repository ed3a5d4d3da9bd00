import type { Charge, ChargeStatus } from '../../lambdas/processors/sandbox/sandbox-api.ts';

const WAS_HELD: ReadonlySet<ChargeStatus> = new Set(['authorized', 'voided']);

export function isContradicted(before: Charge, after: Charge): boolean {
  const statusOf = (parts: readonly { readonly id: string; readonly status: string }[], id: string) =>
    parts.find((part) => part.id === id)?.status;
  return (
    (WAS_HELD.has(before.status) && after.status === 'declined') ||
    (before.amount_captured > 0 && after.amount_captured !== before.amount_captured) ||
    after.refunds.some(({ id, status }) => status === 'succeeded' && statusOf(before.refunds, id) === 'failed') ||
    before.disputes.some(({ id, status }) => status !== 'open' && statusOf(after.disputes, id) !== status)
  );
}
