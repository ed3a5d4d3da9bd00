import type { Digest } from '../../kernel/digest.ts';
import type { KeyScope } from '../../kernel/ids.ts';
import { derivedLetters, type WebhookEventType, type WebhookOwner } from './webhook-endpoint.ts';

/** Sending again what happened in a range of time, page by page, each page once. */
export interface WebhookReplay extends WebhookOwner {
  /** `rpl_…`: derived from the request that asked for it. */
  readonly id: string;
  readonly endpointId: string;
  /** 1 when it is made; each page makes the next. */
  readonly revision: number;
  readonly status: 'running' | 'completed' | 'canceled';
  /** Unix milliseconds, inclusive. */
  readonly fromMs: number;
  /** Unix milliseconds, exclusive. */
  readonly untilMs: number;
  readonly events?: readonly (WebhookEventType | '*')[];
  /** Where the next page begins, in the words of whoever reads events. */
  readonly cursor?: string;
  readonly sent: number;
  /** Set while a page is to be read. Unix milliseconds. */
  readonly dueAtMs?: number;
  readonly createdAtMs: number;
}

/** A month, as long as deliveries are looked at. Seconds. */
export const LONGEST_REPLAY_SECONDS = 31 * 24 * 60 * 60;

/** The same request makes the same replay. */
export function deriveReplayId(digest: Digest, scope: KeyScope): string {
  return `rpl_${derivedLetters(digest, 'webhook_replay', scope)}`;
}

export function replays({ events }: WebhookReplay, type: string): boolean {
  return events === undefined || events.some((wanted) => wanted === '*' || wanted === type);
}

/** As the API shows it; times in Unix seconds. */
export function replayObject(replay: WebhookReplay): Record<string, unknown> {
  return {
    id: replay.id,
    object: 'webhook_replay',
    endpoint: replay.endpointId,
    from: Math.floor(replay.fromMs / 1000),
    until: Math.floor(replay.untilMs / 1000),
    events: replay.events ?? ['*'],
    status: replay.status,
    created: Math.floor(replay.createdAtMs / 1000),
  };
}
