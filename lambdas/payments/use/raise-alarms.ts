import type { AlarmMetric } from '../../kernel/contract/metrics.ts';
import type { Transition } from '../domain/transition.ts';

export interface AlarmTools {
  /** Raises an alarm for operators, before the write. @default no alarm */
  readonly alarm?: (what: AlarmMetric) => void;
}

/**
 * Raises the alarms for late successes and contradictions. Callers raise them before the write: an alarm may be raised
 * twice, but must not be lost when the response to an applied write is lost.
 */
export function raiseAlarms(
  { alarm }: AlarmTools,
  transitions: readonly Pick<Transition, 'subject'>[],
  contradictions: readonly string[],
): void {
  if (transitions.some(({ subject }) => subject?.kind === 'stray_charge')) alarm?.('late_success');
  if (contradictions.length > 0) alarm?.('contradiction');
}
