import type { AlarmMetric } from '../../kernel/contract/metrics.ts';
import type { PaymentId } from '../../kernel/ids.ts';
import type { Transition } from '../domain/transition.ts';

export interface AlarmTools {
  /** Raises an alarm for operators, before the write. @param about the payment or the order @default no alarm */
  readonly alarm?: (what: AlarmMetric, about: string) => void;
}

/**
 * Raises the alarms for late successes and contradictions. Callers raise them before the write: an alarm may be raised
 * twice, but must not be lost when the response to an applied write is lost.
 */
export function raiseAlarms(
  { alarm }: AlarmTools,
  paymentId: PaymentId,
  transitions: readonly Pick<Transition, 'subject'>[],
  contradictions: readonly string[],
): void {
  if (transitions.some(({ subject }) => subject?.kind === 'stray_charge')) alarm?.('late_success', paymentId);
  if (contradictions.length > 0) alarm?.('contradiction', paymentId);
}
