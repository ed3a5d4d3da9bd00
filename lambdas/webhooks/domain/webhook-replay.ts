import type { WebhookEventType, WebhookOwner } from './webhook-endpoint.ts';

/** A range replay, which redelivers the events of a time range. It is processed page by page, each page once. */
export interface WebhookReplay extends WebhookOwner {
  /** Replay id (`rpl_…`), derived from the scope of the request's idempotency key. */
  readonly id: string;
  readonly endpointId: string;
  /** Starts at 1. Each write stores the next revision. */
  readonly revision: number;
  readonly status: 'running' | 'completed' | 'canceled';
  /** Inclusive. */
  readonly fromMs: number;
  /** Exclusive. */
  readonly untilMs: number;
  readonly events?: readonly (WebhookEventType | '*')[];
  /**
   * Set if the replay redelivers only events that the endpoint has never accepted. @default all events are redelivered
   */
  readonly onlyUndelivered?: true;
  /**
   * Start of the next page, in the format of `PastEvents` (use/webhooks.ts). Absent until the first page is processed.
   */
  readonly cursor?: string;
  readonly sent: number;
  /** Set while a page remains to be processed. */
  readonly dueAtMs?: number;
  /** Set together with `dueAtMs`. */
  readonly sweepAtMs?: number;
  readonly createdAtMs: number;
}

export const LONGEST_REPLAY_SECONDS = 31 * 24 * 60 * 60;

export const REPLAY_ID = /^rpl_[a-z2-7]{32}$/;

export function replays({ events }: WebhookReplay, type: string): boolean {
  return events === undefined || events.some((wanted) => wanted === '*' || wanted === type);
}

export function replayObject(replay: WebhookReplay): Record<string, unknown> {
  return {
    id: replay.id,
    object: 'webhook_replay',
    endpoint: replay.endpointId,
    created_from: Math.floor(replay.fromMs / 1000),
    created_to: Math.floor(replay.untilMs / 1000),
    events: replay.events ?? ['*'],
    only_undelivered: replay.onlyUndelivered === true,
    status: replay.status,
    created: Math.floor(replay.createdAtMs / 1000),
  };
}
