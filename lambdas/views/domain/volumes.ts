import { type EventObject, PUBLIC_EVENT_TYPES, type PublicEventType } from '../../events/domain/event.ts';
import { invariant } from '../../kernel/invariant.ts';

export interface VolumeContribution {
  readonly type: PublicEventType;
  readonly currency: string;
  /** Minor units. */
  readonly amountMinor: number;
}

/** The number and total amount of one type's events, in one currency on one day. */
export interface Volume {
  readonly type: PublicEventType;
  readonly currency: string;
  readonly count: number;
  /** Amount in minor units. A `bigint`, because a number would silently lose digits. */
  readonly amount: bigint;
}

/** The volumes of one day, by currency and event type. A combination without events has no entry. */
export type Volumes = ReadonlyMap<string, Volume>;

export const NO_VOLUMES: Volumes = new Map();

/**
 * For `payment.completed`, the amount is the captured amount; otherwise, it is the amount of the payment, order, refund
 * or dispute that the event concerns.
 */
export function volumeContribution(type: PublicEventType, { data }: Pick<EventObject, 'data'>): VolumeContribution {
  const { object } = data;
  const amountMinor = object[type === 'payment.completed' ? 'amount_captured' : 'amount'];
  const { currency } = object;
  invariant(typeof amountMinor === 'number', `${type} has no amount`);
  invariant(typeof currency === 'string', `${type} has no currency`);
  return { type, currency, amountMinor };
}

export function volumeOf({ type, currency, amountMinor }: VolumeContribution): Volume {
  return { type, currency, count: 1, amount: BigInt(amountMinor) };
}

export function volumesOf(parts: Iterable<Volume>): Volumes {
  const volumes = new Map<string, Volume>();
  for (const { type, currency, count, amount } of parts) {
    const key = `${currency} ${type}`;
    const found = volumes.get(key);
    const sum = { count: count + (found?.count ?? 0), amount: amount + (found?.amount ?? 0n) };
    volumes.set(key, { type, currency, ...sum });
  }
  return volumes;
}

export function addedVolumes(left: Volumes, right: Volumes): Volumes {
  return volumesOf([...left.values(), ...right.values()]);
}

export function sameVolumes(left: Volumes, right: Volumes): boolean {
  return left.size === right.size && [...left].every(([key, volume]) => sameVolume(volume, right.get(key)));
}

function sameVolume({ count, amount }: Volume, right: Volume | undefined): boolean {
  return right !== undefined && count === right.count && amount === right.amount;
}

export function byCurrencyThenType(left: Volume, right: Volume): number {
  if (left.currency !== right.currency) return left.currency < right.currency ? -1 : 1;
  return PUBLIC_EVENT_TYPES.indexOf(left.type) - PUBLIC_EVENT_TYPES.indexOf(right.type);
}
