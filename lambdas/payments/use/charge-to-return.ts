import type { Transition } from '../domain/transition.ts';
import type { ChargeToReturn } from './payment-store.ts';

/** The queue entries that go with these transitions: money that turned up where none may be is sent back. */
export function chargesToReturn(transitions: readonly Transition[]): readonly ChargeToReturn[] {
  return transitions.flatMap(({ type, subject, payment, occurredAtMs }) => {
    if (type !== 'payment.late_success' || subject?.kind !== 'stray_charge') return [];
    const { chargeId, amountMinor, currency, status } = subject;
    return [
      {
        paymentId: payment.id,
        chargeId,
        by: status === 'captured' ? 'refund' : 'void',
        amountMinor,
        currency,
        foundAtMs: occurredAtMs,
      },
    ];
  });
}
