import type { Answer } from '../../kernel/answer.ts';
import { CONSUMER_LEASE_SECONDS } from '../../kernel/contract/events.ts';
import { LEASE_SECONDS } from '../../kernel/contract/timing.ts';
import { RetryableError } from '../../kernel/faults.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { OperationId, OwnerToken, PaymentId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import { type Consumption, isUnderWay, type OpenConsumption } from '../domain/consumption.ts';
import type { CompletedRecord, EffectRecord, IdempotencyRecord, OpenRecord } from '../domain/idempotency.ts';
import { isExpired, paymentExpirySeconds } from '../domain/idempotency.ts';
import type { ConsumerClaims } from './consumer-records.ts';
import { judgeRecord, type RepeatOutcome } from './judge-record.ts';
import type { ClaimStep, OperationRunner, OperationSteps, ReplayCache } from './operation-runner.ts';
import type { CommitOutcome, ExpectedRecord, RecordStore } from './record-store.ts';
import { contention, rounds } from './rounds.ts';

/*
 * Everything that happens once happens here, in one of three modes:
 *
 *   claim, call, commit     a request under an idempotency key whose effect is asked of another system    executeOnce
 *   commit only             an effect in our own tables                                                   commitOnce
 *   claim, call, complete   an effect outside that no client waits for                                    completeOnce
 *
 * Each runs inside Powertools' `makeIdempotent`, by the runner that its function was given.
 */

// ------------------------------------------------------------------------------------------------ claim, call, commit

/**
 * Claim, call, commit: the one way in which a request under an idempotency key takes effect once when its effect is asked of
 * another system. A payment, a change of a payment and an order differ in the {@link Operation} that they pass in.
 *
 *   claim    one write: the record (owner, lease) and the pending transition
 *   call     the other system, under a key that is the same on every attempt
 *   commit   one write: the stored answer, the outcome, and the queue entries that go with it
 */
export interface Operation<Subject, Work, Write, Refusal> {
  readonly key: ClaimedKey;
  /** The outcome for a key whose answer is kept no longer. */
  readonly expired: Refusal;
  /**
   * A look at the circuit breaker before anything is claimed: a request that cannot begin does not use up its key. While it is
   * open, what was begun is `answered` if it can be without a call, or `continued`. @default the claim itself looks
   */
  readonly breaker?: { readonly look: () => Promise<void>; readonly begun: 'answered' | 'continued' };
  /**
   * Claims: writes the record and the pending transition, or says what stands in the way.
   *
   * @param open makes the record to write; `claimedAtMs` is when the client's time to send begins
   */
  claim(open: (claimedAtMs: number, nowMs: number) => OpenRecord): Promise<Attempt<Subject, Refusal>>;
  /** What the subject itself says of a request whose record is gone. */
  lostRecord(subject: Subject): LostRecord;
  /** Claims with a record alone: the pending transition exists. @returns false when a rival made the record first */
  claimAgain(record: OpenRecord): Promise<boolean>;
  /** The subject as it stands now. */
  read(): Promise<Subject>;
  /** Asks the other system, or finds out what came of asking before. */
  call(held: Held<Subject>): Promise<Work>;
  /** @returns what to throw, when the error of a call proves that nothing was sent, by any owner @default every RetryableError */
  unsent?(error: unknown): unknown;
  /** What the work means for the subject as the work knows it. Asked again after {@link Operation.decideAgain}. */
  conclude(work: Work, nowMs: number, held: Held<Subject>): Conclusion<Write>;
  commit(record: CompletedRecord, expects: ExpectedRecord, write: Write): Promise<CommitOutcome>;
  /** The work on the subject as a rival has left it. Nothing is asked of the other system again. */
  decideAgain(work: Work): Promise<Work>;
  /** Keeps what only this run has learnt, after another owner has committed. */
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
  /** The pending transition of this very request exists; whether its record does is not known. */
  | { readonly kind: 'begun'; readonly subject: Subject }
  /** Nothing is stored: the same key may succeed later. */
  | { readonly kind: 'refused'; readonly outcome: Refusal }
  /** A rival was faster: look again. */
  | 'again';

export interface LostRecord {
  /** It has had its end, or its answer: a second, different answer must never be. */
  readonly isAnswered: boolean;
  readonly isSameRequest: () => boolean;
  /** When it was claimed first. */
  readonly claimedAtMs: number;
}

/** A claim that is ours. */
export interface Held<Subject> {
  readonly owner: OwnerToken;
  /** When the key was claimed first: nothing is sent later than 15 minutes after it. */
  readonly claimedAtMs: number;
  /** Whether an earlier owner of this claim may have sent. */
  readonly sent: 'nothing' | 'maybe';
  readonly subject: Subject;
}

export interface Conclusion<Write> {
  /** The transitions, and the queue entries that go with them. */
  readonly write: Write;
  readonly answer: Answer;
  /** The answer is not the end: the outcome could not be had in time. */
  readonly unknown: boolean;
  /** It rests on a refusal, or on nothing having been sent, which speaks of this owner's attempt alone. */
  readonly isRefusal: boolean;
}

export interface ExecuteTools {
  readonly store: RecordStore;
  readonly runner: OperationRunner;
  readonly replays: ReplayCache;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

/** What happened on the way, for logs and metrics. */
export interface RunNotes {
  /** A stale or lost claim was taken over. */
  takenOver: boolean;
  /** The claim was lost to another owner before the commit. */
  fenced: boolean;
}

/** In order of precedence. */
export type Executed<Refusal> =
  /** Executed by this call; `unknown` when the outcome could not be had in time. */
  { readonly kind: 'first'; readonly answer: Answer; readonly unknown: boolean } | RepeatOutcome | Refusal;

/**
 * Executes an operation so that it takes effect once. Called again with the same key, at the same time or years later, it
 * replays the stored answer, finds out what came of the first attempt, or refuses.
 *
 * @throws RetryableError when nothing happened and the same key may be used again
 * @throws AmbiguousError when the store did not say whether it wrote; the same key finds out
 */
export async function executeOnce<Subject, Work, Write, Refusal>(
  tools: ExecuteTools,
  operation: Operation<Subject, Work, Write, Refusal>,
  notes: RunNotes = { takenOver: false, fenced: false },
): Promise<Executed<Refusal>> {
  const run = new Execution(tools, operation, notes);
  return run.replayed() ?? (await run.whileBreakerIsOpen()) ?? tools.runner.run(operation.key.operationId, run);
}

/** One execution of one key: an object of its own for every call, so that nothing is shared between two keys. */
class Execution<Subject, Work, Write, Refusal> implements OperationSteps<Work, Executed<Refusal>> {
  readonly #tools: ExecuteTools;
  readonly #operation: Operation<Subject, Work, Write, Refusal>;
  readonly #notes: RunNotes;
  #held: Held<Subject> | undefined;
  #provenUnsent = false;

  constructor(tools: ExecuteTools, operation: Operation<Subject, Work, Write, Refusal>, notes: RunNotes) {
    this.#tools = tools;
    this.#operation = operation;
    this.#notes = notes;
  }

  // ------------------------------------------------------------------------------------------------- before the claim

  /** The stored answer that this process still has: a warm replay costs no call. */
  replayed(): RepeatOutcome | undefined {
    const { replays, clock } = this.#tools;
    const warm = replays.get(this.#operation.key.operationId);
    if (warm === undefined || isExpired(warm, clock.nowMs())) return undefined;
    const judged = judgeRecord(warm, this.#operation.key, clock.nowMs());
    if (judged.kind === 'replay') return { ...judged, source: 'cache' };
    return judged.kind === 'payload_mismatch' ? judged : undefined;
  }

  /** What was answered before is still answered, and nothing new is begun. @returns undefined when it may go on */
  async whileBreakerIsOpen(): Promise<Executed<Refusal> | undefined> {
    const { breaker, key } = this.#operation;
    const unready = breaker === undefined ? undefined : await refusalOf(breaker.look);
    if (breaker === undefined || unready === undefined) return undefined;
    const record = await this.#tools.store.readRecord(key.operationId);
    if (record === undefined) throw unready;
    if (breaker.begun === 'continued') return undefined;
    const judged = this.#judge(record);
    if (judged.kind === 'stale') throw unready;
    return judged.outcome;
  }

  // ------------------------------------------------------------------------------------------------------------- claim

  /**
   * Two first attempts: both write, and one finds the other's record.
   *
   *   A ── claim ✓ ────────────
   *   B ────── claim ✗ record of A: in progress, or its stored answer
   *
   * Two operations that each alone would be allowed: both decide on transition n, and one takes the place n + 1.
   *
   *   A (70 of 100) ── read n ── claim ✓ n + 1 reserves 70
   *   B (70 of 100) ──── read n ──── claim ✗ n + 1 is taken ── read n + 1 ── refused: 30 are left
   */
  async claim(): Promise<ClaimStep<Executed<Refusal>>> {
    const { entropy } = this.#tools;
    return rounds<ClaimStep<Executed<Refusal>>>('this key', async () => {
      const attempt = await this.#operation.claim((claimedAtMs, nowMs) =>
        openRecord(this.#operation.key, entropy.ownerToken(), claimedAtMs, nowMs),
      );
      if (attempt === 'again') return attempt;
      switch (attempt.kind) {
        case 'claimed': {
          const { record, subject } = attempt;
          this.#held = { owner: record.owner, claimedAtMs: record.claimedAtMs, sent: 'nothing', subject };
          return { kind: 'claimed' };
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

  /** A stale lease never means "run again": the new owner finds out what the old one did. */
  async #claimExisting(existing: IdempotencyRecord): Promise<ClaimStep<Executed<Refusal>> | 'again'> {
    const { store, replays, clock, entropy } = this.#tools;
    const judged = this.#judge(existing);
    if (judged.kind === 'judged') {
      const { outcome } = judged;
      if (existing.status !== 'COMPLETED' || !judged.isReplay) return { kind: 'refused', outcome };
      replays.put(existing);
      return { kind: 'completed', outcome, answer: existing.answer };
    }
    const { claimedAtMs, released } = judged.record;
    const owner = entropy.ownerToken();
    const leaseExpiresAtMs = clock.nowMs() + LEASE_SECONDS * 1000;
    const taken = await store.takeOver({ stale: judged.record, owner, leaseExpiresAtMs });
    if (taken.kind === 'changed') return 'again';
    // A released claim says that nothing was sent.
    return this.#takeOver(owner, claimedAtMs, released ? 'nothing' : 'maybe');
  }

  /**
   * The subject is there and its record may not be: deleted by time to live, or by hand. What was answered is never answered
   * by running again; what is open is taken over, and the other system is asked.
   */
  async #claimBegun(subject: Subject): Promise<ClaimStep<Executed<Refusal>> | 'again'> {
    const { store, clock, entropy } = this.#tools;
    const { key, expired } = this.#operation;
    // A rival may have brought the record back between our claim and this look.
    const record = await store.readRecord(key.operationId);
    if (record !== undefined) return this.#claimExisting(record);
    const lost = this.#operation.lostRecord(subject);
    if (lost.isAnswered) return { kind: 'refused', outcome: expired };
    if (!lost.isSameRequest()) return { kind: 'refused', outcome: { kind: 'payload_mismatch' } };
    const owner = entropy.ownerToken();
    const claimed = await this.#operation.claimAgain(openRecord(key, owner, lost.claimedAtMs, clock.nowMs()));
    return claimed ? this.#takeOver(owner, lost.claimedAtMs, 'maybe') : 'again';
  }

  async #takeOver(owner: OwnerToken, claimedAtMs: number, sent: Held<Subject>['sent']): Promise<{ kind: 'claimed' }> {
    this.#notes.takenOver = true;
    this.#held = { owner, claimedAtMs, sent, subject: await this.#operation.read() };
    return { kind: 'claimed' };
  }

  // -------------------------------------------------------------------------------------------------------------- call

  async execute(): Promise<Work> {
    try {
      return await this.#operation.call(this.#mine());
    } catch (error) {
      const unsent = this.#operation.unsent === undefined ? retryable(error) : this.#operation.unsent(error);
      // Its promise: nothing was sent, by any owner. After every other error something may have been.
      this.#provenUnsent = unsent !== undefined;
      throw unsent ?? error;
    }
  }

  /** Only a claim under which nothing was sent is released: then the next attempt may begin at once. */
  async release(): Promise<void> {
    if (!this.#provenUnsent) return;
    try {
      await this.#tools.store.release(this.#operation.key.operationId, this.#mine().owner);
    } catch {
      // The lease ends by itself; the next owner then finds out instead of trusting that nothing was sent.
    }
  }

  // ------------------------------------------------------------------------------------------------------------ commit

  /**
   * A rival that appends has looked later than our call: what stands now is the answer.
   *
   *   owner  claim ──── call ──────────────── commit: refused, T2 is there ── commit the answer that T2 implies
   *   rival            └─ callback appends T2 ─┘
   *
   *   owner  claim ── (lease ends) ──────────── commit: refused, the owner changed ── answer with what the rival stored
   *   rival                       └─ take over, look up, commit ─┘
   */
  async commit(work: Work): Promise<Executed<Refusal>> {
    const { clock, entropy, replays } = this.#tools;
    const held = this.#mine();
    let current = work;
    let expects: ExpectedRecord = 'open';
    return rounds<Executed<Refusal>>('this key', async () => {
      const nowMs = clock.nowMs();
      const { write, answer, unknown, isRefusal } = this.#operation.conclude(current, nowMs, held);
      const { owner, claimedAtMs } = held;
      const expiresAtSeconds = paymentExpirySeconds(nowMs, entropy.fraction());
      const { key } = this.#operation;
      const record = { status: 'COMPLETED' as const, ...key, owner, claimedAtMs, answer, expiresAtSeconds };
      const outcome = await this.#operation.commit(record, expects, write);
      switch (outcome.kind) {
        case 'committed':
          replays.put(record);
          return { kind: 'first', answer, unknown };
        case 'transition_exists':
          current = await this.#operation.decideAgain(current);
          return 'again';
        case 'fenced':
          if (outcome.record !== undefined || expects === 'absent') return this.#afterFence(outcome.record, current);
          // Without the record nobody can tell whether a rival has sent since: a refusal of ours proves nothing then.
          if (isRefusal) throw contention('this key');
          expects = 'absent';
          return 'again';
      }
    });
  }

  /** Another owner has the claim: what it stored is the answer, ours is thrown away. */
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
    | { readonly kind: 'judged'; readonly outcome: RepeatOutcome | Refusal; readonly isReplay: boolean }
    | { readonly kind: 'stale'; readonly record: OpenRecord } {
    const judged = judgeRecord(record, this.#operation.key, this.#tools.clock.nowMs());
    if (judged.kind === 'stale') return judged;
    const isReplay = judged.kind === 'replay';
    return { kind: 'judged', outcome: judged.kind === 'key_expired' ? this.#operation.expired : judged, isReplay };
  }

  #mine(): Held<Subject> {
    invariant(this.#held !== undefined, 'a run must hold its claim before it goes on');
    return this.#held;
  }
}

/** A record of ours, leased from now. */
function openRecord(key: ClaimedKey, owner: OwnerToken, claimedAtMs: number, nowMs: number): OpenRecord {
  const leaseExpiresAtMs = nowMs + LEASE_SECONDS * 1000;
  return { status: 'INPROGRESS', ...key, owner, claimedAtMs, leaseExpiresAtMs, released: false };
}

async function refusalOf(look: () => Promise<void>): Promise<RetryableError | undefined> {
  try {
    await look();
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
 * An effect in our own tables: the record and the rows are one write, so there is nothing to claim.
 *
 *   A ── find ── read ── decide T4 ── record A ✓ T4 ✓
 *   A again ── find ── read ── decide T4 ── record A ✗: done before
 *   B ──── find ── read ── decide T4 ──── T4 ✗ ── read ── decide again ── record B ✓ T5 ✓
 */
export interface Effect<Prepared, Outcome> {
  readonly operationId: OperationId;
  /** What an earlier run came to. */
  find(): Promise<Outcome | undefined>;
  /** Reads what is decided on. */
  prepare(): Promise<Prepared>;
  /** Decides, and writes the record and the rows together. */
  write(prepared: Prepared): Promise<Written<Prepared, Outcome>>;
}

export type Written<Prepared, Outcome> =
  /** Written, written before, or refused. */
  | { readonly kind: 'done'; readonly outcome: Outcome }
  /** A rival was faster: decide again on what it has left. */
  | { readonly kind: 'again'; readonly prepared: Prepared }
  /** A part is written, and the record comes with the last one. */
  | { readonly kind: 'part'; readonly prepared: Prepared };

/** Of one effect; each is a transaction of up to a hundred rows. */
const MAX_PARTS = 20;

/** Commits an effect once. @throws as {@link executeOnce} */
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
            const came = await effect.write(next);
            if (came.kind === 'done') return came;
            next = came.prepared;
            return came.kind === 'again' ? 'again' : came;
          },
        );
        if (written.kind === 'done') return written.outcome;
      }
      throw contention('this effect');
    },
  });
}

// ---------------------------------------------------------------------------------------------- claim, call, complete

/** What a call outside must carry, so that one that is made again takes effect once. */
export interface OutsideCall {
  /** The same on every attempt, for ever: the key at the vendor. */
  readonly operationId: OperationId;
  /** 1 for the first; of a later one, an earlier one may have reached its goal. */
  readonly attempt: number;
}

export type Consumed =
  | { readonly kind: 'done' }
  | { readonly kind: 'done_before' }
  /** Another delivery is at it; this one must come again. */
  | { readonly kind: 'busy' };

export interface CompleteTools {
  readonly records: ConsumerClaims;
  readonly runner: OperationRunner;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

/**
 * An effect outside that no client waits for: claim, call, complete. A call that threw is made again by the next delivery, and
 * one whose process died when its lease has ended, so it must be idempotent by the operation id that it is given.
 *
 * @param completed the record that says that it is done
 * @throws what the call throws: the delivery must come again
 */
export async function completeOnce(
  tools: CompleteTools,
  operationId: OperationId,
  call: (call: OutsideCall) => Promise<void>,
  completed: () => EffectRecord,
): Promise<Consumed> {
  return tools.runner.run(operationId, new Completion(tools, operationId, call, completed));
}

class Completion implements OperationSteps<true, Consumed> {
  readonly #tools: CompleteTools;
  readonly #call: (call: OutsideCall) => Promise<void>;
  readonly #completed: () => EffectRecord;
  #pending: OpenConsumption;

  constructor(
    tools: CompleteTools,
    operationId: OperationId,
    call: (call: OutsideCall) => Promise<void>,
    completed: () => EffectRecord,
  ) {
    this.#tools = tools;
    this.#call = call;
    this.#completed = completed;
    const claimedAtMs = tools.clock.nowMs();
    this.#pending = {
      status: 'pending',
      operationId,
      owner: tools.entropy.ownerToken(),
      attempt: 1,
      claimedAtMs,
      leaseExpiresAtMs: claimedAtMs + CONSUMER_LEASE_SECONDS * 1000,
    };
  }

  /**
   * Of two that find the same stale claim one gets it, because it is replaced only while it is the one that was read.
   *
   *   A ── claim ✓ ── call ── ✗ (dies)
   *   B ──────────────── claim ✗ (A's, stale) ── replace A's ✓ ── call
   *   C ───────────────────── claim ✗ (A's, stale) ── replace A's ✗: busy
   */
  async claim(): Promise<ClaimStep<Consumed>> {
    const { records, clock } = this.#tools;
    const first = await records.claim(this.#pending);
    if (first.kind === 'claimed') return first;
    const blocked = refusalOfClaim(first.found, clock.nowMs());
    if (blocked !== undefined || first.found === undefined || first.found.status === 'completed') {
      return { kind: 'refused', outcome: blocked ?? { kind: 'busy' } };
    }
    this.#pending = { ...this.#pending, attempt: first.found.attempt + 1 };
    const second = await records.claim(this.#pending, first.found);
    if (second.kind === 'claimed') return second;
    return { kind: 'refused', outcome: refusalOfClaim(second.found, clock.nowMs()) ?? { kind: 'busy' } };
  }

  async execute(): Promise<true> {
    const { operationId, attempt } = this.#pending;
    await this.#call({ operationId, attempt });
    return true;
  }

  /** Fenced: the owner that took over makes the same call with the same key, and completes it. */
  async commit(): Promise<Consumed> {
    const completed = await this.#tools.records.complete({ ...this.#completed(), owner: this.#pending.owner });
    return completed ? { kind: 'done' } : { kind: 'busy' };
  }

  async release(): Promise<void> {
    // Where this is lost, the lease lets the next delivery in.
    await this.#tools.records.fail(this.#pending).catch(() => undefined);
  }
}

function refusalOfClaim(found: Consumption | undefined, nowMs: number): Consumed | undefined {
  if (found?.status === 'completed') return { kind: 'done_before' };
  return found !== undefined && isUnderWay(found, nowMs) ? { kind: 'busy' } : undefined;
}
