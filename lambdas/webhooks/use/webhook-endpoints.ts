import type { Action, ActivityDraft } from '../../activity/domain/activity.ts';
import { type Answer, JSON_TYPE } from '../../kernel/answer.ts';
import type { OperatorCause, RequestCause } from '../../kernel/cause.ts';
import { defined } from '../../kernel/defined.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { OperationId } from '../../kernel/ids.ts';
import type { Clock } from '../../kernel/world.ts';
import { rounds } from '../../once/use/rounds.ts';
import type { Owner } from '../../tenants/owners.ts';
import { hasCall, withCall } from '../domain/keyed-calls.ts';
import {
  type EndpointList,
  endpointObject,
  endpointOf,
  MAX_ENDPOINTS,
  rotatableFromMs,
  rotated,
  type WebhookEndpoint,
  type WebhookOwner,
  withEndpoint,
  withoutEndpoint,
} from '../domain/webhook-endpoint.ts';
import { sealedSecret } from './sealed-secret.ts';
import { takeWebhookEffect, type WebhookEffectOutcome, type WebhookTools } from './webhook-effect.ts';
import type { WebhookAddresses, WebhookStore } from './webhooks.ts';

export interface EndpointTools extends WebhookTools {
  readonly addresses: WebhookAddresses;
}

export interface KeyedRequest {
  readonly caller: Owner;
  readonly operationId: OperationId;
  readonly fingerprint: Fingerprint;
  readonly cause: RequestCause | OperatorCause;
}

type Wishes = Pick<WebhookEndpoint, 'url' | 'events' | 'description'>;

export interface CreateEndpoint extends KeyedRequest, Wishes {
  readonly endpointId: string;
}

type UrlRefused = { readonly kind: 'url_refused'; readonly reason: string };
export type NotFound = { readonly kind: 'not_found' };
/**
 * The record of the request has expired, but the stored endpoint, delivery or replay shows that the request took
 * effect.
 */
export type KeyExpired = { readonly kind: 'key_expired' };

type CreateRefusal = UrlRefused | { readonly kind: 'limit_reached'; readonly limit: number };

/** @throws as `takeWebhookEffect` */
export async function createEndpoint(
  tools: EndpointTools,
  request: CreateEndpoint,
): Promise<WebhookEffectOutcome<CreateRefusal>> {
  const { caller, cause, endpointId, url, events, description } = request;
  return takeWebhookEffect<CreateRefusal>(tools, {
    ...request,
    // Even after the first endpoint was deleted, the idempotency key must not create a second one.
    isPermanent: true,
    decide: async () => {
      const reason = await tools.addresses.refusal(url);
      if (reason !== undefined) return { kind: 'url_refused', reason };
      const book = await tools.webhooks.readBook(caller);
      if (book.endpoints.length >= MAX_ENDPOINTS) return { kind: 'limit_reached', limit: MAX_ENDPOINTS };
      const nowMs = tools.clock.nowMs();
      const endpoint: WebhookEndpoint = {
        id: endpointId,
        url,
        events,
        ...defined({ description }),
        secrets: [{ root: await tools.secrets.newestRoot(), version: 1 }],
        createdAtMs: nowMs,
      };
      const answer = secretAnswer(201, endpoint, caller);
      return {
        kind: 'change',
        change: {
          book: { was: book, now: withEndpoint(book, endpoint) },
          activity: entryOf('webhook_endpoint.created', { owner: caller, cause, endpointId, nowMs }),
        },
        answer: { ...answer, headers: { ...answer.headers, location: `/v1/webhook_endpoints/${endpointId}` } },
      };
    },
  });
}

export interface RotateSecret extends KeyedRequest {
  readonly endpointId: string;
  /** Time for which the previous secret continues to sign, in seconds. */
  readonly overlapSeconds: number;
}

/** `too_many_secrets`: a rotation with an overlap is possible from `fromMs` (Unix milliseconds). */
type RotateRefusal = NotFound | KeyExpired | { readonly kind: 'too_many_secrets'; readonly fromMs: number };

/** @throws as `takeWebhookEffect` */
export async function rotateSecret(
  tools: WebhookTools,
  request: RotateSecret,
): Promise<WebhookEffectOutcome<RotateRefusal>> {
  const { caller, cause, endpointId, operationId, overlapSeconds } = request;
  return takeWebhookEffect<RotateRefusal>(tools, {
    ...request,
    decide: async () => {
      const book = await tools.webhooks.readBook(caller);
      const known = endpointOf(book, endpointId);
      if (known === undefined) return { kind: 'not_found' };
      if (hasCall(known.rotations, operationId)) return { kind: 'key_expired' };
      const nowMs = tools.clock.nowMs();
      const fromMs = rotatableFromMs(known, nowMs, overlapSeconds);
      if (fromMs !== undefined) return { kind: 'too_many_secrets', fromMs };
      const rotations = withCall(known.rotations, operationId);
      const endpoint = { ...rotated(known, await tools.secrets.newestRoot(), nowMs, overlapSeconds), rotations };
      return {
        kind: 'change',
        change: {
          book: { was: book, now: withEndpoint(book, endpoint) },
          activity: entryOf('webhook_endpoint.secret_rotated', { owner: caller, cause, endpointId, nowMs }),
        },
        answer: secretAnswer(200, endpoint, caller),
      };
    },
  });
}

/** The endpoint's pending deliveries are canceled when they become due. @throws as `takeWebhookEffect` */
export async function deleteEndpoint(
  tools: WebhookTools,
  request: KeyedRequest & { readonly endpointId: string },
): Promise<WebhookEffectOutcome<NotFound>> {
  const { caller, cause, endpointId: id } = request;
  return takeWebhookEffect<NotFound>(tools, {
    ...request,
    decide: async () => {
      const book = await tools.webhooks.readBook(caller);
      if (endpointOf(book, id) === undefined) return { kind: 'not_found' };
      return {
        kind: 'change',
        change: {
          book: { was: book, now: withoutEndpoint(book, id) },
          activity: entryOf('webhook_endpoint.deleted', {
            owner: caller,
            cause,
            endpointId: id,
            nowMs: tools.clock.nowMs(),
          }),
        },
        answer: answerOf(200, { id, object: 'webhook_endpoint', deleted: true }),
      };
    },
  });
}

interface Acted {
  readonly owner: WebhookOwner;
  readonly cause: RequestCause | OperatorCause;
  readonly endpointId: string;
  readonly nowMs: number;
}

/** Written in one transaction with the change of the endpoint. */
function entryOf(action: Action, { owner, cause, endpointId, nowMs }: Acted): ActivityDraft {
  const { tenantId, mode } = owner;
  return { chain: { tenantId, mode }, action, actor: cause, about: [endpointId], occurredAtMs: nowMs };
}

/** Absent fields stay as they are. */
export interface EndpointChange {
  readonly url?: string;
  readonly events?: WebhookEndpoint['events'];
  /** `null` removes the description. */
  readonly description?: string | null;
  readonly enabled?: boolean;
}

export type UpdateOutcome = { readonly kind: 'updated'; readonly endpoint: WebhookEndpoint } | NotFound | UrlRefused;

/**
 * The request needs no idempotency key, because it states the resulting values.
 *
 * @throws RetryableError, AmbiguousError: the caller can retry the request
 */
export async function updateEndpoint(
  tools: {
    readonly webhooks: WebhookStore;
    readonly addresses: WebhookAddresses;
    readonly clock: Pick<Clock, 'nowMs'>;
  },
  { change, ...acted }: Omit<Acted, 'nowMs'> & { readonly change: EndpointChange },
): Promise<UpdateOutcome> {
  const { owner, endpointId } = acted;
  const reason = change.url === undefined ? undefined : await tools.addresses.refusal(change.url);
  return rounds<UpdateOutcome>('these endpoints', async () => {
    const book: EndpointList = await tools.webhooks.readBook(owner);
    const known = endpointOf(book, endpointId);
    if (known === undefined) return { kind: 'not_found' };
    if (reason !== undefined) return { kind: 'url_refused', reason };
    const nowMs = tools.clock.nowMs();
    const endpoint = changed(known, change, nowMs);
    const outcome = await tools.webhooks.write({
      book: { was: book, now: withEndpoint(book, endpoint) },
      activity: entryOf('webhook_endpoint.updated', { ...acted, nowMs }),
    });
    return outcome.kind === 'written' ? { kind: 'updated', endpoint } : 'again';
  });
}

/**
 * Minimum time for which a slow endpoint stays isolated, in milliseconds. A tenant's request cannot return the endpoint
 * to the shared senders earlier.
 */
const MIN_ISOLATION_MS = 15 * 60_000;

function changed(known: WebhookEndpoint, change: EndpointChange, nowMs: number): WebhookEndpoint {
  const { description: oldDescription, disabled: oldDisabled, slow, ...rest } = known;
  // After `MIN_ISOLATION_MS`, a request that sets `url` or `enabled: true` ends the isolation, so that a repaired or
  // replaced receiver need not wait for the next run of its lane.
  const isLater = slow !== undefined && nowMs - slow.sinceMs >= MIN_ISOLATION_MS;
  const isNew = isLater && (change.url !== undefined || change.enabled === true);
  const description = change.description === undefined ? oldDescription : (change.description ?? undefined);
  // A request can disable an endpoint that Payonce has already disabled. The reason is then `requested`, and the
  // endpoint no longer needs an operator.
  const off = oldDisabled?.reason === 'requested' ? oldDisabled : ({ atMs: nowMs, reason: 'requested' } as const);
  const disabled = change.enabled === undefined ? oldDisabled : change.enabled ? undefined : off;
  return {
    ...rest,
    ...defined({ url: change.url, events: change.events, description, disabled }),
    ...(slow === undefined || isNew ? {} : { slow }),
  };
}

function secretAnswer(status: number, endpoint: WebhookEndpoint, owner: WebhookOwner): Answer {
  return answerOf(status, { ...endpointObject(endpoint, owner), secret: sealedSecret(endpoint) });
}

export function answerOf(status: number, body: Readonly<Record<string, unknown>>): Answer {
  return { status, headers: { 'content-type': JSON_TYPE }, body: JSON.stringify(body) };
}
