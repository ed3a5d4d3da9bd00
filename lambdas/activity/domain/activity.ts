import { causeObject, type OperatorCause, type RequestCause } from '../../kernel/cause.ts';
import { base32, type Digest } from '../../kernel/digest.ts';
import { brokenLink, type Link, linkHash, NO_PREDECESSOR } from '../../kernel/hash-chain.ts';
import type { Mode, TenantId } from '../../kernel/ids.ts';

/**
 * Actions in the chain of a tenant and mode. One transaction writes each entry together with the effect of its action.
 */
const TENANT_ACTIONS = [
  'api_key.created',
  'api_key.rolled',
  'api_key.revoked',
  'limit.changed',
  'correction.made',
  'decision.made',
  'annotation.made',
  'refund.requested',
  'capture.requested',
  'cancellation.requested',
  'approval.requested',
  'approval.rejected',
  'payment.erased',
  'order.erased',
  'webhook_endpoint.created',
  'webhook_endpoint.updated',
  'webhook_endpoint.secret_rotated',
  'webhook_endpoint.deleted',
  'webhooks.replay_requested',
  'webhooks.resend_requested',
  'webhooks.test_requested',
  'export.requested',
] as const;

export const ACTIONS = [
  ...TENANT_ACTIONS,
  // Actions in the chain `deployment`. Entries up to `callback.dismissed` are written in the transaction that makes the
  // change or records the request; the entries after it are written before the command begins its work.
  'tenant.created',
  'operator_key.created',
  'operator_key.rolled',
  'operator_key.revoked',
  'job.run_requested',
  'queue.redrive_requested',
  'message.redrive_requested',
  'message.dismissed',
  'callback.dismissed',
  'dead_letters.redrive_started',
  'events.redrive_started',
  'events.republish_started',
  'views.rebuild_started',
  'tables.recovery_started',
  'tenant.move_started',
  // This entry is written in the transaction that restores a row of the Ledger.
  'row.put_back',
  // Actions in the chain `settings`.
  'settings.seen',
  // Actions in the chain `imports`.
  'import.started',
  'import.canceled',
  'import.finished',
] as const;

export type Action = (typeof ACTIONS)[number];

export type Actor =
  | RequestCause
  | OperatorCause
  | { readonly by: 'command'; readonly operator: string }
  | { readonly by: 'start' };

/**
 * The chain to which an entry belongs. Each tenant and mode has its own chain, so that tenants do not contend. Settings
 * also have their own chain, whose newest entry shows whether the settings have changed. The newest entry in the chain
 * of imports shows which database is the system of record.
 */
export type ActivityChain =
  | 'deployment'
  | 'settings'
  | 'imports'
  | { readonly tenantId: TenantId; readonly mode: Mode };

/** An action to record. It contains no personal data except the operator's name. */
export interface ActivityDraft {
  readonly chain: ActivityChain;
  readonly action: Action;
  readonly actor: Actor;
  /** The ids of the affected objects, most specific first, for example a correction and its payment. */
  readonly about: readonly string[];
  readonly details?: Readonly<Record<string, string>>;
  /** Unix milliseconds. */
  readonly occurredAtMs: number;
}

/** The hash covers all other fields. */
export interface ActivityEntry extends Omit<ActivityDraft, 'chain'>, Link {
  readonly chain: string;
}

export function nameOfChain(chain: ActivityChain): string {
  return typeof chain === 'string' ? chain : `${chain.tenantId}#${chain.mode}`;
}

/** @param newest undefined when the chain is empty */
export function nextEntry(digest: Digest, newest: Link | undefined, { chain, ...draft }: ActivityDraft): ActivityEntry {
  const { sequence, hash: prevHash } = newest ?? { sequence: 0, hash: NO_PREDECESSOR };
  const content = { ...draft, chain: nameOfChain(chain), sequence: sequence + 1 };
  return { ...content, prevHash, hash: linkHash(digest, content, prevHash) };
}

/**
 * Checks consecutive entries of a chain, oldest first.
 *
 * @param before the entry before the given ones
 * @default none: the given entries begin the chain
 * @returns the sequence of the first entry that was changed, removed or inserted; undefined when all entries are valid
 */
export function firstBrokenEntry(digest: Digest, entries: readonly ActivityEntry[], before?: Link): number | undefined {
  return brokenLink(entries, ({ prevHash, hash: _claimed, ...content }) => linkHash(digest, content, prevHash), before);
}

export const ACTIVITY_ID = /^act_(?<sequence>[1-9]\d{0,8})_[a-z2-7]{16}$/;
const ID_BYTES = 10;

/** The id contains the sequence, so that no index is needed, and a part of the hash, so that the id is unique. */
export function activityId({ sequence, hash }: Pick<ActivityEntry, 'sequence' | 'hash'>): string {
  return `act_${sequence}_${base32(hash.subarray(0, ID_BYTES))}`;
}

/** @returns undefined when `id` is not the id of an entry */
export function sequenceOf(id: string): number | undefined {
  const sequence = ACTIVITY_ID.exec(id)?.groups?.['sequence'];
  return sequence === undefined ? undefined : Number(sequence);
}

/** The time is in Unix seconds. */
export function activityObject(entry: ActivityEntry): Record<string, unknown> {
  const { sequence, action, actor, about, details = {}, occurredAtMs } = entry;
  return {
    id: activityId(entry),
    object: 'activity',
    sequence,
    action,
    caused_by: actorObject(actor),
    about,
    details,
    created: Math.floor(occurredAtMs / 1000),
  };
}

function actorObject(actor: Actor): Record<string, unknown> {
  switch (actor.by) {
    case 'request':
    case 'operator':
      return causeObject(actor);
    case 'command':
      return { type: 'command', operator: actor.operator };
    case 'start':
      return { type: 'start' };
  }
}

/** Equal settings have the same id. */
export function settingsId(digest: Digest, values: Readonly<Record<string, string>>): string {
  return `set_${base32(digest.sha256(digest.canonicalJson(values)).subarray(0, ID_BYTES))}`;
}
