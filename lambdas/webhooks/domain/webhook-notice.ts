import type { EndpointEvent } from '../../events/domain/event.ts';
import type { Digest } from '../../kernel/digest.ts';
import { type Delivery, messageAbout, type WebhookMessage } from './webhook-delivery.ts';
import {
  type Disabled,
  ENDPOINT_STATES,
  endpointObject,
  type WebhookEndpoint,
  type WebhookOwner,
} from './webhook-endpoint.ts';

export type StateChange =
  /** The endpoint has accepted nothing since `sinceMs`, in Unix milliseconds. */
  | { readonly kind: 'failing'; readonly sinceMs: number }
  /** The endpoint accepted a webhook after it was failing or disabled. */
  | { readonly kind: 'recovered' }
  | { readonly kind: 'disabled'; readonly reason: Disabled['reason'] };

/**
 * One transaction writes the event and the change, so each change has exactly one event. The event stays in the due
 * queue until the bus accepts it.
 */
export interface WebhookNotice extends WebhookOwner, Required<WebhookMessage> {
  readonly endpointId: string;
  readonly revision: number;
  readonly dueAtMs: number;
  readonly sweepAtMs: number;
}

/**
 * An endpoint that accepts nothing is failing after this scheduled attempt of a delivery, counted from 1. The third
 * attempt is about five minutes after the first.
 */
const FAILING_FROM_TRY = 3;

/**
 * Only deliveries of Ledger events can begin a failure. Otherwise, an endpoint that rejects an event about a failing
 * endpoint would become `failing` itself and cause another such event.
 */
export function canBeginFailure({ body, tries }: Delivery): boolean {
  return body === undefined && tries >= FAILING_FROM_TRY;
}

/** Returns the time of the first attempt of the delivery's schedule, in Unix milliseconds. */
export function scheduleBegan({ attempts, tries, createdAtMs }: Delivery): number {
  return (attempts.at(-tries) ?? attempts.at(0))?.startedAtMs ?? createdAtMs;
}

/**
 * @param url the address to which the attempt was sent
 * @returns undefined when the endpoint already has the state, or `url` is no longer its address
 */
export function withState(
  known: WebhookEndpoint,
  change: StateChange,
  { url, atMs }: { readonly url: string; readonly atMs: number },
): WebhookEndpoint | undefined {
  const { failing, changes = 0, ...rest } = known;
  if (known.url !== url) return undefined;
  const next = { ...rest, changes: changes + 1 };
  switch (change.kind) {
    case 'failing':
      return failing === undefined ? { ...next, failing: { sinceMs: change.sinceMs } } : undefined;
    case 'recovered':
      return failing === undefined ? undefined : next;
    case 'disabled':
      return { ...next, failing: failing ?? { sinceMs: atMs }, disabled: { atMs, reason: change.reason } };
  }
}

/** @param endpoint the endpoint after the change */
export function noticeOf(
  digest: Digest,
  { tenantId, mode }: WebhookOwner,
  endpoint: WebhookEndpoint,
  kind: StateChange['kind'],
  atMs: number,
): WebhookNotice {
  const { id: endpointId, changes: sequence = 1 } = endpoint;
  const { enabled, disabled, failing_since } = endpointObject(endpoint, { tenantId, mode });
  const state = { enabled, disabled, failing_since };
  const message = messageAbout(digest, endpoint, {
    mode,
    type: ENDPOINT_STATES[kind],
    // After a restore of the Registry, a sequence number can occur again, so the mark also contains the time.
    mark: `${sequence} ${atMs}`,
    sequence,
    atMs,
    state,
  });
  return { tenantId, mode, ...message, endpointId, revision: 1, dueAtMs: atMs, sweepAtMs: atMs };
}

export function endpointEvent({ tenantId, mode, occurredAtMs, body }: WebhookNotice): EndpointEvent {
  return { tenant: tenantId, mode, occurredAtMs, event: JSON.parse(body) as EndpointEvent['event'] };
}
