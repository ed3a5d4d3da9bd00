import type { ActivityDraft } from '../activity/domain/activity.ts';
import type { ActivityLog } from '../activity/use/activity-log.ts';
import { OperationPrefix } from '../kernel/contract/rows.ts';
import { defined } from '../kernel/defined.ts';
import { RetryableError } from '../kernel/faults.ts';
import { storedOperationId } from '../kernel/ids.ts';
import type { Unreadable } from '../kernel/platform/queue-rows.ts';
import type { EffectRecord } from '../once/domain/idempotency.ts';
import { approvalTime } from '../operators/domain/approval.ts';
import type { ApprovalChange, ApprovingStore } from '../operators/use/approving-store.ts';
import type { ExpiredRecord, ExpiredRecords } from '../operators/use/expired-records.ts';
import type { QueueEntry, QueueLists } from '../operators/use/queue-lists.ts';
import { parseOrderId } from '../orders/ids.ts';
import type { OrderStore } from '../orders/use/order-store.ts';
import type { PostgresEffects } from '../payments/store/postgres-effects.ts';
import type { Effect, EffectOutcome, EffectStore } from '../payments/use/effect-store.ts';
import type { Hold, PaymentStore } from '../payments/use/payment-store.ts';
import type { OrphanStore, UnfinishedWork } from '../payments/use/unfinished-work.ts';
import { DatabaseFault } from '../postgres/faults.ts';
import { type DueQueue, mergedPage } from '../resolving/use/due-queue.ts';
import type { ScanPage } from '../views/use/view-store.ts';
import { KEY_OF_CORRECTION } from './contract.ts';
import type { PostgresStores } from './postgres-stores.ts';
import type { Shard, Shards, Subject, Use } from './shards.ts';

export interface AuthorityStores {
  readonly store: PaymentStore;
  readonly orders: (unreadable?: Unreadable) => OrderStore;
  readonly effects: (unreadable?: Unreadable) => EffectStore & OrphanStore;
  readonly approvals: ApprovingStore;
  /**
   * Reads the records of effects for operators. Fails if a database does not respond, because the result "no record"
   * must be reliable: the operator acts on it.
   */
  readonly effectRecords: Pick<EffectStore, 'readEffect'>;
  readonly activity: ActivityLog;
  readonly work: (unreadable: Unreadable) => UnfinishedWork;
  readonly holds: DueQueue<Hold>;
  readonly queues: QueueLists;
  readonly expired: ExpiredRecords;
  readonly erase: (draft: ActivityDraft) => Promise<boolean>;
}

/**
 * The first database has the callbacks without a payment, the operators' actions that concern no payment, and the
 * records that bind the keys of corrections to payments.
 */
export function shardedStores(shards: Shards): AuthorityStores {
  return {
    store: paymentsOf(shards),
    orders: (unreadable) => ordersOf(shards, unreadable),
    effects: (unreadable) => effectsOf(shards, ({ effects }) => effects(unreadable)),
    approvals: approvalsOf(shards),
    effectRecords: { readEffect: (id) => shards.one(({ stores }) => stores.approvals.readEffect(id)) },
    activity: {
      listActivity: async (chain, page) =>
        (await shards.of(subjectOfChain(chain), 'read')).stores.activity.listActivity(chain, page),
    },
    work: (unreadable) => workOf(shards, unreadable),
    holds: holdsOf(shards),
    queues: queuesOf(shards),
    expired: expiredOf(shards),
    erase: async (draft) => {
      const [id = ''] = draft.about;
      const found = await shards.ofChain(id);
      if (found === undefined) return false;
      if (await found.stores.erase(draft)) return true;
      // If the tenant has been moved since `ofChain`, the database no longer has its rows. Try the tenant's new
      // database.
      const now = await shards.ofChain(id);
      return now === undefined || now === found ? false : now.stores.erase(draft);
    },
  };
}

function paymentsOf(shards: Shards): PaymentStore {
  const at = async (subject: Subject, use?: Use): Promise<PaymentStore> => (await shards.of(subject, use)).stores.store;
  const readRecord: PaymentStore['readRecord'] = (operationId) =>
    shards.one(({ stores }) => stores.store.readRecord(operationId));
  return {
    claim: async (claim) => {
      const { pending, record } = claim;
      return (await at({ tenantId: pending?.payment.tenantId, chainId: chainOf(record) })).claim(claim);
    },
    commit: async (commit) => {
      const { transition, record } = commit;
      return (await at({ tenantId: transition?.payment.tenantId, chainId: chainOf(record) })).commit(commit);
    },
    takeOver: async (takeover) => (await at({ chainId: chainOf(takeover.stale) })).takeOver(takeover),
    release: async (operationId, owner) => {
      const record = await readRecord(operationId);
      if (record !== undefined) await (await at({ chainId: chainOf(record) })).release(operationId, owner);
    },
    readRecord,
    readPayment: async (paymentId) => (await at({ chainId: paymentId }, 'read')).readPayment(paymentId),
    readEnds: async (paymentId, operationId) =>
      (await at({ chainId: paymentId }, 'read')).readEnds(paymentId, operationId),
    readNotes: async (first) => (await at({ tenantId: first.payment.tenantId }, 'read')).readNotes(first),
    listTransitions: async (paymentId, page) =>
      (await at({ chainId: paymentId }, 'read')).listTransitions(paymentId, page),
  };
}

type RecordKey = Pick<EffectRecord, 'operationId' | 'paymentId'>;

/** Returns the payment or order of a record. The record of an order names the payment that the order will have. */
export function chainOf({ operationId, paymentId }: RecordKey): string | undefined {
  return parseOrderId(operationId) ?? paymentId;
}

function ordersOf(shards: Shards, unreadable: Unreadable | undefined): OrderStore {
  const each = storesOf(shards, ({ orders }) => orders(unreadable));
  return {
    claimOrder: async (claim) => {
      const { first, record } = claim;
      return (await each.at({ tenantId: first?.order.tenantId, chainId: chainOf(record) })).claimOrder(claim);
    },
    commitOrder: async (commit) => {
      const { transitions, record } = commit;
      const subject = { tenantId: transitions[0]?.order.tenantId, chainId: chainOf(record) };
      return (await each.at(subject)).commitOrder(commit);
    },
    appendToOrder: async (append) => {
      const { transitions, open } = append;
      const subject = { tenantId: transitions[0]?.order.tenantId, chainId: open?.orderId };
      return (await each.at(subject)).appendToOrder(append);
    },
    listOrderTransitions: async (orderId, page) =>
      (await each.at({ chainId: orderId }, 'read')).listOrderTransitions(orderId, page),
    openOrders: (due) => each.lists((orders) => orders.openOrders(due)),
    postponeOrder: async (open, dueAtMs) => (await each.at({ chainId: open.orderId })).postponeOrder(open, dueAtMs),
    closeOrder: async (open) => (await each.at({ chainId: open.orderId })).closeOrder(open),
  };
}

function storesOf<Store>(shards: Shards, make: (stores: PostgresStores) => Store) {
  const made = new Map(shards.databases.map((shard) => [shard, make(shard.stores)]));
  const of = (shard: Shard): Store => made.get(shard) ?? make(shard.stores);
  return {
    of,
    first: of(shards.first),
    at: async (subject: Subject, use?: Use): Promise<Store> => of(await shards.of(subject, use)),
    /** Interleaves the entries of all databases, so that a long queue in one database does not delay the others. */
    lists: async <Entry>(list: (store: Store) => Promise<readonly Entry[]>): Promise<readonly Entry[]> =>
      alternately(await shards.responding((shard) => list(of(shard)))),
  };
}

function alternately<Entry>(lists: readonly (readonly Entry[])[]): readonly Entry[] {
  const longest = Math.max(...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, index) => lists.flatMap((list) => list.slice(index, index + 1))).flat();
}

function effectsOf(
  shards: Shards,
  make: (stores: PostgresStores) => Pick<PostgresEffects, keyof EffectStore | keyof OrphanStore | 'removeOrphan'>,
): EffectStore & OrphanStore {
  const each = storesOf(shards, make);
  return {
    recordEffect: async ({ adopted, ...effect }) => {
      const store = await each.at(subjectOfEffect(effect));
      if (adopted === undefined || store === each.first)
        return store.recordEffect(adopted === undefined ? effect : { ...effect, adopted });
      // The orphaned callback is in the first database, and its effect is in another one. After a crash between the two
      // writes, the next retry finds the effect recorded and removes the callback.
      const outcome = await store.recordEffect(effect);
      if (outcome.kind === 'recorded') await each.first.removeOrphan(adopted);
      return outcome;
    },
    // A database that does not respond is skipped: an effect in this database then fails when it is written, and the
    // effects of other tenants are still recorded.
    readEffect: (operationId) => shards.oneResponding((shard) => each.of(shard).readEffect(operationId)),
    queueOrNote: async ({ toReturn, inquiries }) => {
      const ids = new Set([...toReturn, ...inquiries].map(({ paymentId }) => paymentId));
      for (const chainId of ids) {
        const ofPayment = <Entry extends { readonly paymentId: string }>(entries: readonly Entry[]) =>
          entries.filter(({ paymentId }) => paymentId === chainId);
        const entries = { toReturn: ofPayment(toReturn), inquiries: ofPayment(inquiries) };
        await (await each.at({ chainId })).queueOrNote(entries);
      }
    },
    listTransitions: async (paymentId, page) =>
      (await each.at({ chainId: paymentId }, 'read')).listTransitions(paymentId, page),
    waiting: (kind, due) => each.first.waiting(kind, due),
    postponeOrphan: (orphan, dueAtMs) => each.first.postponeOrphan(orphan, dueAtMs),
    giveUp: (orphan) => each.first.giveUp(orphan),
  };
}

function subjectOfEffect(effect: Omit<Effect, 'adopted'> & ApprovalChange): Subject {
  const { transitions, activity, record, orphan, approval = effect.ended?.approval } = effect;
  const { tenantId } = transitions[0]?.payment ?? approval ?? subjectOfChain(activity?.chain ?? '');
  // The payment that an orphaned callback names may not exist, so the orphan is stored in the first database.
  return { tenantId, chainId: orphan === undefined ? record.paymentId : undefined };
}

function subjectOfChain(chain: ActivityDraft['chain'] | ''): Subject {
  return typeof chain === 'string' ? {} : { tenantId: chain.tenantId };
}

function approvalsOf(shards: Shards): ApprovingStore {
  const effects = effectsOf(shards, ({ approvals }) => approvals);
  return {
    ...effects,
    recordEffect: async (effect: Effect & ApprovalChange) =>
      (await refusedKey(shards, effect)) ?? effects.recordEffect(effect),
    claimChange: async (claim) => {
      const { tenantId } = claim.pending.payment;
      return (await shards.of({ tenantId })).stores.approvals.claimChange(claim);
    },
    readApproval: (id) => shards.one(({ stores }) => stores.approvals.readApproval(id)),
    listApprovals: async (page) => {
      const lists = await shards.each(({ stores }) => stores.approvals.listApprovals(page));
      // While a tenant is moved, two databases have its approvals.
      const unique = new Map(lists.flat().map((approval) => [approval.id, approval]));
      return [...unique.values()].toSorted(newestFirst).slice(0, page.limit);
    },
  };
}

/**
 * Binds the key of a correction to its payment, before the correction is written in the payment's database. Unlike the
 * ids of other effects on payments, the id of a correction is not derived from the payment. Therefore, the record of a
 * correction in one database does not prevent a correction with the same key in another database. The first database
 * has the bindings for all databases:
 *
 *   K for a payment in b   K is bound to it ✓ ── correction ✓
 *   K for a payment in c   ─── K is bound ✗: another request
 *
 * After a crash between the two writes, the key can still be used, but only for the payment to which it is bound.
 *
 * @returns undefined when the key is bound to the payment of the effect, or when the effect is not a correction
 */
async function refusedKey(
  { first }: Shards,
  { record }: Pick<Effect, 'record'>,
): Promise<Exclude<EffectOutcome, { kind: 'recorded' }> | undefined> {
  const { operationId, paymentId } = record;
  if (!operationId.startsWith(OperationPrefix.correction)) return undefined;
  const bound = { ...record, operationId: storedOperationId(`${operationId}${KEY_OF_CORRECTION}`) };
  const outcome = await first.stores.approvals.recordEffect({ record: bound, transitions: [] });
  if (outcome.kind === 'recorded') return undefined;
  return outcome.kind === 'recorded_before' && outcome.record.paymentId === paymentId ? undefined : outcome;
}

function newestFirst({ id }: { readonly id: string }, { id: other }: { readonly id: string }): number {
  const [atMs = 0, otherAtMs = 0] = [approvalTime(id), approvalTime(other)];
  if (atMs !== otherAtMs) return otherAtMs - atMs;
  return id < other ? 1 : -1;
}

function workOf(shards: Shards, unreadable: Unreadable): UnfinishedWork {
  const each = storesOf(shards, ({ work }) => work(unreadable));
  const of = (chainId: string | undefined): Promise<UnfinishedWork> => each.at({ chainId });
  return {
    staleClaims: (due) => each.lists((work) => work.staleClaims(due)),
    postponeClaim: async (record, next) => (await of(chainOf(record))).postponeClaim(record, next),
    unknownOutcomes: (due) => each.lists((work) => work.unknownOutcomes(due)),
    routineInquiries: (due) => each.lists((work) => work.routineInquiries(due)),
    undetermined: (limit) => each.lists((work) => work.undetermined(limit)),
    closeInquiry: async (inquiry) => (await of(inquiry.paymentId)).closeInquiry(inquiry),
    postponeInquiry: async (inquiry, next) => (await of(inquiry.paymentId)).postponeInquiry(inquiry, next),
    chargesToReturn: (due) => each.lists((work) => work.chargesToReturn(due)),
    postponeReturn: async (charge, next) => (await of(charge.paymentId)).postponeReturn(charge, next),
    closeReturn: async (charge) => (await of(charge.paymentId)).closeReturn(charge),
  };
}

/**
 * Matches a position in a list that continues from database to database: the number of a database, and the position in
 * its list.
 */
const POSITION = /^(?<number>\d+) (?<rest>.*)$/s;

function positionIn(cursor: string | undefined): { readonly number: number; readonly rest?: string } {
  const { number = '0', rest = '' } = POSITION.exec(cursor ?? '')?.groups ?? {};
  return { number: Number(number), ...(rest === '' ? {} : { rest }) };
}

/** Skips a database that does not respond. */
async function pageOf<Page extends { readonly next?: string }>(
  shards: Shards,
  cursor: string | undefined,
  empty: Page,
  read: (shard: Shard, rest: string | undefined, number: number) => Promise<Page>,
): Promise<Page> {
  const { number, rest } = positionIn(cursor);
  const shard = shards.databases[number];
  if (shard === undefined) return empty;
  const page = await read(shard, rest, number).catch((error: unknown) => {
    shards.unavailable(shard, error);
    return empty;
  });
  const nextShard = number + 1 < shards.databases.length ? `${number + 1} ` : undefined;
  const next = page.next === undefined ? nextShard : `${number} ${page.next}`;
  return next === undefined ? page : { ...page, next };
}

function holdsOf(shards: Shards): DueQueue<Hold> {
  const of = async ({ paymentId }: Hold): Promise<DueQueue<Hold>> =>
    (await shards.of({ chainId: paymentId })).stores.holds;
  return {
    // Merge the holds of all databases by due time, so that a long queue in one database does not delay the others.
    dueBefore: async (beforeMs, range) => {
      const pages = await shards.responding(({ stores }) => stores.holds.dueBefore(beforeMs, range));
      const page = mergedPage(pages, range.limit);
      if (page.next !== undefined || pages.length === shards.databases.length) return page;
      // The holds of a database that does not respond could expire unnoticed, so the run must fail after it has
      // processed all other holds.
      const last = page.rows.at(-1);
      if (last === undefined) throw new RetryableError(DatabaseFault.unavailable, 'a database did not respond');
      return { ...page, next: last.cursor };
    },
    postpone: async (hold, next) => (await of(hold)).postpone(hold, next),
    close: async (hold) => (await of(hold)).close(hold),
  };
}

function expiredOf(shards: Shards): ExpiredRecords {
  return {
    scan: async ({ after, ...step }, beforeSeconds) => {
      if (step.segment > 0) return { found: [] };
      const none: ScanPage<ExpiredRecord> = { found: [] };
      return pageOf(shards, after, none, async ({ stores }, rest, number) => {
        const scanned = await stores.expired.scan({ ...step, ...defined({ after: rest }) }, beforeSeconds);
        return { ...scanned, found: scanned.found.map((record) => ({ ...record, key: `${number} ${record.key}` })) };
      });
    },
    remove: async ({ key, ...record }) => {
      const { number, rest = '' } = positionIn(key);
      return (await shards.databases[number]?.stores.expired.remove({ ...record, key: rest })) ?? false;
    },
  };
}

function queuesOf(shards: Shards): QueueLists {
  return {
    needingOperator: async (queue) => {
      const lists = await shards.each(({ stores }) => stores.queues.needingOperator(queue));
      // While a tenant is moved, two databases have its entries. Duplicates of an unreadable entry cannot be detected,
      // so it is always kept.
      const unique = new Map<unknown, QueueEntry>();
      for (const entry of lists.flatMap(({ entries }) => entries))
        unique.set(entry.about === undefined ? entry : JSON.stringify(entry), entry);
      return { entries: [...unique.values()], hasMore: lists.some(({ hasMore }) => hasMore) };
    },
    summary: async (queue) => {
      const summaries = await shards.each(({ stores }) => stores.queues.summary(queue));
      const oldest = summaries.flatMap(({ oldestMs }) => oldestMs ?? []);
      return {
        waiting: summaries.reduce((sum, { waiting }) => sum + waiting, 0),
        hasMore: summaries.some(({ hasMore }) => hasMore),
        ...(oldest.length === 0 ? {} : { oldestMs: Math.min(...oldest) }),
      };
    },
    page: async (queue, { after, limit }) => {
      const found: Awaited<ReturnType<QueueLists['page']>>[number][] = [];
      for (let number = after?.shard ?? 0; number < shards.databases.length && found.length < limit; number += 1) {
        const from = number === after?.shard ? { after } : {};
        const rows = await shards.databases[number]?.stores.queues.page(queue, {
          ...from,
          limit: limit - found.length,
        });
        found.push(...(rows ?? []).map(({ place, entry }) => ({ place: { ...place, shard: number }, entry })));
      }
      return found;
    },
  };
}
