/* Texts about messages that could not be processed, and about the operators' actions on them. */
import type { Schemas } from './api.ts';
import { count, relativeTime } from './show.ts';

type Queue = Schemas['QueueList']['data'][number];
type ActivityEntry = Schemas['ActivityList']['data'][number];

/** Texts for the reason codes of parked messages (from Payonce or EventBridge), and of entries that need no action. */
const REASONS: ReadonlyMap<string, string> = new Map([
  ['ended', 'The outcome is known. Nothing needs to be done here. A job removes the entry.'],
  [
    'other_program',
    'The charge names no payment, so another program made it. Nothing needs to be done here. The entry expires 30 days after its arrival.',
  ],
  ['unknown_sender', 'The settings map the sender to no tenant.'],
  ['unknown_tenant', 'The settings map the sender to a tenant that does not exist.'],
  ['malformed', 'The message cannot be read, or one of its fields is invalid.'],
  ['wrong_account', 'The request names a tenant other than its sender’s.'],
  ['changed', 'Another request was accepted under the same event id.'],
  ['expired', 'The event is too old to begin a payment.'],
  ['refused', 'The request cannot begin a payment: its reference is in use, or no processor accepts it.'],
  ['failed', 'Every attempt to process the message failed.'],
  ['unexpected', 'The message is of an unexpected kind, or its processing ended with an unexpected error.'],
  ['unreadable', 'The record cannot be read.'],
  ['refused_by_bus', 'EventBridge refused the event.'],
  ['ledger_tampered', 'A row of the Ledger was changed or deleted.'],
  ['first_transition_missing', 'The first transition of the payment is missing.'],
  ['window_ended', 'The time window of the run ended before the run was requested.'],
  ['dead_letter_unreadable', 'The message cannot be read.'],
  ['NO_PERMISSIONS', 'EventBridge has no permission to deliver to the target.'],
  ['NO_RESOURCE', 'The target of EventBridge does not exist.'],
  ['THROTTLING', 'The target was throttled until EventBridge gave up.'],
  ['TIMEOUT', 'The target did not respond to EventBridge in time.'],
  ['SDK_CLIENT_ERROR', 'The target refused the delivery of EventBridge.'],
]);

/**
 * Suffixes of the fault codes of calls, each with a text. A code begins with the called party, for example
 * `processor_timeout`. The text follows the name of the called party.
 */
const FAULTS: readonly (readonly [end: string, text: string])[] = [
  ['_account', 'refused the call because of its account or server settings.'],
  ['_answer_unexpected', 'sent an unexpected response. The call may have taken effect.'],
  ['_answer_unreadable', 'sent a response that cannot be read. The call may have taken effect.'],
  ['_circuit_open', 'was not called, because its last calls had failed.'],
  ['_error', 'reported an internal error. The call may have taken effect.'],
  ['_in_doubt', 'may have applied an earlier call. Look up that call there first.'],
  ['_key_mismatch', 'has already received a different call with the same idempotency key.'],
  ['_no_time', 'was not called, because no time was left.'],
  ['_rate_limited', 'limited the rate of calls.'],
  ['_refused', 'refused the call.'],
  ['_timeout', 'did not respond in time. The call may have taken effect.'],
  ['_unauthorized', 'refused the credentials.'],
  ['_unavailable', 'was not available.'],
  ['_unreachable', 'could not be reached.'],
];

/**
 * @param code the reason that the API shows
 * @returns undefined if the code is unknown, or is already a sentence
 */
export function reasonText(code: string): string | undefined {
  const known = REASONS.get(code);
  if (known !== undefined) return known;
  const [end, text] = FAULTS.find(([each]) => /^[a-z0-9_]+$/.test(code) && code.endsWith(each)) ?? [];
  return end === undefined ? undefined : `${code.slice(0, -end.length).replaceAll('_', ' ')} ${text}`;
}

export function actsOnQueue(log: readonly ActivityEntry[], queue: string): readonly ActivityEntry[] {
  return log.filter(({ about, action }) => about.includes(queue) && /^(?:queue|message)\./.test(action));
}

/**
 * @param redriven time of the newest redrive, in Unix seconds
 * @param to the queue or function that processes the messages again
 * @param queues all queues
 */
export function afterRedrive(
  { id, waiting: here }: Queue,
  { redriven, to, queues }: { readonly redriven: number; readonly to: string; readonly queues: readonly Queue[] },
): string {
  const target = queues.find((each) => each.id === to);
  const waits = target?.waiting;
  const there =
    target === undefined
      ? `${to} processes the messages immediately.`
      : waits === null || waits === undefined
        ? `The messages that wait in ${to} cannot be counted now.`
        : waits === 0
          ? `None waits in ${to} any longer.`
          : `${count(waits)} still ${waits === 1 ? 'waits' : 'wait'} in ${to}.`;
  const back =
    here === null
      ? ''
      : here === 0
        ? ` No message is back in ${id}, so the messages that no longer wait were processed.`
        : ` A listed message that is younger than the redrive either failed again or is new.`;
  return `The newest redrive was ${relativeTime(redriven)}. ${there}${back}`;
}
