import type { OperationId } from '../../kernel/ids.ts';
import type { EffectRecord } from '../../once/domain/idempotency.ts';
import type { EventRange } from '../../views/use/read-event.ts';
import type { AttemptResult, Delivery, WebhookMessage } from '../domain/webhook-delivery.ts';
import type { EndpointBook, SecretVersion, WebhookOwner } from '../domain/webhook-endpoint.ts';
import type { WebhookReplay } from '../domain/webhook-replay.ts';

/** A row that is to become its next revision. */
export interface Revised<Row> {
  /** As it was read; left out for a new one, which must not exist. */
  readonly was?: Row;
  readonly now: Row;
}

/** All or nothing: every row must still be as it was read. What is due goes into the due queue with its row. */
export interface WebhookChange {
  /** Must not exist. */
  readonly record?: EffectRecord;
  readonly book?: Revised<EndpointBook>;
  readonly deliveries?: readonly Revised<Delivery>[];
  readonly replay?: Revised<WebhookReplay>;
}

/** In order of precedence. */
export type WebhookChangeOutcome =
  | { readonly kind: 'written' }
  | { readonly kind: 'recorded_before'; readonly record: EffectRecord }
  /** A row is not as it was read: read again and decide again. */
  | { readonly kind: 'changed' };

/** Endpoints, deliveries and replays, with the effect records that they are written with. Every read is consistent. */
export interface WebhookStore {
  write(change: WebhookChange): Promise<WebhookChangeOutcome>;
  readEffect(operationId: OperationId): Promise<EffectRecord | undefined>;
  /** Of revision 0 when the tenant has none. */
  readBook(owner: WebhookOwner): Promise<EndpointBook>;
  readDelivery(endpointId: string, deliveryId: string): Promise<Delivery | undefined>;
  /** Newest event first. */
  listDeliveries(endpointId: string, page: DeliveryPage): Promise<readonly Delivery[]>;
  readReplay(replayId: string): Promise<WebhookReplay | undefined>;
}

export interface DeliveryPage {
  /** The delivery after which the page begins. */
  readonly after?: string;
  readonly limit: number;
}

/** One thing to do: an attempt, or a page of a replay. Doing it twice is harmless. */
export type WebhookTask =
  | { readonly kind: 'attempt'; readonly endpointId: string; readonly deliveryId: string }
  | { readonly kind: 'replay'; readonly replayId: string };

/** What is due and nobody has done: written with what made it due, so that none can be missing. */
export interface DueWebhooks {
  /** Those whose time has come, oldest first in each part of the queue. */
  due(nowMs: number, limit: number): Promise<readonly WebhookTask[]>;
}

/** Gets what is due done at once. What does not get through is found in the due queue within a minute. */
export interface WebhookTasks {
  /** @param delaySeconds at most 900 */
  enqueue(tasks: readonly WebhookTask[], delaySeconds: number): Promise<void>;
}

export interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Calls a receiver once: nothing is followed, nothing repeated, and no address is called that is not allowed. Never throws because of the receiver. */
export interface WebhookTransport {
  post(request: WebhookRequest): Promise<AttemptResult>;
}

/** Where webhooks may go. */
export interface WebhookAddresses {
  /** @returns why not, in words for the merchant; undefined when it is allowed */
  refusal(url: string): Promise<string | undefined>;
}

/** The secrets of endpoints, derived from root keys: none of them is stored. */
export interface WebhookSecrets {
  /** The root key that new secrets are derived from, by its name. */
  newestRoot(): Promise<string>;
  /** `whsec_…`. @throws TerminalError when its root key is there no more */
  secretOf(endpointId: string, secret: SecretVersion): Promise<string>;
  /** Standard Webhooks signatures of all secrets, in the form of the header. */
  sign(
    secrets: readonly string[],
    message: { readonly id: string; readonly atMs: number; readonly body: string },
  ): string;
}

/** A page of an owner's events of a range of time. */
export type PastEvents = (range: EventRange) => Promise<{
  readonly events: readonly WebhookMessage[];
  /** Left out at the end. */
  readonly cursor?: string;
}>;
