import type { Scope } from '../kernel/contract/api.ts';
import { Scopes } from '../kernel/contract/api.ts';
import type { RateLimit } from '../kernel/contract/limits.ts';
import type { Clock } from '../kernel/world.ts';
import type { EffectRecord } from '../once/domain/idempotency.ts';
import type { Owner } from './owners.ts';

/** Each tenant and mode has a separate bucket for each kind, so that reads do not use up the limit for payments. */
export const LIMIT_KINDS = ['payments', 'reads', 'processor_reads', 'admin'] as const;
export type LimitKind = (typeof LIMIT_KINDS)[number];

export interface Bucket extends Owner {
  readonly kind: LimitKind;
}

export function limitKindOf(method: string, scope: Scope | undefined, asksProcessor: boolean): LimitKind {
  if (method === 'GET') return asksProcessor ? 'processor_reads' : 'reads';
  return scope === Scopes.paymentsWrite ? 'payments' : 'admin';
}

export interface TenantLimit {
  readonly kind: LimitKind;
  /** @default the limit of the deployment */
  readonly own?: RateLimit;
}

export interface LimitSettings {
  /** @returns one item per kind, with the tenant's own limit if it has one */
  list(owner: Owner): Promise<readonly TenantLimit[]>;
  /**
   * Each process applies the change when it next takes tokens.
   *
   * @param own undefined restores the deployment's limit
   * @param record the request's idempotency record, written in the same transaction
   * @default no record is written
   * @returns false if the tenant does not exist or the request was already recorded; nothing was written
   */
  change(bucket: Bucket, own: RateLimit | undefined, record?: EffectRecord): Promise<boolean>;
}

/** Returns the limit that applies to a tenant without its own limit. */
export function deployedLimitOf(deployed: RateLimit, kind: LimitKind): RateLimit {
  if (kind === 'payments' || kind === 'reads') return deployed;
  const { rate, burst } = deployed;
  return { rate: Math.max(1, Math.floor(rate / 10)), burst: Math.max(1, Math.floor(burst / 10)) };
}

export interface BucketState {
  /**
   * Time at which the bucket will be full again, in Unix microseconds. Taking a token postpones this time by the
   * duration in which the rate produces one token.
   */
  readonly fullAtUs: number;
  /** @default the limit of the deployment */
  readonly own?: RateLimit;
}

/** All times are from the caller's clock. */
export interface TokenRequest {
  /**
   * The store reads the clock for each attempt, because a process may be paused for seconds between the start of the
   * request and its write.
   */
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Number of tokens to take while at least half of the burst remains. Otherwise, `scarce` tokens are taken. */
  readonly ample: number;
  readonly scarce: number;
  /** The bucket state that the caller read last. */
  readonly known?: BucketState;
}

export type TokenGrant = { readonly limit: RateLimit; readonly state: BucketState } & (
  | { readonly kind: 'taken'; readonly tokens: number; readonly isAmple: boolean }
  | { readonly kind: 'refused'; readonly retryAfterMs: number }
);

/** Stores the token buckets that all processes share. */
export interface BucketStore {
  /** @throws RetryableError if the store does not respond; tokens may then be lost */
  take(bucket: Bucket, asked: TokenRequest): Promise<TokenGrant>;
  /**
   * Takes one of the slots for a tenant's waiting requests.
   *
   * @returns a function that releases the slot; undefined if all slots are taken
   */
  takeWaitingPlace(owner: Owner, untilMs: number, nowMs: number): Promise<(() => Promise<void>) | undefined>;
}

export type Admitted =
  | { readonly kind: 'admitted' }
  | { readonly kind: 'limited'; readonly limit: RateLimit; readonly retryAfterMs: number };

/** Maximum number of tokens that one process holds per bucket. */
const LARGEST_BATCH = 8;
/** Number of batches per second into which the rate is divided. At a low limit, a batch is one token. */
const BATCHES_PER_SECOND = 10;
/**
 * Maximum time for which a process may use the tokens of a batch, in milliseconds: the first if tokens were scarce when
 * it took the batch, otherwise the second.
 */
const SCARCE_FOR_MS = 1_000;
const AMPLE_FOR_MS = 60_000;
/**
 * Maximum time from a refusal until a process reads the bucket again, in milliseconds. A raised limit takes effect
 * after at most this time.
 */
const REFUSED_FOR_MS = 1_000;
/** Maximum number of buckets that a process caches. */
const MAX_BUCKETS = 500;

interface Held {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly taken: number;
  tokens: number;
  readonly last: TokenGrant;
}

/**
 * Limits the requests of each tenant, mode and kind to `rate` per second with bursts of `burst`, across all processes
 * (docs/design/decisions/0065-limits-per-tenant.md). A process takes tokens in batches, so that most requests need no
 * write. A token uses up the limit when a process takes it; unused tokens are not returned.
 */
export class TenantLimits {
  readonly #store: BucketStore;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #held = new Map<string, Held>();

  constructor(store: BucketStore, clock: Pick<Clock, 'nowMs'>) {
    this.#store = store;
    this.#clock = clock;
  }

  /** @throws RetryableError if the store does not respond */
  async admit(bucket: Bucket): Promise<Admitted> {
    const name = `${bucket.tenantId}#${bucket.mode}#${bucket.kind}`;
    const nowMs = this.#clock.nowMs();
    const held = this.#held.get(name);
    // If the clock was set back to before the batch was taken, the batch counts as expired.
    const isCurrent = held !== undefined && held.fromMs <= nowMs && nowMs < held.untilMs;
    if (isCurrent && held.last.kind === 'refused') return limited(held.last, held.untilMs - nowMs);
    if (isCurrent && held.tokens > 0) {
      held.tokens -= 1;
      return { kind: 'admitted' };
    }
    const last = await this.#store.take(bucket, { ...sizes(held), clock: this.#clock });
    this.#hold(name, last, nowMs);
    return last.kind === 'taken' ? { kind: 'admitted' } : limited(last, last.retryAfterMs);
  }

  /** @returns undefined if the tenant has reached its maximum number of waiting requests */
  async enterWait(owner: Owner, waitMs: number): Promise<(() => Promise<void>) | undefined> {
    const nowMs = this.#clock.nowMs();
    return this.#store.takeWaitingPlace(owner, nowMs + waitMs, nowMs);
  }

  #hold(name: string, last: TokenGrant, fromMs: number): void {
    this.#held.delete(name);
    const [oldest] = this.#held.keys();
    if (this.#held.size >= MAX_BUCKETS && oldest !== undefined) this.#held.delete(oldest);
    if (last.kind === 'refused') {
      const untilMs = fromMs + Math.min(last.retryAfterMs, REFUSED_FOR_MS);
      this.#held.set(name, { fromMs, untilMs, taken: 0, tokens: 0, last });
      return;
    }
    const untilMs = fromMs + (last.isAmple ? AMPLE_FOR_MS : SCARCE_FOR_MS);
    this.#held.set(name, { fromMs, untilMs, taken: last.tokens, tokens: last.tokens - 1, last });
  }
}

/**
 * While tokens are scarce, a process that used its whole last batch takes twice as many tokens, and any other process
 * takes as many as it used. A process with a steady load thus leaves at most half of its tokens unused.
 */
function sizes(held: Held | undefined): Pick<TokenRequest, 'ample' | 'scarce' | 'known'> {
  if (held === undefined) return { ample: LARGEST_BATCH, scarce: 1 };
  const used = held.taken - held.tokens;
  const scarce = Math.max(1, held.tokens === 0 ? used * 2 : used);
  return { ample: LARGEST_BATCH, scarce, known: held.last.state };
}

export function batchOf(asked: number, { rate }: RateLimit): number {
  return Math.max(1, Math.min(asked, LARGEST_BATCH, Math.floor(rate / BATCHES_PER_SECOND)));
}

function limited({ limit }: TokenGrant, retryAfterMs: number): Admitted {
  return { kind: 'limited', limit, retryAfterMs };
}
