import { type EndpointEventType, PUBLIC_EVENT_TYPES } from '../../events/domain/event.ts';
import { WEBHOOK_CALL_SECONDS } from '../../kernel/contract/timing.ts';
import type { Mode, TenantId } from '../../kernel/ids.ts';
import type { KeyedCalls } from './keyed-calls.ts';

/**
 * Types of the events that are published and sent to a tenant's other endpoints when the state of one endpoint changes.
 * They concern no payment, so they are not in the Ledger.
 */
export const ENDPOINT_STATES = {
  failing: 'webhook_endpoint.failing',
  recovered: 'webhook_endpoint.recovered',
  disabled: 'webhook_endpoint.disabled',
} as const satisfies Readonly<Record<string, EndpointEventType>>;
/** Type of a test event, which is sent on request only. No endpoint subscribes to it. */
export const ENDPOINT_TEST = 'webhook_endpoint.test';

export const WEBHOOK_EVENT_TYPES = [...PUBLIC_EVENT_TYPES, ...Object.values(ENDPOINT_STATES)] as const;
export type WebhookEventType = (typeof WEBHOOK_EVENT_TYPES)[number];

export interface WebhookOwner {
  readonly tenantId: TenantId;
  readonly mode: Mode;
}

/** While one group occupies many senders, SQS serves other groups first. */
export function groupOf({ tenantId, mode }: WebhookOwner): string {
  return `${tenantId}#${mode}`;
}

/** The secret itself is not stored. */
export interface SecretVersion {
  /** Name of the root key. */
  readonly root: string;
  /** From 1. */
  readonly version: number;
  /** Time at which this version stops signing, in Unix milliseconds. Set when a newer version replaces this version. */
  readonly expiresAtMs?: number;
}

export interface Disabled {
  readonly atMs: number;
  /**
   * `requested`: the merchant or an operator disabled the endpoint. `gone`: the endpoint responded with 410. `failing`:
   * every attempt of a delivery failed, or the endpoint was slow for a whole schedule.
   */
  readonly reason: 'requested' | 'gone' | 'failing';
}

export interface WebhookEndpoint {
  /** Endpoint id (`we_…`), derived from the key scope of the request that created the endpoint. */
  readonly id: string;
  readonly url: string;
  /** The subscribed event types, or only `*`. */
  readonly events: readonly (WebhookEventType | '*')[];
  readonly description?: string;
  readonly disabled?: Disabled;
  /**
   * Set while all attempts at this endpoint fail, with the time of the first failed attempt in Unix milliseconds. A
   * disabled endpoint keeps it until an attempt succeeds.
   */
  readonly failing?: { readonly sinceMs: number };
  /** Number of changes of the endpoint's state for which an event was published. @default 0 */
  readonly changes?: number;
  /** Set after a slow attempt. The endpoint's deliveries then wait in its lane until it responds quickly. */
  readonly slow?: { readonly sinceMs: number };
  /** Id of the range replay that is running. Another replay is refused until this replay ends. */
  readonly replay?: string;
  /** Newest first. */
  readonly secrets: readonly SecretVersion[];
  readonly rotations?: KeyedCalls;
  readonly createdAtMs: number;
}

/**
 * One row holds all endpoints of an owner, because their number is limited, and every event needs all of them. Each
 * change stores the next revision, so one of two concurrent changes must read the row again.
 */
export interface EndpointList extends WebhookOwner {
  /** Revision of the row; 0 when the row does not exist yet. */
  readonly revision: number;
  readonly endpoints: readonly WebhookEndpoint[];
  readonly late?: SlowAttempts;
}

/**
 * The latest slow attempts of an owner in the shared senders. The record is kept after endpoints are deleted, so that a
 * tenant cannot block the senders again with new endpoints, or with endpoints that respond only sometimes. A test in
 * `test/webhooks/webhook-lanes.test.ts` depends on this.
 */
export interface SlowAttempts {
  /** Time of the first slow attempt of the current period of {@link CALL_MS}, in Unix milliseconds. */
  readonly sinceMs: number;
  /**
   * Time of the second slow attempt in the latest period of {@link CALL_MS} that had two, in Unix milliseconds. Two
   * slow attempts in flight at the same time block senders.
   */
  readonly blockedAtMs?: number;
  /** Time until which all deliveries of the tenant go to lanes, in Unix milliseconds. */
  readonly apartUntilMs?: number;
}

/** Maximum duration of a request, in milliseconds. Two slow attempts within this time were in flight together. */
const CALL_MS = WEBHOOK_CALL_SECONDS * 1000;
const REPEATED_WITHIN_MS = 2 * 60 * 60_000;
const ISOLATED_MS = 30 * 60_000;

/**
 * Two slow attempts in flight at the same time block senders. If this happens twice within two hours, all of the
 * tenant's deliveries go to lanes for half an hour. The first time has no consequence: a lane sends only about a
 * hundred deliveries per second, so a single stall must not put a busy endpoint into its lane.
 *
 * @param nowMs time of the attempt, in Unix milliseconds. Senders have different clocks, so it can be earlier than the
 * times in `late`
 * @returns the same object when nothing changes
 */
export function withLateAttempt(late: SlowAttempts | undefined, nowMs: number): SlowAttempts {
  if (late === undefined || Math.abs(nowMs - late.sinceMs) >= CALL_MS) return { ...late, sinceMs: nowMs };
  const { sinceMs, blockedAtMs = 0 } = late;
  if (blockedAtMs >= sinceMs) return late;
  const isRepeated = nowMs - blockedAtMs < REPEATED_WITHIN_MS;
  const blocked = { ...late, blockedAtMs: Math.max(nowMs, sinceMs) };
  return isRepeated ? { ...blocked, apartUntilMs: nowMs + ISOLATED_MS } : blocked;
}

/** Returns whether deliveries of the endpoint go to its lane rather than to the shared senders. */
export function isIsolated({ late }: EndpointList, { slow }: WebhookEndpoint, nowMs: number): boolean {
  return slow !== undefined || nowMs < (late?.apartUntilMs ?? 0);
}

/**
 * Each event costs one delivery per endpoint. A merchant with more receivers must distribute the events behind one
 * endpoint.
 */
export const MAX_ENDPOINTS = 16;

/** Limited because all signatures share one header. */
const MAX_SECRETS = 4;

/** Unix milliseconds; undefined if the endpoint needs no operator: it works, or a person has disabled it. */
export function failingSince({ disabled, failing }: WebhookEndpoint): number | undefined {
  if (disabled === undefined) return failing?.sinceMs;
  return disabled.reason === 'requested' ? undefined : disabled.atMs;
}

export function isSubscribedTo({ events, disabled }: WebhookEndpoint, type: string): boolean {
  return disabled === undefined && events.some((wanted) => wanted === '*' || wanted === type);
}

export function endpointOf(book: EndpointList, id: string): WebhookEndpoint | undefined {
  return book.endpoints.find((endpoint) => endpoint.id === id);
}

export function withEndpoint(book: EndpointList, endpoint: WebhookEndpoint): EndpointList {
  const known = endpointOf(book, endpoint.id) !== undefined;
  const endpoints = known
    ? book.endpoints.map((each) => (each.id === endpoint.id ? endpoint : each))
    : [...book.endpoints, endpoint];
  return { ...book, revision: book.revision + 1, endpoints };
}

export function withoutEndpoint(book: EndpointList, id: string): EndpointList {
  return {
    ...book,
    revision: book.revision + 1,
    endpoints: book.endpoints.filter((endpoint) => endpoint.id !== id),
  };
}

/** Newest first. */
export function activeSecrets({ secrets }: WebhookEndpoint, nowMs: number): readonly SecretVersion[] {
  return secrets.filter(({ expiresAtMs }) => expiresAtMs === undefined || expiresAtMs > nowMs);
}

/**
 * A rotation must not end an older secret before its overlap ends, because receivers that still verify with that secret
 * would refuse every webhook. A rotation without an overlap ends all older secrets, as requested.
 *
 * @returns the time from which a rotation is possible, in Unix milliseconds; undefined when it is possible now
 */
export function rotatableFromMs(endpoint: WebhookEndpoint, nowMs: number, overlapSeconds: number): number | undefined {
  const active = activeSecrets(endpoint, nowMs);
  if (overlapSeconds === 0 || active.length < MAX_SECRETS) return undefined;
  return Math.min(...active.flatMap(({ expiresAtMs }) => expiresAtMs ?? []));
}

/**
 * The previous secret continues to sign during the overlap.
 *
 * @see rotatableFromMs
 */
export function rotated(
  endpoint: WebhookEndpoint,
  root: string,
  nowMs: number,
  overlapSeconds: number,
): WebhookEndpoint {
  const expiresAtMs = nowMs + overlapSeconds * 1000;
  const version = 1 + Math.max(0, ...endpoint.secrets.map((secret) => secret.version));
  const older = activeSecrets(endpoint, nowMs).map((secret) => ({
    ...secret,
    expiresAtMs: Math.min(secret.expiresAtMs ?? expiresAtMs, expiresAtMs),
  }));
  return { ...endpoint, secrets: [{ root, version }, ...older].slice(0, MAX_SECRETS) };
}

export function endpointObject(endpoint: WebhookEndpoint, { mode }: WebhookOwner): Record<string, unknown> {
  const { id, url, events, description, disabled, failing, createdAtMs, secrets } = endpoint;
  const previous = secrets.find(({ expiresAtMs }) => expiresAtMs !== undefined);
  return {
    id,
    object: 'webhook_endpoint',
    url,
    events,
    description: description ?? null,
    enabled: disabled === undefined,
    disabled: disabled === undefined ? null : { reason: disabled.reason, at: seconds(disabled.atMs) },
    failing_since: failing === undefined ? null : seconds(failing.sinceMs),
    previous_secret_expires: previous?.expiresAtMs === undefined ? null : seconds(previous.expiresAtMs),
    created: seconds(createdAtMs),
    livemode: mode === 'live',
  };
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}
