import type { AlarmMetric } from '../../kernel/contract/metrics.ts';
import type { Transition } from '../domain/transition.ts';

export interface AlarmTools {
  /** Told of what a person must hear of, before it is written. @default nobody is told */
  readonly alarm?: (what: AlarmMetric) => void;
}

/**
 * Tells of money that came too late and of what cannot be, whoever brings the news. Before the write: an alarm may be raised
 * twice, and must not be lost with the answer of a write that took effect.
 */
export function raiseAlarms(
  { alarm }: AlarmTools,
  transitions: readonly Pick<Transition, 'type'>[],
  contradictions: readonly string[],
): void {
  if (transitions.some(({ type }) => type === 'payment.late_success')) alarm?.('late_success');
  if (contradictions.length > 0) alarm?.('contradiction');
}
