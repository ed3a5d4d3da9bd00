import type { AlarmMetric } from '../../kernel/contract/metrics.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { OperationId, PaymentId } from '../../kernel/ids.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import { type ExpiryOptions, expirySeconds } from '../../once/domain/idempotency.ts';
import type { Transition } from '../domain/transition.ts';
import { contradictionOperation } from '../ids.ts';
import type { EffectStore } from './effect-store.ts';
import type { PaymentChain } from './payment-chain.ts';

export interface AlarmTools {
  /**
   * Raises an alarm for operators. Call it before the write that records the cause of the alarm: a retry may then raise
   * the alarm twice, but a crash does not lose it.
   * @param about id of the payment or the order
   * @default no alarm is raised
   */
  readonly alarm?: (what: AlarmMetric, about: string) => void;
}

export interface ContradictionTools extends AlarmTools, Pick<ExpiryOptions, 'retention'> {
  readonly effects: Pick<EffectStore, 'recordEffect' | 'readEffect'>;
  readonly digest: Digest;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

/** Call it before the transitions are written: a retry may then raise the alarm twice, but a crash does not lose it. */
export function alarmLateSuccess(
  { alarm }: AlarmTools,
  paymentId: PaymentId,
  transitions: readonly Pick<Transition, 'subject'>[],
): void {
  if (transitions.some(({ subject }) => subject?.kind === 'stray_charge')) alarm?.('late_success', paymentId);
}

/**
 * Minimum time between two alarms about one contradiction, in milliseconds. The processor's events about one change
 * arrive together, and an operator who was alerted minutes ago is still investigating.
 */
const MIN_ALARM_INTERVAL_MS = 10 * 60_000;

/**
 * Raises the alarm for contradictions once for each combination of a state of the books and a state of the chain. Later
 * inquiries that find the same states raise no alarm. A new event that finds the same states raises another alarm, at
 * most every ten minutes: the books may have been correct in between, and the operator may have closed the earlier
 * case. The alarm is raised before it is recorded, so it may be raised twice, but a crash does not lose it.
 *
 * @param because the contradictions; if empty, nothing is done
 * @param shown content of the processor's books, as plain JSON
 * @param foundBy `event` for a processor event that was not recorded yet, `look` for an inquiry by Payonce itself
 * @throws RetryableError or AmbiguousError when the record cannot be read or written
 */
export async function alarmContradictions(
  tools: ContradictionTools,
  { first, newest }: Pick<PaymentChain, 'first' | 'newest'>,
  because: readonly string[],
  shown: unknown,
  foundBy: 'event' | 'look',
): Promise<void> {
  if (because.length === 0) return;
  const { alarm, effects, digest, clock } = tools;
  const { id: paymentId } = first.payment;
  const operation = (call: readonly number[]) =>
    contradictionOperation(digest, paymentId, JSON.stringify([because, shown, newest.sequence, ...call]));
  const raised = await effects.readEffect(operation([]));
  const call = raised === undefined ? 0 : Math.floor((clock.nowMs() - raised.recordedAtMs) / MIN_ALARM_INTERVAL_MS);
  if (raised !== undefined && (foundBy === 'look' || call < 1)) return;
  await alarmOnce(tools, { operationId: operation(call < 1 ? [] : [call]), paymentId }, () =>
    alarm?.('contradiction', paymentId),
  );
}

/**
 * The alarm is raised before it is recorded, so it may be raised twice, but a crash does not lose it.
 *
 * @throws RetryableError or AmbiguousError when the record cannot be read or written
 */
export async function alarmOnce(
  tools: Omit<ContradictionTools, 'digest' | 'alarm'>,
  { operationId, paymentId }: { readonly operationId: OperationId; readonly paymentId: PaymentId },
  raise: () => void,
): Promise<void> {
  const { effects, clock, entropy } = tools;
  if ((await effects.readEffect(operationId)) !== undefined) return;
  raise();
  const nowMs = clock.nowMs();
  await effects.recordEffect({
    record: {
      operationId,
      paymentId,
      owner: entropy.ownerToken(),
      recordedAtMs: nowMs,
      expiresAtSeconds: expirySeconds(tools, 'events', nowMs),
    },
    transitions: [],
  });
}
