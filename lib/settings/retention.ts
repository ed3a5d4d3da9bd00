import { REPLAY_HORIZON_DAYS } from '../../lambdas/kernel/contract/events.ts';
import {
  QUEUE_DAYS,
  REDELIVERED_HOURS,
  type Retention,
  retentionHours,
} from '../../lambdas/kernel/contract/retention.ts';
import { objectOf, PREFIX, type Rule } from './rules.ts';

export interface RetentionSettings {
  /**
   * Retention of the records of completed operations: a JSON object that maps scopes to hours, 1 to 8760. `payments`
   * covers payments, changes of payments, and orders, over HTTP or by an event. `events`, at least 672, covers events,
   * callbacks and all other requests. A change applies to new records. Records of your own services follow
   * `retentionHours` of `createOnce` instead (docs/guides/services.md).
   * @default payments 168, events 720
   */
  readonly retention?: Retention;
}

const MAX_HOURS = 365 * 24;
const isHours = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MAX_HOURS;
/** The scopes of the records that Payonce's functions write. */
const SCOPES = ['payments', 'events'];

export const RETENTION_RULES = {
  retention: {
    allowed: `a JSON object that maps the scopes ${SCOPES.join(' and ')} to 1 to ${MAX_HOURS} hours`,
    read: (given: unknown) => {
      const hours = objectOf(isHours)(given);
      return Object.keys(hours ?? {}).every((scope) => SCOPES.includes(scope)) ? hours : undefined;
    },
  },
} satisfies Readonly<Record<string, Rule<Retention>>>;

/** Refuses a retention of events that ends while an event can still be redelivered. */
export function refuseShortRetention({ retention }: RetentionSettings): void {
  const hours = retentionHours('events', retention);
  if (hours >= REDELIVERED_HOURS) return;
  throw new Error(
    `${PREFIX}retention keeps records of events for ${hours} ${hours === 1 ? 'hour' : 'hours'}, but an event can be redelivered for ${REDELIVERED_HOURS} hours ` +
      `(an event up to ${REPLAY_HORIZON_DAYS} days old can be replayed, and can then wait in a queue for up to ${QUEUE_DAYS} days). ` +
      `Set events to ${REDELIVERED_HOURS} hours or more.`,
  );
}
