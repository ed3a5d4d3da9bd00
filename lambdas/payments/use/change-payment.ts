import type { Cause } from '../../kernel/cause.ts';
import { REQUEST_BUDGET_SECONDS } from '../../kernel/contract/timing.ts';
import { defined } from '../../kernel/defined.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { Mode, OperationId, PaymentId, TenantId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { CompletedRecord, OpenRecord } from '../../once/domain/idempotency.ts';
import {
  type Attempt,
  type ClaimedKey,
  type Conclusion,
  type Executed,
  executeOnce,
  type Held,
  type LostRecord,
  type Operation,
  type RunNotes,
} from '../../once/use/execute-once.ts';
import type { CommitOutcome, ExpectedRecord } from '../../once/use/record-store.ts';
import { claimTransactionLost } from '../../once/use/rounds.ts';
import {
  answeredAsPending,
  begunAtMs,
  type ChangeCommand,
  type ChangeRefusal,
  changeOf,
  decideChange,
  isRequestedBy,
  isUnderWay,
  unsupportedChange,
} from '../domain/change.ts';
import { changeAnswer, changeAnswerFields } from '../domain/change-answer.ts';
import type { Decision } from '../domain/decide.ts';
import { withoutPersonalFields, withSealedReasons } from '../domain/given-reason.ts';
import type { HoldChange, OperatorRequest, Refund, TransitionDraft } from '../domain/payment.ts';
import { evolve, type PaymentState } from '../domain/payment-state.ts';
import { isSendWindowClosed } from '../domain/settlement.ts';
import { detailsOf, nextTransition } from '../domain/transition.ts';
import { type CreatePaymentTools, fromCopies, withPersonalFields } from './create-payment.ts';
import type { EffectStore } from './effect-store.ts';
import { decideNotAttempted, findOutChange } from './find-out-change.ts';
import { hasAnswer, hasBegun, readOwnChain } from './payment-chain.ts';
import type { Claim, ClaimOutcome, Commit, Inquiry } from './payment-store.ts';
import { pinnedProcessor, processorElsewhere } from './pinned-processor.ts';
import { inquiryForCharge } from './queued-with.ts';
import type { AlarmTools } from './raise-alarms.ts';
import { appendedTo, isWhole, readSummed, type SummedChain } from './summed-chain.ts';

export interface ChangePaymentTools extends CreatePaymentTools, AlarmTools {
  /** Records what the processor's books show for a charge, for example right before a send. */
  readonly effects: Pick<EffectStore, 'recordEffect' | 'readEffect' | 'queueOrNote'>;
}

export interface ChangePayment {
  /** Derived from tenant, mode, method, resolved path and idempotency key; contains the payment's id. */
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly fingerprint: Fingerprint;
  readonly requestId: string;
  /** The request, or a run of a job. */
  readonly cause: Cause;
  /**
   * Arrival time of the request by this process's clock, in Unix milliseconds. The time budget begins at this time.
   * @default now
   */
  readonly receivedAtMs?: number;
  readonly command: ChangeCommand;
  /** @default the tenant or a job requested the change */
  readonly byOperator?: ByOperator;
}

interface ByOperator {
  readonly request: OperatorRequest;
  /** Called before each attempt to claim. */
  readonly admits: (draft: TransitionDraft) => Promise<boolean>;
  /** Claims the change, and writes its activity log entry in the same transaction. */
  readonly claim: (claim: Required<Pick<Claim, 'record' | 'pending'>>) => Promise<ClaimOutcome>;
}

type Refusal =
  | { readonly kind: 'not_found' }
  /** Nothing is stored, so the same idempotency key may succeed later. */
  | { readonly kind: 'refused'; readonly refusal: ChangeRefusal }
  /** Nothing is stored. */
  | { readonly kind: 'not_admitted' }
  | { readonly kind: 'key_expired'; readonly paymentId: PaymentId };

export type ChangePaymentOutcome = Executed<Refusal>;

/** Only an operator's request can have the outcome `not_admitted`. */
export type ChangeOutcome = Exclude<ChangePaymentOutcome, { readonly kind: 'not_admitted' }>;

/**
 * Refunds cannot exceed the captured amount, because the pending transition of each refund reserves its amount.
 *
 * @throws as `executeOnce`
 */
export async function changePayment(
  tools: ChangePaymentTools,
  request: ChangePayment,
  notes?: RunNotes,
): Promise<ChangePaymentOutcome> {
  const { operationId, paymentId } = request;
  const outcome = await executeOnce(tools, new ChangeOperation(tools, request), notes);
  return withPersonalFields(outcome, () =>
    fromCopies(tools, outcome, async (store) => {
      const chain = await readOwnChain(store, request, paymentId);
      if (chain === undefined || changeOf(chain.state, operationId) === undefined) return undefined;
      return changeAnswerFields(operationId, chain.state, detailsOf(chain.first));
    }),
  );
}

interface Work {
  /**
   * Undefined if no outcome was determined: the change had already ended, or it may have been sent and this deployment
   * does not call the payment's processor.
   */
  readonly decideOutcome: Awaited<ReturnType<typeof findOutChange>> | undefined;
  readonly chain: SummedChain;
}

type Write = Omit<Commit, 'record' | 'expects'>;

class ChangeOperation implements Operation<SummedChain, Work, Write, Refusal> {
  readonly key: ClaimedKey;
  readonly expired: Refusal;
  readonly #tools: ChangePaymentTools;
  readonly #request: ChangePayment;
  readonly #answerByMs: number;

  constructor(tools: ChangePaymentTools, request: ChangePayment) {
    const { operationId, paymentId, fingerprint } = request;
    this.key = { operationId, paymentId, fingerprint };
    this.expired = { kind: 'key_expired', paymentId };
    this.#tools = tools;
    this.#request = request;
    this.#answerByMs = (request.receivedAtMs ?? tools.clock.nowMs()) + REQUEST_BUDGET_SECONDS * 1000;
  }

  async claim(open: (claimedAtMs: number, nowMs: number) => OpenRecord): Promise<Attempt<SummedChain, Refusal>> {
    const { store, digest, clock, entropy } = this.#tools;
    const { operationId, command, cause } = this.#request;
    // The response to a refund does not contain the payment's notes.
    const notes = command.kind === 'refund' ? 'without notes' : 'with notes';
    const chain = await readSummed(store, this.#request, this.#request, notes);
    if (chain === undefined) return { kind: 'refused', outcome: { kind: 'not_found' } };
    if (changeOf(chain.state, operationId) !== undefined) return { kind: 'begun', subject: chain };
    const nowMs = clock.nowMs();
    const decision = decideChange(command, operationId, chain.state, nowMs);
    if (decision.kind !== 'begin') return { kind: 'refused', outcome: { kind: 'refused', refusal: decision } };
    // The breaker is checked before the claim: a request that cannot reach the processor does not use up its
    // idempotency key.
    const processor = pinnedProcessor(this.#tools, chain.first);
    if (processor === undefined) throw processorElsewhere(chain.first);
    const unsupported = unsupportedChange(decision.draft, chain.state, processor.abilities);
    if (unsupported !== undefined) return { kind: 'refused', outcome: { kind: 'refused', refusal: unsupported } };
    await processor.ready();
    const { byOperator } = this.#request;
    if (byOperator !== undefined && !(await byOperator.admits(decision.draft)))
      return { kind: 'refused', outcome: { kind: 'not_admitted' } };
    const draft = withSealedReasons(digest, requestedBy(byOperator, decision.draft), entropy.salt());
    const pending = nextTransition(digest, chain, draft, { occurredAtMs: nowMs, cause });
    const record = open(nowMs, nowMs);
    const outcome = await (byOperator ?? store).claim({ record, pending });
    if (outcome.kind === 'claimed') {
      return { kind: 'claimed', record, subject: appendedTo(chain, pending) };
    }
    return outcome.kind === 'record_exists' ? outcome : 'again';
  }

  lostRecord(chain: SummedChain): LostRecord {
    const { operationId, command } = this.#request;
    invariant(isWhole(chain), 'a begun change was read without its whole chain');
    const { state, transitions } = chain;
    const change = this.#changeIn(state);
    return {
      isAnswered: hasAnswer(chain, operationId),
      isSameRequest: () => isRequestedBy(change, command),
      claimedAtMs: begunAtMs(transitions, operationId) ?? this.#tools.clock.nowMs(),
    };
  }

  async claimAgain(record: OpenRecord): Promise<boolean> {
    return (await this.#tools.store.claim({ record })).kind === 'claimed';
  }

  async read(): Promise<SummedChain> {
    const chain = await readOwnChain(this.#tools.store, this.#request, this.#request.paymentId);
    if (chain === undefined || !hasBegun(chain, this.#request.operationId)) throw claimTransactionLost();
    return chain;
  }

  async call({ subject: chain, claimedAtMs, sent, note }: Held<SummedChain>): Promise<Work> {
    const { clock } = this.#tools;
    const change = this.#changeIn(chain.state);
    // A callback or a rival has completed the change. Only the response must still be stored.
    if (!isUnderWay(change, chain.state)) return { decideOutcome: undefined, chain };
    const processor = pinnedProcessor(this.#tools, chain.first);
    if (processor === undefined) {
      if (sent === 'maybe') return { decideOutcome: undefined, chain };
      if (!isSendWindowClosed({ nowMs: clock.nowMs(), claimedAtMs })) throw processorElsewhere(chain.first);
      return { decideOutcome: ({ state }) => decideNotAttempted(change, state), chain };
    }
    const underway = { claimedAtMs, sent, answerByMs: this.#answerByMs, note };
    const tools = { ...this.#tools, processor, cause: this.#request.cause };
    return { decideOutcome: await findOutChange(tools, change, chain, underway), chain };
  }

  conclude({ decideOutcome, chain }: Work, nowMs: number, { claimedAtMs, sent }: Held<SummedChain>): Conclusion<Write> {
    const { operationId, paymentId, requestId, cause } = this.#request;
    const decision = decideOutcome?.(chain);
    const draft = this.#ending(decision, chain.state) ?? this.#notKnownYet(decision, chain.state);
    const occasion = { occurredAtMs: nowMs, cause };
    const transition = draft === undefined ? undefined : nextTransition(this.#tools.digest, chain, draft, occasion);
    const state = transition === undefined ? chain.state : evolve(chain.state, transition);
    const unknown = isUnderWay(this.#changeIn(state), state);
    const details = detailsOf(chain.first);
    const answer = changeAnswer(operationId, state, details, requestId);
    return {
      answer,
      stored: withoutPersonalFields(answer, changeAnswerFields(operationId, state, details)),
      unknown,
      isRefusal: decision?.kind === 'append' && decision.draft.type.endsWith('.failed'),
      write: {
        ...defined({ transition }),
        inquiries: [
          ...(unknown ? [{ operationId, paymentId, claimedAtMs }] : []),
          ...(transition === undefined && (decideOutcome !== undefined || sent === 'maybe')
            ? this.#endedByRival(state, nowMs)
            : []),
        ],
      },
    };
  }

  async commit(record: CompletedRecord, expects: ExpectedRecord, write: Write): Promise<CommitOutcome> {
    return this.#tools.store.commit({ record, expects, ...write });
  }

  async decideAgain({ decideOutcome }: Work): Promise<Work> {
    return { decideOutcome, chain: await this.read() };
  }

  /** Undefined unless the decision ends this change: callbacks record other facts. */
  #ending(decision: Decision | undefined, before: PaymentState): TransitionDraft | undefined {
    if (decision?.kind !== 'append') return undefined;
    const after = evolve(before, decision.draft);
    return isUnderWay(this.#changeIn(after), after) ? undefined : decision.draft;
  }

  #notKnownYet(decision: Decision | undefined, before: PaymentState): TransitionDraft | undefined {
    const isAccepted = decision?.kind === 'append' && decision.draft.type === 'refund.pending';
    const state = isAccepted ? evolve(before, decision.draft) : before;
    const change = this.#changeIn(state);
    return isUnderWay(change, state) ? answeredAsPending(change, state) : undefined;
  }

  /**
   * Returns an inquiry about the charge if a rival has recorded the change as failed: a request from this owner or an
   * earlier owner may still take effect.
   */
  #endedByRival(state: PaymentState, nowMs: number): readonly Inquiry[] {
    const { id, chargeId } = state.payment;
    if (this.#changeIn(state).status !== 'failed' || chargeId === undefined) return [];
    return [inquiryForCharge(id, chargeId, nowMs)];
  }

  #changeIn(state: PaymentState): HoldChange | Refund {
    const change = changeOf(state, this.#request.operationId);
    invariant(change !== undefined, 'the claimed change is not in the chain');
    return change;
  }
}

function requestedBy(byOperator: ByOperator | undefined, draft: TransitionDraft): TransitionDraft {
  const { subject } = draft;
  const isOfHold = subject?.kind === 'capture' || subject?.kind === 'void';
  return byOperator === undefined || !isOfHold
    ? draft
    : { ...draft, subject: { ...subject, request: byOperator.request } };
}
