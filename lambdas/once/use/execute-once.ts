import type { Answer } from '../../kernel/answer.ts';
import { CONSUMER_LEASE_SECONDS } from '../../kernel/contract/events.ts';
import { LEASE_SECONDS } from '../../kernel/contract/timing.ts';
import { RetryableError } from '../../kernel/faults.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { OperationId, OwnerToken, PaymentId } from '../../kernel/ids.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import { type Consumption, isUnderWay, type OpenConsumption } from '../domain/consumption.ts';
import {
  type CompletedRecord,
  type EarlierOwner,
  type EffectRecord,
  type ExpiryOptions,
  earlierOwners,
  expirySeconds,
  type IdempotencyRecord,
  type NotedCall,
  type OpenRecord,
} from '../domain/idempotency.ts';
import type { ConsumerClaims } from './consumer-records.ts';
import { judgeRecord, type RepeatOutcome } from './judge-record.ts';
import type { ClaimStep, OperationRunner, OperationSteps, ReplayCache } from './operation-runner.ts';
import type { CommitOutcome, ExpectedRecord, RecordStore } from './record-store.ts';
import { contention, rounds } from './rounds.ts';

/*
 * Every operation that takes effect once runs here, in one of three modes:
 *
 *   claim, call, commit     a keyed request with an effect in another system                executeOnce
 *   commit only             an effect in Payonce's own tables                               commitOnce
 *   claim, call, complete   an effect in another system, without a waiting client           completeOnce
 *
 * Each operation runs inside Powertools' `makeIdempotent`, through the runner of its Lambda function.
 */

// ------------------------------------------------------------------------------------------------ claim, call, commit

/**
 * Claim, call, commit: a keyed request with an effect in another system. Payments, payment changes and orders each
 * provide their own {@link Operation}. `Subject` is the state of the payment or the order.
 *
 *   claim    one write: the record (owner, lease) and the pending transition
 *   call     the other system, under a key that is the same on every attempt
 *   commit   one write: the stored answer, the outcome, and its queue entries
 */
export interface Operation<Subject, Work, Write, Refusal> {
  readonly key: ClaimedKey;
  /** The outcome for an idempotency key whose stored response has expired or was deleted. */
  readonly expired: Refusal;
  /** Determines the record's retention. @default payments */
  readonly scope?: string;
  /** The claim blocks other requests with its key for this time. @default LEASE_SECONDS */
  readonly leaseSeconds?: number;
  /**
   * Checks the circuit breaker before the claim, so that a request that cannot begin does not use up its idempotency
   * key. An operation that has already begun continues even while the breaker is open, unless `checkBegun` throws.
   *
   * @default the claim checks the breaker
   */
  readonly breaker?: {
    /**
     * Checks the breaker of the system that a new operation would call. @throws RetryableError while the breaker is
     * open
     */
    readonly check: () => Promise<void>;
    /**
     * Checks the breaker of the system that an earlier owner may have called. Runs only after `check` has thrown,
     * before a new owner continues an operation whose claim is stale.
     * @default no check
     */
    readonly checkBegun?: () => Promise<void>;
  };
  /**
   * Claims: writes the record and the pending transition, or returns the reason why nothing was written.
   *
   * @param open builds the record to write; the send window begins at `claimedAtMs`, the lease at `nowMs`
   */
  claim(open: (claimedAtMs: number, nowMs: number) => OpenRecord): Promise<Attempt<Subject, Refusal>>;
  /** Derives the state of a request whose record no longer exists, from its payment or order. */
  lostRecord(subject: Subject): LostRecord;
  /**
   * Claims the operation when the pending transition already exists: writes only the record. @returns false when a
   * rival created the record first
   */
  claimAgain(record: OpenRecord): Promise<boolean>;
  read(): Promise<Subject>;
  /** Calls the other system, or finds out the outcome of an earlier call. */
  call(held: Held<Subject>): Promise<Work>;
  /**
   * Examines an error from the call.
   *
   * @returns the error to throw when `error` proves that no owner has sent a request; otherwise undefined
   * @default every RetryableError is such a proof
   */
  unsent?(error: unknown): unknown;
  /** Called before each attempt to commit. */
  conclude(work: Work, nowMs: number, held: Held<Subject>): Conclusion<Write>;
  commit(record: CompletedRecord, expects: ExpectedRecord, write: Write): Promise<CommitOutcome>;
  /** After a rival's write, applies the work to the subject's new state without another call to the other system. */
  decideAgain(work: Work): Promise<Work>;
  /** Records facts that only this run knows, after this run has lost its claim. */
  keep?(work: Work): Promise<void>;
}

export interface ClaimedKey {
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  readonly fingerprint: Fingerprint;
}

export type Attempt<Subject, Refusal> =
  | { readonly kind: 'claimed'; readonly record: OpenRecord; readonly subject: Subject }
  | { readonly kind: 'record_exists'; readonly record: IdempotencyRecord }
  /** The request's pending transition exists; the request's record may be missing. */
  | { readonly kind: 'begun'; readonly subject: Subject }
  /** Nothing is stored: the same idempotency key may succeed later. */
  | { readonly kind: 'refused'; readonly outcome: Refusal }
  /** A rival was faster. */
  | 'again';

export interface LostRecord {
  /** True if the operation has ended or was answered, so that a retry must not get a different response. */
  readonly isAnswered: boolean;
  readonly isSameRequest: () => boolean;
  readonly claimedAtMs: number;
}

export interface Held<Subject> {
  readonly owner: OwnerToken;
  /** Time of the first claim of the idempotency key. The send window ends 15 minutes later. */
  readonly claimedAtMs: number;
  /** `maybe`: an earlier owner of this claim may have sent a request. */
  readonly sent: 'nothing' | 'maybe';
  readonly subject: Subject;
  readonly earlier?: readonly EarlierOwner[];
  /** Adds a call to the other system to the record's history. */
  readonly note: (call: NotedCall) => void;
}

export interface Conclusion<Write> {
  /** The transitions, and the queue entries that are written with them. */
  readonly write: Write;
  readonly answer: Answer;
  /** The response as it is stored, without personal data. @default `answer` */
  readonly stored?: Answer;
  /** True while the response is not final. */
  readonly unknown: boolean;
  /**
   * True if the response reports a refusal by the processor, or that nothing was sent. Neither excludes a request by a
   * rival, so the response is not committed if the record no longer exists.
   */
  readonly isRefusal: boolean;
}

export interface ExecuteTools extends Pick<ExpiryOptions, 'retention'> {
  readonly store: RecordStore;
  readonly runner: OperationRunner;
  readonly replays: ReplayCache;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

/** For logs and metrics. */
export interface RunNotes {
  takenOver: boolean;
  fenced: boolean;
}

/** In order of precedence. */
export type Executed<Refusal> =
  /** `unknown` is true when the outcome was not known in time. */
  { readonly kind: 'first'; readonly answer: Answer; readonly unknown: boolean } | RepeatOutcome | Refusal;

/**
 * Executes an operation so that it takes effect once. A retry with the same idempotency key, concurrent or years later,
 * replays the stored response, finds out the outcome of the first attempt, or is refused.
 *
 * @throws RetryableError if no response was stored; the caller must retry with the same key
 * @throws AmbiguousError when it is unknown whether the store wrote; a retry with the same key finds out
 */
export async function executeOnce<Subject, Work, Write, Refusal>(
  tools: ExecuteTools,
  operation: Operation<Subject, Work, Write, Refusal>,
  notes: RunNotes = { takenOver: false, fenced: false },
): Promise<Executed<Refusal>> {
  const run = new Execution(tools, operation, notes);
  return (await run.replayed()) ?? (await run.whileBreakerIsOpen()) ?? tools.runner.run(operation.key.operationId, run);
}

/** Requests share no state: each has its own instance. */
class Execution<Subject, Work, Write, Refusal> implements OperationSteps<Held<Subject>, Work, Executed<Refusal>> {
  readonly #tools: ExecuteTools;
  readonly #operation: Operation<Subject, Work, Write, Refusal>;
  readonly #notes: RunNotes;
  readonly #calls: NotedCall[] = [];
  readonly #note = (call: NotedCall): void => void this.#calls.push(call);
  #provenUnsent = false;

  constructor(tools: ExecuteTools, operation: Operation<Subject, Work, Write, Refusal>, notes: RunNotes) {
    this.#tools = tools;
    this.#operation = operation;
    this.#notes = notes;
  }

  // ------------------------------------------------------------------------------------------------- before the claim

  /** @returns undefined if the store must be read */
  async replayed(): Promise<RepeatOutcome | undefined> {
    const { replays, clock } = this.#tools;
    const warm = await replays.find(this.#operation.key.operationId);
    if (warm === undefined) return undefined;
    const judged = judgeRecord(warm, this.#operation.key, clock.nowMs());
    if (judged.kind === 'replay') return { ...judged, source: 'cache' };
    return judged.kind === 'payload_mismatch' ? judged : undefined;
  }

  /** If the breaker is open, judges the request by its record; without one, throws. @returns undefined to continue */
  async whileBreakerIsOpen(): Promise<Executed<Refusal> | undefined> {
    const { breaker, key } = this.#operation;
    const unready = breaker === undefined ? undefined : await refusalOf(breaker.check);
    if (breaker === undefined || unready === undefined) return undefined;
    const record = await this.#tools.store.readRecord(key.operationId);
    if (record === undefined) throw unready;
    if (breaker.checkBegun === undefined) return undefined;
    const judged = this.#judge(record);
    if (judged.kind === 'judged') return judged.outcome;
    await breaker.checkBegun();
    return undefined;
  }

  // ------------------------------------------------------------------------------------------------------------- claim

  /**
   * Claims the operation. If two first attempts race, both write, and the second finds the record of the first.
   *
   *   A ── claim ✓ ────────────
   *   B ────── claim ✗ record of A: in progress, or its stored answer
   *
   * If two operations that exclude each other race, both decide on transition n, and one of them appends n + 1.
   *
   *   A (70 of 100) ── read n ── claim ✓ n + 1 reserves 70
   *   B (70 of 100) ──── read n ──── claim ✗ n + 1 is taken ── read n + 1 ── refused: 30 are left
   */
  async claim(): Promise<ClaimStep<Held<Subject>, Executed<Refusal>>> {
    const { entropy } = this.#tools;
    return rounds<ClaimStep<Held<Subject>, Executed<Refusal>>>('this key', async () => {
      const attempt = await this.#operation.claim((claimedAtMs, nowMs) =>
        this.#openRecord(entropy.ownerToken(), claimedAtMs, nowMs),
      );
      if (attempt === 'again') return attempt;
      switch (attempt.kind) {
        case 'claimed': {
          const { record, subject } = attempt;
          const { owner, claimedAtMs } = record;
          return { kind: 'claimed', held: { owner, claimedAtMs, sent: 'nothing', subject, note: this.#note } };
        }
        case 'record_exists':
          return this.#claimExisting(attempt.record);
        case 'begun':
          return this.#claimBegun(attempt.subject);
        case 'refused':
          return { kind: 'refused', outcome: attempt.outcome };
      }
    });
  }

  /**
   * After the lease has ended, the operation is not simply run again: the new owner first finds out what the previous
   * owner did.
   */
  async #claimExisting(existing: IdempotencyRecord): Promise<ClaimStep<Held<Subject>, Executed<Refusal>> | 'again'> {
    const { store, replays, clock, entropy } = this.#tools;
    const judged = this.#judge(existing);
    if (judged.kind === 'judged') {
      const { outcome } = judged;
      if (existing.status !== 'COMPLETED') return { kind: 'refused', outcome };
      replays.put(existing);
      return { kind: 'completed', outcome, answer: existing.answer };
    }
    const { claimedAtMs, released } = judged.record;
    const owner = entropy.ownerToken();
    const nowMs = clock.nowMs();
    const leaseExpiresAtMs = this.#leaseEndMs(nowMs);
    const earlier = earlierOwners(judged.record, nowMs);
    const taken = await store.takeOver({ stale: judged.record, owner, leaseExpiresAtMs });
    if (taken.kind === 'changed') return 'again';
    return this.#takeOver(owner, claimedAtMs, released ? 'nothing' : 'maybe', earlier);
  }

  /**
   * The record may have been deleted, by time to live or manually. An operation that was answered is never executed
   * again. An open operation is taken over, and its outcome is looked up at the other system.
   */
  async #claimBegun(subject: Subject): Promise<ClaimStep<Held<Subject>, Executed<Refusal>> | 'again'> {
    const { store, clock, entropy } = this.#tools;
    const { key, expired } = this.#operation;
    // A rival may have written the record since the claim above.
    const record = await store.readRecord(key.operationId);
    if (record !== undefined) return this.#claimExisting(record);
    const lost = this.#operation.lostRecord(subject);
    if (lost.isAnswered) return { kind: 'refused', outcome: expired };
    if (!lost.isSameRequest()) return { kind: 'refused', outcome: { kind: 'payload_mismatch' } };
    const owner = entropy.ownerToken();
    const claimed = await this.#operation.claimAgain(this.#openRecord(owner, lost.claimedAtMs, clock.nowMs()));
    return claimed ? this.#takeOver(owner, lost.claimedAtMs, 'maybe') : 'again';
  }

  #leaseEndMs(nowMs: number): number {
    return nowMs + (this.#operation.leaseSeconds ?? LEASE_SECONDS) * 1000;
  }

  #openRecord(owner: OwnerToken, claimedAtMs: number, nowMs: number): OpenRecord {
    const leaseExpiresAtMs = this.#leaseEndMs(nowMs);
    return {
      status: 'INPROGRESS',
      ...this.#operation.key,
      owner,
      claimedAtMs,
      changedAtMs: nowMs,
      leaseExpiresAtMs,
      released: false,
    };
  }

  async #takeOver(
    owner: OwnerToken,
    claimedAtMs: number,
    sent: Held<Subject>['sent'],
    earlier: readonly EarlierOwner[] = [],
  ) {
    this.#notes.takenOver = true;
    const subject = await this.#operation.read();
    return { kind: 'claimed' as const, held: { owner, claimedAtMs, sent, subject, earlier, note: this.#note } };
  }

  // -------------------------------------------------------------------------------------------------------------- call

  async execute(held: Held<Subject>): Promise<Work> {
    try {
      return await this.#operation.call(held);
    } catch (error) {
      const unsent = this.#operation.unsent === undefined ? retryable(error) : this.#operation.unsent(error);
      // `unsent` is an error only if it is certain that no owner has sent a request.
      this.#provenUnsent = unsent !== undefined;
      throw unsent ?? error;
    }
  }

  /** If nothing was sent under the claim, the next attempt can begin immediately. */
  async release({ owner }: Held<Subject>): Promise<void> {
    if (!this.#provenUnsent) return;
    try {
      await this.#tools.store.release(this.#operation.key.operationId, owner);
    } catch {
      // The claim stays until its lease ends. The next owner then looks up the outcome.
    }
  }

  // ------------------------------------------------------------------------------------------------------------ commit

  /**
   * Commits the result. If a rival has appended a transition, the rival's information is newer than this run's call, so
   * the response follows from the state that the rival wrote.
   *
   *   owner  claim ──── call ──────────────── commit: refused, T2 is there ── commit the answer that T2 implies
   *   rival            └─ callback appends T2 ─┘
   *
   *   owner  claim ── (lease ends) ──────────── commit: refused, the owner changed ── answer with what the rival stored
   *   rival                       └─ take over, look up, commit ─┘
   */
  async commit(work: Work, held: Held<Subject>): Promise<Executed<Refusal>> {
    const { clock, replays } = this.#tools;
    let current = work;
    let expects: ExpectedRecord = 'open';
    return rounds<Executed<Refusal>>('this key', async () => {
      const nowMs = clock.nowMs();
      const { write, answer, stored = answer, unknown, isRefusal } = this.#operation.conclude(current, nowMs, held);
      const { owner, claimedAtMs } = held;
      const expiresAtSeconds = expirySeconds(this.#tools, this.#operation.scope ?? 'payments', nowMs);
      const { key } = this.#operation;
      const times = { claimedAtMs, changedAtMs: nowMs, expiresAtSeconds };
      const record = { status: 'COMPLETED' as const, ...key, owner, ...times, answer: stored, ...this.#trail(held) };
      const outcome = await this.#operation.commit(record, expects, write);
      switch (outcome.kind) {
        case 'committed':
          await replays.committed(record);
          return { kind: 'first', answer, unknown };
        case 'transition_exists':
          current = await this.#operation.decideAgain(current);
          return 'again';
        case 'fenced':
          if (outcome.record !== undefined || expects === 'absent') return this.#afterFence(outcome.record, current);
          // The record no longer exists, so a rival may have sent a request after this run's call. If so, the refusal
          // that this run received proves nothing.
          if (isRefusal) throw contention('this key');
          expects = 'absent';
          return 'again';
      }
    });
  }

  #trail({ earlier = [] }: Held<Subject>): Pick<CompletedRecord, 'earlier' | 'calls'> {
    return {
      ...(earlier.length === 0 ? {} : { earlier }),
      ...(this.#calls.length === 0 ? {} : { calls: [...this.#calls] }),
    };
  }

  /** Another owner has taken over, so this run's response is discarded. */
  async #afterFence(record: IdempotencyRecord | undefined, work: Work): Promise<Executed<Refusal>> {
    this.#notes.fenced = true;
    await this.#operation.keep?.(work);
    if (record === undefined) throw contention('this key');
    const judged = this.#judge(record);
    if (judged.kind === 'judged') return judged.outcome;
    return { kind: 'in_progress', leaseExpiresAtMs: judged.record.leaseExpiresAtMs };
  }

  #judge(
    record: IdempotencyRecord,
  ):
    | { readonly kind: 'judged'; readonly outcome: RepeatOutcome | Refusal }
    | { readonly kind: 'stale'; readonly record: OpenRecord } {
    const judged = judgeRecord(record, this.#operation.key, this.#tools.clock.nowMs());
    if (judged.kind === 'stale') return judged;
    return { kind: 'judged', outcome: judged.kind === 'key_expired' ? this.#operation.expired : judged };
  }
}

async function refusalOf(check: () => Promise<void>): Promise<RetryableError | undefined> {
  try {
    await check();
    return undefined;
  } catch (error) {
    if (error instanceof RetryableError) return error;
    throw error;
  }
}

function retryable(error: unknown): RetryableError | undefined {
  return error instanceof RetryableError ? error : undefined;
}

// ------------------------------------------------------------------------------------------------------- commit only

/**
 * An effect in Payonce's own tables. One write contains the record and the rows (if the effect has several parts, the
 * rows of the last part), so no claim is needed.
 *
 *   A ── find ── read ── decide T4 ── record A ✓ T4 ✓
 *   A again ── find ── read ── decide T4 ── record A ✗: done before
 *   B ──── find ── read ── decide T4 ──── T4 ✗ ── read ── decide again ── record B ✓ T5 ✓
 */
export interface Effect<Prepared, Outcome> {
  readonly operationId: OperationId;
  find(): Promise<Outcome | undefined>;
  prepare(): Promise<Prepared>;
  write(prepared: Prepared): Promise<Written<Prepared, Outcome>>;
}

export type Written<Prepared, Outcome> =
  /** The effect was written, now or before, or was refused. */
  | { readonly kind: 'done'; readonly outcome: Outcome }
  /** A rival has written first. */
  | { readonly kind: 'again'; readonly prepared: Prepared }
  /** A part of the effect is written. The record is written with the last part. */
  | { readonly kind: 'part'; readonly prepared: Prepared };

/** Each part is a transaction of up to 100 rows. */
const MAX_PARTS = 20;

/** @throws as {@link executeOnce} */
export async function commitOnce<Prepared, Outcome>(
  runner: OperationRunner,
  effect: Effect<Prepared, Outcome>,
): Promise<Outcome> {
  return runner.record<Prepared, Outcome>(effect.operationId, {
    find: () => effect.find(),
    prepare: () => effect.prepare(),
    commit: async (prepared) => {
      let next = prepared;
      for (let part = 0; part < MAX_PARTS; part += 1) {
        const written = await rounds<Exclude<Written<Prepared, Outcome>, { kind: 'again' }>>(
          'this effect',
          async () => {
            const result = await effect.write(next);
            if (result.kind === 'done') return result;
            next = result.prepared;
            return result.kind === 'again' ? 'again' : result;
          },
        );
        if (written.kind === 'done') return written.outcome;
      }
      throw contention('this effect');
    },
  });
}

// ---------------------------------------------------------------------------------------------- claim, call, complete

export interface ExternalCall {
  /** The idempotency key at the vendor, the same for every attempt. */
  readonly operationId: OperationId;
  /** From 1. From the second attempt on, an earlier attempt may have been applied. */
  readonly attempt: number;
}

export type Consumed =
  | { readonly kind: 'done' }
  | { readonly kind: 'done_before' }
  /** Another delivery is being processed. The message must be delivered again. */
  | { readonly kind: 'busy' };

export interface CompleteTools {
  readonly records: ConsumerClaims;
  readonly runner: OperationRunner;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

/**
 * If the call throws, the next delivery retries it. If the process crashes, the first delivery after the claim's lease
 * has ended retries the call. A repeated call with the same operation id must therefore have no second effect.
 *
 * @param completed builds the record of the completed call
 * @throws the errors from the call; the message must be delivered again
 */
export async function completeOnce(
  tools: CompleteTools,
  operationId: OperationId,
  call: (call: ExternalCall) => Promise<void>,
  completed: () => EffectRecord,
): Promise<Consumed> {
  const { records, runner } = tools;
  return runner.run<OpenConsumption, true, Consumed>(operationId, {
    claim: () => claimCall(tools, operationId),
    execute: async ({ attempt }) => {
      await call({ operationId, attempt });
      return true;
    },
    // If another owner has fenced this one, the new owner retries the call with the same key and completes it.
    commit: async (_done, { owner }) => ({
      kind: (await records.complete({ ...completed(), owner })) ? 'done' : 'busy',
    }),
    // If this write fails, the next delivery begins when the lease ends.
    release: (pending) => records.fail(pending).catch(() => undefined),
  });
}

/**
 * Claims the call. If two deliveries find the same stale claim, only one takes it over, because a claim can be replaced
 * only if it has not changed.
 *
 *   A ── claim ✓ ── call ── ✗ (crashes)
 *   B ──────────────── claim ✗ (A's, stale) ── replace A's ✓ ── call
 *   C ───────────────────── claim ✗ (A's, stale) ── replace A's ✗: busy
 */
async function claimCall(
  { records, clock, entropy }: CompleteTools,
  operationId: OperationId,
): Promise<ClaimStep<OpenConsumption, Consumed>> {
  const claimedAtMs = clock.nowMs();
  const pending: OpenConsumption = {
    status: 'pending',
    operationId,
    owner: entropy.ownerToken(),
    attempt: 1,
    claimedAtMs,
    leaseExpiresAtMs: claimedAtMs + CONSUMER_LEASE_SECONDS * 1000,
  };
  const first = await records.claim(pending);
  if (first.kind === 'claimed') return { kind: 'claimed', held: pending };
  const stale = first.found;
  if (stale === undefined || stale.status === 'completed' || isUnderWay(stale, clock.nowMs())) return refused(stale);
  const next = { ...pending, attempt: stale.attempt + 1 };
  const second = await records.claim(next, stale);
  return second.kind === 'claimed' ? { kind: 'claimed', held: next } : refused(second.found);
}

function refused(found: Consumption | undefined): { readonly kind: 'refused'; readonly outcome: Consumed } {
  return { kind: 'refused', outcome: { kind: found?.status === 'completed' ? 'done_before' : 'busy' } };
}
