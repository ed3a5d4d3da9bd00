import { REQUEST_BUDGET_SECONDS } from '../../kernel/contract/timing.ts';
import { RetryableError } from '../../kernel/faults.ts';
import { unprinted } from '../../kernel/fingerprint.ts';
import type { OwnerToken } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { IdempotencyRecord, OpenRecord } from '../../once/domain/idempotency.ts';
import { paymentExpirySeconds } from '../../once/domain/idempotency.ts';
import { afterFence, claimExisting, contention, openRecord } from '../../once/use/claimed-key.ts';
import { isSameRequest, type RunNotes } from '../../once/use/judge-record.ts';
import type { ClaimStep, OperationSteps } from '../../once/use/operation-runner.ts';
import { answeredAsPending, askedBy, begunAtMs, changeOf, decideChange, isUnderWay } from '../domain/change.ts';
import { changeAnswer } from '../domain/change-answer.ts';
import type { Decision } from '../domain/decide.ts';
import type { HoldChange, Refund, TransitionDraft } from '../domain/payment.ts';
import { evolve, type PaymentState } from '../domain/payment-state.ts';
import { isSendWindowClosed } from '../domain/settlement.ts';
import { detailsOf, nextTransition } from '../domain/transition.ts';
import type { ChangePayment, ChangePaymentOutcome } from './change-payment-types.ts';
import type { CreatePaymentTools } from './create-payment-types.ts';

import { decideNeverAsked, findOutChange } from './find-out-change.ts';
import { chainOf, type PaymentChain, readChain } from './payment-chain.ts';
import { pinnedProcessor } from './pinned-processor.ts';

/** Races are decided again this often before the caller is asked to come back. */
const MAX_ROUNDS = 5;

interface Held {
  readonly owner: OwnerToken;
  readonly claimedAtMs: number;
  readonly sent: 'nothing' | 'maybe';
  readonly chain: PaymentChain;
}

/** What was found out, as a word on the payment as it then stands; undefined when nothing had to be found out. */
type Work = Awaited<ReturnType<typeof findOutChange>> | undefined;

/** One run of one change: an object of its own for every call, so that nothing is shared between two keys. */
export class ChangeRun implements OperationSteps<Work, ChangePaymentOutcome> {
  readonly #tools: CreatePaymentTools;
  readonly #request: ChangePayment;
  readonly #notes: RunNotes;
  readonly #answerByMs: number;
  #held: Held | undefined;
  #provenUnsent = false;

  constructor(tools: CreatePaymentTools, request: ChangePayment, notes: RunNotes) {
    this.#tools = tools;
    this.#request = request;
    this.#notes = notes;
    this.#answerByMs = (request.receivedAtMs ?? tools.clock.nowMs()) + REQUEST_BUDGET_SECONDS * 1000;
  }

  /**
   * Closes the race of two changes that each alone would be allowed: both decide on transition n, and one takes n + 1.
   *
   *   A (70 of 100) ── read n ── claim ✓ n + 1 reserves 70
   *   B (70 of 100) ──── read n ──── claim ✗ n + 1 is taken ── read n + 1 ── refused: 30 are left
   */
  async claim(): Promise<ClaimStep<ChangePaymentOutcome>> {
    const { store, digest, clock } = this.#tools;
    const { operationId, command, fingerprint } = this.#request;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const chain = await this.#readOwnChain();
      if (chain === undefined) return { kind: 'refused', outcome: { kind: 'not_found' } };
      const known = changeOf(chain.state, operationId);
      if (known !== undefined) {
        const step = await this.#claimKnown(known, chain);
        if (step !== undefined) return step;
        continue;
      }
      const nowMs = clock.nowMs();
      const decision = decideChange(command, operationId, chain.state, nowMs);
      if (decision.kind !== 'begin') return { kind: 'refused', outcome: { kind: 'refused', refusal: decision } };
      // A look at the breaker before anything is claimed: what cannot be asked now does not burn its key.
      const processor = pinnedProcessor(this.#tools, chain.first);
      if (processor === undefined) throw elsewhere();
      await processor.ready();
      const pending = nextTransition(digest, chain.newest, askedBy(decision.draft, fingerprint), nowMs);
      const record = this.#openRecord(nowMs, nowMs);
      const outcome = await store.claim({ record, pending });
      if (outcome.kind === 'claimed') {
        const { owner, claimedAtMs } = record;
        this.#held = { owner, claimedAtMs, sent: 'nothing', chain: chainOf([...chain.transitions, pending]) };
        return { kind: 'claimed' };
      }
      if (outcome.kind === 'record_exists') {
        const step = await this.#claimExisting(outcome.record);
        if (step !== undefined) return step;
      }
    }
    throw contention();
  }

  async execute(): Promise<Work> {
    const { clock, entropy } = this.#tools;
    const { chain, claimedAtMs, sent } = this.#mine();
    const change = this.#changeIn(chain.state);
    // A callback, or a rival, has brought it to its end: only its answer is missing.
    if (!isUnderWay(change, chain.state)) return undefined;
    const processor = pinnedProcessor(this.#tools, chain.first);
    if (processor === undefined && sent === 'maybe') return () => undefined;
    if (processor === undefined && isSendWindowClosed({ nowMs: clock.nowMs(), claimedAtMs })) {
      return ({ state }) => decideNeverAsked(change, state);
    }
    try {
      const underway = { claimedAtMs, sent, answerByMs: this.#answerByMs };
      if (processor === undefined) throw elsewhere();
      return await findOutChange({ processor, clock, entropy }, change, chain, underway);
    } catch (error) {
      // Its promise: thrown so only when nothing was sent, by anyone.
      this.#provenUnsent = error instanceof RetryableError;
      throw error;
    }
  }

  /**
   *   owner  claim ── refund ──────────────── commit: refused, n + 2 is there ── commit the answer that n + 2 implies
   *   rival          └─ callback appends n + 2 ─┘
   */
  async commit(work: Work): Promise<ChangePaymentOutcome> {
    const { store, digest, clock, entropy, replays } = this.#tools;
    const { operationId, paymentId, fingerprint, requestId } = this.#request;
    const held = this.#mine();
    let { chain } = held;
    let expects: 'open' | 'absent' = 'open';
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const nowMs = clock.nowMs();
      const decision = work?.(chain);
      const draft = this.#ending(decision, chain.state) ?? this.#notKnownYet(chain.state);
      const transition = draft === undefined ? undefined : nextTransition(digest, chain.newest, draft, nowMs);
      const state = transition === undefined ? chain.state : evolve(chain.state, transition);
      const record = {
        status: 'COMPLETED' as const,
        operationId,
        paymentId,
        fingerprint,
        owner: held.owner,
        claimedAtMs: held.claimedAtMs,
        answer: changeAnswer(operationId, state, detailsOf(chain.first), requestId),
        expiresAtSeconds: paymentExpirySeconds(nowMs, entropy.fraction()),
      };
      const unknown = isUnderWay(this.#changeIn(state), state);
      const outcome = await store.commit({
        record,
        expects,
        ...(transition === undefined ? {} : { transition }),
        ...(unknown ? { inquiry: { operationId, paymentId, claimedAtMs: held.claimedAtMs } } : {}),
      });
      switch (outcome.kind) {
        case 'committed':
          replays.put(record);
          return { kind: 'first', answer: record.answer, unknown };
        case 'transition_exists':
          chain = await this.#chain();
          break;
        case 'fenced': {
          if (outcome.record === undefined && expects === 'open') {
            // Without the record nobody can tell whether a rival has sent since: a refusal of ours proves nothing then.
            if (decision?.kind === 'append' && decision.draft.type.endsWith('.failed')) throw contention();
            expects = 'absent';
            break;
          }
          this.#notes.fenced = true;
          return afterFence(outcome.record, this.#request, clock.nowMs());
        }
      }
    }
    throw contention();
  }

  /** What brings the change to its end. News of anything else is for a callback to bring. */
  #ending(decision: Decision | undefined, before: PaymentState): TransitionDraft | undefined {
    if (decision?.kind !== 'append') return undefined;
    const after = evolve(before, decision.draft);
    return isUnderWay(this.#changeIn(after), after) ? undefined : decision.draft;
  }

  #notKnownYet(state: PaymentState): TransitionDraft | undefined {
    const change = this.#changeIn(state);
    return isUnderWay(change, state) ? answeredAsPending(change, state) : undefined;
  }

  async release(): Promise<void> {
    if (!this.#provenUnsent) return;
    try {
      await this.#tools.store.release(this.#request.operationId, this.#mine().owner);
    } catch {
      // The lease ends by itself; the next owner then asks the processor instead of trusting that nothing was sent.
    }
  }

  /** @returns undefined when the record changed meanwhile: look again */
  async #claimKnown(
    change: HoldChange | Refund,
    chain: PaymentChain,
  ): Promise<ClaimStep<ChangePaymentOutcome> | undefined> {
    const { store, clock } = this.#tools;
    const { operationId, paymentId } = this.#request;
    const record = await store.readRecord(operationId);
    if (record !== undefined) return this.#claimExisting(record);
    // Its record was deleted. What has had its end, or its answer, is never answered by running again.
    const isAnswered = change.answered === true || !isUnderWay(change, chain.state);
    if (isAnswered) return { kind: 'refused', outcome: { kind: 'key_expired', paymentId } };
    if (!this.#isAskedBySame(change)) return { kind: 'refused', outcome: { kind: 'payload_mismatch' } };
    const claimedAtMs = begunAtMs(chain.transitions, operationId) ?? clock.nowMs();
    const lost = this.#openRecord(claimedAtMs, clock.nowMs());
    if ((await store.claim({ record: lost })).kind !== 'claimed') return undefined;
    await this.#hold(lost.owner, claimedAtMs, 'maybe');
    return { kind: 'claimed' };
  }

  /** @returns undefined when the record changed meanwhile: look again */
  async #claimExisting(existing: IdempotencyRecord): Promise<ClaimStep<ChangePaymentOutcome> | undefined> {
    const step = await claimExisting(this.#tools, existing, this.#request);
    if (step?.kind !== 'taken_over') return step;
    await this.#hold(step.owner, step.claimedAtMs, step.sent);
    return { kind: 'claimed' };
  }

  async #hold(owner: OwnerToken, claimedAtMs: number, sent: 'nothing' | 'maybe'): Promise<void> {
    this.#notes.takenOver = true;
    this.#held = { owner, claimedAtMs, sent, chain: await this.#chain() };
  }

  #openRecord(claimedAtMs: number, nowMs: number): OpenRecord {
    return openRecord(this.#request, this.#tools.entropy.ownerToken(), claimedAtMs, nowMs);
  }

  /** A change that does not know its request was written before changes did: its amount must do. */
  #isAskedBySame({ request, amountMinor }: HoldChange | Refund): boolean {
    const { command, fingerprint } = this.#request;
    if (request !== undefined) return isSameRequest(unprinted(request), fingerprint);
    return command.kind === 'cancel' || command.amountMinor === undefined || command.amountMinor === amountMinor;
  }

  #changeIn(state: PaymentState): HoldChange | Refund {
    const change = changeOf(state, this.#request.operationId);
    invariant(change !== undefined, 'a change that was claimed is in the chain');
    return change;
  }

  /** What is not the caller's does not exist. */
  async #readOwnChain(): Promise<PaymentChain | undefined> {
    const { paymentId, tenantId, mode } = this.#request;
    const chain = await readChain(this.#tools.store, paymentId);
    const payment = chain?.first.payment;
    return payment?.tenantId === tenantId && payment.mode === mode ? chain : undefined;
  }

  async #chain(): Promise<PaymentChain> {
    const chain = await this.#readOwnChain();
    invariant(chain !== undefined, 'a payment whose change was claimed is there');
    return chain;
  }

  #mine(): Held {
    invariant(this.#held !== undefined, 'a run must hold its claim before it goes on');
    return this.#held;
  }
}

function elsewhere(): RetryableError {
  return new RetryableError('processor_elsewhere', 'this deployment does not call the payment’s processor');
}
