import type { ActivityDraft } from '../../activity/domain/activity.ts';
import type { OperationId } from '../../kernel/ids.ts';
import type { EffectRecord } from '../../once/domain/idempotency.ts';
import type { EventRange } from '../../views/use/read-event.ts';
import type { AttemptResult, Delivery, WebhookMessage } from '../domain/webhook-delivery.ts';
import type { EndpointList, SecretVersion, WebhookOwner } from '../domain/webhook-endpoint.ts';
import type { WebhookLane } from '../domain/webhook-lane.ts';
import type { WebhookNotice } from '../domain/webhook-notice.ts';
import type { WebhookReplay } from '../domain/webhook-replay.ts';

export interface Revised<Row> {
  /** Absent for a new row, which must not exist yet. */
  readonly was?: Row;
  readonly now: Row;
}

/** Each row must still have the revision that was read. */
export interface WebhookChange {
  /** Must not exist yet. */
  readonly record?: EffectRecord;
  readonly book?: Revised<EndpointList>;
  readonly deliveries?: readonly Revised<Delivery>[];
  readonly replay?: Revised<WebhookReplay>;
  readonly lane?: Revised<WebhookLane>;
  /** Event about the change of the endpoint's state. It must not exist yet. */
  readonly notice?: WebhookNotice;
  readonly activity?: ActivityDraft;
}

export type WebhookChangeOutcome =
  | { readonly kind: 'written' }
  | { readonly kind: 'recorded_before'; readonly record: EffectRecord }
  /**
   * A row has changed since it was read, or a rival has appended to the activity log. The caller must read the rows and
   * decide again.
   */
  | { readonly kind: 'changed' };

/** Every read is strongly consistent. */
export interface WebhookStore {
  write(change: WebhookChange): Promise<WebhookChangeOutcome>;
  readEffect(operationId: OperationId): Promise<EffectRecord | undefined>;
  /** An empty list with revision 0 when there are none. */
  readBook(owner: WebhookOwner): Promise<EndpointList>;
  /** @throws TerminalError `row_unreadable` when this code cannot read the row */
  readDelivery(endpointId: string, deliveryId: string): Promise<Delivery | undefined>;
  /**
   * Removes a delivery from the due queue, because it cannot be parsed, but keeps its row. Has no effect when the row
   * does not exist.
   */
  park(endpointId: string, deliveryId: string): Promise<void>;
  /** Newest event first, unless `page.oldestFirst` is set. */
  listDeliveries(endpointId: string, page: DeliveryPage): Promise<readonly Delivery[]>;
  readReplay(replayId: string): Promise<WebhookReplay | undefined>;
  readLane(endpointId: string): Promise<WebhookLane | undefined>;
}

/** Finds the endpoints of all tenants that are failing, or that Payonce has disabled (`failingSince`). */
export interface FailingEndpoints {
  /**
   * Longest failing first. Eventually consistent.
   *
   * @param limit maximum number of lists
   */
  failing(limit: number): Promise<readonly EndpointList[]>;
}

export interface DeliveryPage {
  readonly after?: string;
  readonly oldestFirst?: true;
  readonly limit: number;
}

/** A task that is queued twice takes effect once. */
export type WebhookTask =
  | { readonly kind: 'attempt'; readonly endpointId: string; readonly deliveryId: string }
  | { readonly kind: 'replay'; readonly replayId: string }
  | { readonly kind: 'lane'; readonly endpointId: string };

/** The sweep publishes a notice itself. */
export type DueTask = WebhookTask | { readonly kind: 'notice'; readonly eventId: string };

/** A task with its message group (`groupOf`), which determines its share of the senders. */
export interface GroupedTask {
  readonly task: WebhookTask;
  readonly group: string;
}

/** A task or an event in the sweep queue, or a delivery in a lane. */
export interface DueWebhook {
  readonly task: DueTask;
  /** Time by which the queue is ordered, in Unix milliseconds. */
  readonly sweepAtMs: number;
}

/** The position of a row in a queue is an attribute of the row itself, so a row cannot lose its place. */
export interface DueWebhooks {
  /** Oldest first. */
  due(nowMs: number, limit: number): Promise<readonly DueWebhook[]>;
  /** Oldest first, including deliveries that are not yet due. */
  dueInLane(endpointId: string, limit: number): Promise<readonly DueWebhook[]>;
  /**
   * @returns undefined when the row no longer has the time of `due`, because a rival has moved the row or the row's
   * work is done
   */
  move(due: DueWebhook, to: { readonly sweepAtMs: number; readonly apart?: true }): Promise<MovedWebhook | undefined>;
  /** Removes an event about an endpoint's state from the queue, after the bus has accepted the event. */
  finish(eventId: string): Promise<void>;
}

/** Data of a moved row that the index of the queue does not contain. */
export interface MovedWebhook {
  /** The group of the row's owner (`groupOf`), or `unreadable` when the row cannot be read. */
  readonly group: string;
  /** Absent when the row cannot be read. */
  readonly dueAtMs?: number;
  /** Set if the row is an event about an endpoint's state. */
  readonly notice?: WebhookNotice;
}

/**
 * If a message is lost, the sweep enqueues the task again from the due queue, within about three minutes after the task
 * is due.
 */
export interface WebhookTasks {
  /** @param delaySeconds at most 900 */
  enqueue(tasks: readonly GroupedTask[], delaySeconds: number): Promise<void>;
}

export interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A function that is called at most once, if the receiver has not responded within `afterMs`. */
export interface Late {
  /** Time since the start of the request, in milliseconds. */
  readonly afterMs: number;
  readonly notify: () => void;
}

/**
 * Calls a receiver once, at an allowed address, without redirects or retries. Returns a receiver's failure as a result
 * instead of throwing.
 */
export interface WebhookTransport {
  post(request: WebhookRequest, late: readonly Late[]): Promise<AttemptResult>;
}

export interface WebhookAddresses {
  /** @returns the reason for a refusal, to show to the merchant; undefined when the URL is allowed */
  refusal(url: string): Promise<string | undefined>;
}

/** Signing secrets of endpoints, derived from root keys and not stored. */
export interface WebhookSecrets {
  /** Returns the name of the root key from which new secrets are derived. */
  newestRoot(): Promise<string>;
  /**
   * @returns `whsec_…`
   * @throws RetryableError when this process does not know the root key
   */
  secretOf(endpointId: string, secret: SecretVersion): Promise<string>;
  /** Returns the value of `webhook-signature`: one Standard Webhooks signature for each secret. */
  sign(
    secrets: readonly string[],
    message: { readonly id: string; readonly atMs: number; readonly body: string },
  ): string;
}

/** Returns an event as JSON, in the form that the API returns. @returns undefined when the Ledger has no such event */
export type EventBodies = (eventId: string) => Promise<string | undefined>;

export type PastEvents = (range: EventRange) => Promise<{
  readonly events: readonly WebhookMessage[];
  /** Absent on the last page. */
  readonly cursor?: string;
}>;
