import { PUBLIC_EVENT_TYPES } from '../../events/domain/event.ts';
import type { Digest } from '../../kernel/digest.ts';
import { base32 } from '../../kernel/digest.ts';
import { type KeyScope, type Mode, type OperationId, storedOperationId, type TenantId } from '../../kernel/ids.ts';

/** Told to a tenant's other endpoints when one is switched off; it is about no payment, so the Ledger knows nothing of it. */
export const ENDPOINT_DISABLED = 'webhook_endpoint.disabled';

/** What an endpoint may ask for by name. */
export const WEBHOOK_EVENT_TYPES = [...PUBLIC_EVENT_TYPES, ENDPOINT_DISABLED] as const;
export type WebhookEventType = (typeof WEBHOOK_EVENT_TYPES)[number];

/** One tenant in one mode. */
export interface WebhookOwner {
  readonly tenantId: TenantId;
  readonly mode: Mode;
}

/** From which the signing secret is derived; the secret itself is stored nowhere. */
export interface SecretVersion {
  /** Names the root key that it is derived from. */
  readonly root: string;
  /** 1 for the first. */
  readonly version: number;
  /** Unix milliseconds; set once a newer one has taken its place. */
  readonly expiresAtMs?: number;
}

/** Why an endpoint gets nothing any more. */
export interface Disabled {
  readonly atMs: number;
  /** `requested` by its owner, `gone` by its own answer 410, `failing` for all the days that a delivery is tried. */
  readonly reason: 'requested' | 'gone' | 'failing';
}

export interface WebhookEndpoint {
  /** `we_…`: derived from the request that made it. */
  readonly id: string;
  readonly url: string;
  /** Types, or `*` alone. */
  readonly events: readonly (WebhookEventType | '*')[];
  readonly description?: string;
  readonly disabled?: Disabled;
  /** Newest first. */
  readonly secrets: readonly SecretVersion[];
  readonly createdAtMs: number;
}

/**
 * All endpoints of one tenant in one mode: one row, because they are few, are needed all at once for every event, and are
 * limited in number. Each change makes the next revision, so that of two changes at once one must look again.
 */
export interface EndpointBook extends WebhookOwner {
  /** 0 when there is none yet. */
  readonly revision: number;
  readonly endpoints: readonly WebhookEndpoint[];
}

/** Each event costs a delivery at each; more receivers than this belong behind a bus of the merchant's own. */
export const MAX_ENDPOINTS = 16;

/** Rotations faster than secrets run out keep this many: the signatures of all go into one header. */
const MAX_SECRETS = 4;

/** 160 bits. */
const ID_LETTERS = 32;

/** The same request makes the same endpoint. */
export function deriveEndpointId(digest: Digest, scope: KeyScope): string {
  return `we_${derivedLetters(digest, 'webhook_endpoint', scope)}`;
}

/** The operation that this request is, whatever it does to an endpoint, today and for ever. */
export function webhookOperation(digest: Digest, scope: KeyScope): OperationId {
  return storedOperationId(`wh_${derivedLetters(digest, 'webhook_request', scope)}`);
}

/** @param kind of what is made, so that no two kinds share an id */
export function derivedLetters(digest: Digest, kind: string, scope: KeyScope): string {
  const { tenantId, mode, method, path, key } = scope;
  const bytes = digest.sha256(JSON.stringify([kind, tenantId, mode, method, path, key]));
  return base32(bytes).slice(0, ID_LETTERS);
}

export function wants({ events, disabled }: WebhookEndpoint, type: string): boolean {
  return disabled === undefined && events.some((wanted) => wanted === '*' || wanted === type);
}

export function endpointOf(book: EndpointBook, id: string): WebhookEndpoint | undefined {
  return book.endpoints.find((endpoint) => endpoint.id === id);
}

/** The next revision, with this endpoint in the place of the one of its id, or at the end. */
export function withEndpoint(book: EndpointBook, endpoint: WebhookEndpoint): EndpointBook {
  const known = endpointOf(book, endpoint.id) !== undefined;
  const endpoints = known
    ? book.endpoints.map((each) => (each.id === endpoint.id ? endpoint : each))
    : [...book.endpoints, endpoint];
  return { ...book, revision: book.revision + 1, endpoints };
}

export function withoutEndpoint(book: EndpointBook, id: string): EndpointBook {
  return {
    ...book,
    revision: book.revision + 1,
    endpoints: book.endpoints.filter((endpoint) => endpoint.id !== id),
  };
}

/** Those that sign now, newest first. */
export function activeSecrets({ secrets }: WebhookEndpoint, nowMs: number): readonly SecretVersion[] {
  return secrets.filter(({ expiresAtMs }) => expiresAtMs === undefined || expiresAtMs > nowMs);
}

/** A new secret signs at once; the one before goes on for as long as the receiver needs to switch over. */
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

/** As the API shows it: never with a secret. Times in Unix seconds. */
export function endpointObject(endpoint: WebhookEndpoint, { mode }: WebhookOwner): Record<string, unknown> {
  const { id, url, events, description, disabled, createdAtMs, secrets } = endpoint;
  const previous = secrets.find(({ expiresAtMs }) => expiresAtMs !== undefined);
  return {
    id,
    object: 'webhook_endpoint',
    url,
    events,
    description: description ?? null,
    enabled: disabled === undefined,
    disabled: disabled === undefined ? null : { reason: disabled.reason, at: seconds(disabled.atMs) },
    previous_secret_expires: previous?.expiresAtMs === undefined ? null : seconds(previous.expiresAtMs),
    created: seconds(createdAtMs),
    livemode: mode === 'live',
  };
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}
