import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import type { ProcessorAbilities } from '../../lambdas/payments/domain/settlement.ts';
import type {
  ChangeAbilities,
  ChangeOrder,
  ChangeOutcome,
  ChargeOrder,
  ChargeOutcome,
  HoldAbilities,
  Processor,
  ProcessorBooks,
} from '../../lambdas/payments/use/processor.ts';
import {
  createMemoryChargeBooks,
  DECLINE,
  factsOfChange,
  type MemoryCharge,
  type MemoryChargeBooks,
  type MemoryIds,
} from '../processors/memory-charge-books.ts';

/** A processor in memory for tests: without timers, every call ends at once, and every fault is on demand. */
export interface MemoryProcessor extends Processor, ProcessorBooks {
  /** The processor's own side: the actions of payers, banks and other users of the account on its charges. */
  readonly inside: MemoryChargeBooks;
  /** Every charge of a payment, declined ones included, oldest first. */
  charges(paymentId: string): readonly MemoryCharge[];
  /** The number of received sends of an operation, answered or not. */
  sends(operationId: string): number;
  /** The next `count` sends behave like the first send of `source`. */
  failNext(count: number, source: string): void;
  /**
   * The next `count` captures, voids and refunds behave like the first send of `source`: `tok_declined` refuses them,
   * `tok_async` leaves a refund pending.
   */
  failNextChange(count: number, source: string): void;
  /** While open, nothing is sent and `ready` refuses. */
  switchCircuit(state: 'open' | 'closed'): void;
  /** Applies the sends of `tok_timeout_late`, like requests that were delayed in the network. */
  deliverDelayed(): void;
}

export interface MemoryProcessorOptions {
  readonly clock: Pick<Clock, 'nowMs'>;
  /** @default strong look-up, keys honoured for 24 hours */
  readonly abilities?: ProcessorAbilities;
  /** @default short and counted */
  readonly ids?: MemoryIds;
}

type Effect = 'succeed' | 'decline' | 'accept' | 'ask_payer' | 'nothing' | 'delayed';

interface Behavior {
  readonly effect: Effect;
  /** Left out: the true answer. */
  readonly fault?: () => Error;
}

const CHARGED: Behavior = { effect: 'succeed' };
const DECLINED: Behavior = { effect: 'decline' };
const timeout = () => new AmbiguousError('processor_timeout', 'The processor did not answer in time.');
const unreadable = () => new AmbiguousError('processor_answer_unreadable', 'The answer cannot be read.');
const broken = () => new AmbiguousError('processor_error', 'The processor answered 500.');
const limited = () =>
  new RetryableError('processor_rate_limited', 'The processor answered 429.', { retryAfterSeconds: 1 });
const unauthorized = () => new RetryableError('processor_unauthorized', 'The processor answered 401.');
const UNAUTHORIZED: Behavior = { effect: 'nothing', fault: unauthorized };

/** The sandbox processor's magic sources, and one more: a send that takes effect only on delivery. */
const SOURCES: ReadonlyMap<string, { readonly first: Behavior; readonly later: Behavior }> = new Map([
  ['tok_ok', { first: CHARGED, later: CHARGED }],
  ['tok_slow', { first: CHARGED, later: CHARGED }],
  ['tok_declined', { first: DECLINED, later: DECLINED }],
  ['tok_flaky', { first: { effect: 'nothing', fault: broken }, later: CHARGED }],
  ['tok_rate_limited', { first: { effect: 'nothing', fault: limited }, later: CHARGED }],
  ['tok_timeout_charged', { first: { effect: 'succeed', fault: timeout }, later: CHARGED }],
  ['tok_timeout_not_charged', { first: { effect: 'nothing', fault: timeout }, later: CHARGED }],
  ['tok_timeout_late', { first: { effect: 'delayed', fault: timeout }, later: CHARGED }],
  ['tok_malformed', { first: { effect: 'succeed', fault: unreadable }, later: CHARGED }],
  ['tok_async', { first: { effect: 'accept' }, later: { effect: 'accept' } }],
  ['tok_action', { first: { effect: 'ask_payer' }, later: { effect: 'ask_payer' } }],
  ['tok_unauthorized', { first: UNAUTHORIZED, later: UNAUTHORIZED }],
]);

const DEFAULT_ABILITIES: ProcessorAbilities & ChangeAbilities & HoldAbilities = {
  lookup: { kind: 'strong' },
  keyRetentionMs: 24 * 60 * 60 * 1_000,
  partialCapture: true,
  partialRefund: true,
  holdValidityMs: 7 * 24 * 60 * 60 * 1_000,
};

/** What the parts of one processor share. */
interface Inside {
  readonly books: MemoryChargeBooks;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly abilities: ProcessorAbilities;
  readonly mustBeClosed: () => void;
  /** @returns how many sends of the operation there were, this one included */
  readonly countSend: (operationId: string) => number;
  /** Held up on the way. */
  readonly delayed: (() => void)[];
}

export function createMemoryProcessor(options: MemoryProcessorOptions): MemoryProcessor {
  const { clock } = options;
  const abilities = { ...DEFAULT_ABILITIES, ...options.abilities };
  const books = createMemoryChargeBooks(clock, abilities.keyRetentionMs, options.ids);
  const delayed: (() => void)[] = [];
  const sends = new Map<string, number>();
  let circuit: 'open' | 'closed' = 'closed';

  const mustBeClosed = () => {
    if (circuit === 'closed') return;
    throw new RetryableError('processor_circuit_open', 'The processor is left alone.', { retryAfterSeconds: 10 });
  };
  const countSend = (operationId: string): number => {
    const count = (sends.get(operationId) ?? 0) + 1;
    sends.set(operationId, count);
    return count;
  };
  const inside: Inside = { books, clock, abilities, mustBeClosed, countSend, delayed };

  return {
    name: 'memory',
    account: 'memory',
    endpoint: 'memory:',
    apiVersion: '1',
    abilities,
    ready: async () => mustBeClosed(),
    ...chargersOf(inside),
    ...changersOf(inside),
    ...readersOf(books, mustBeClosed),
    inside: books,
    charges: (paymentId) => books.all.filter((charge) => charge.paymentId === paymentId),
    sends: (operationId) => sends.get(operationId) ?? 0,
    switchCircuit: (state) => {
      circuit = state;
    },
    deliverDelayed: () => {
      for (const takeEffect of delayed.splice(0)) takeEffect();
    },
  };
}

function chargersOf({
  books,
  clock,
  abilities,
  mustBeClosed,
  countSend,
  delayed,
}: Inside): Pick<MemoryProcessor, 'charge' | 'findCharge' | 'failNext'> {
  let failures = { count: 0, source: 'tok_ok' };
  const takeBehavior = (order: ChargeOrder, sends: number): Behavior | undefined => {
    const source = SOURCES.get(order.source);
    if (source !== undefined && failures.count > 0) {
      failures = { ...failures, count: failures.count - 1 };
      return SOURCES.get(failures.source)?.first;
    }
    return sends === 1 ? source?.first : source?.later;
  };

  return {
    charge: async (order) => {
      mustBeClosed();
      const sends = countSend(order.operationId);
      const known = books.ofKey(order.operationId);
      if (known !== undefined) mustMatch(order, known);
      const behavior = takeBehavior(order, sends);
      if (behavior === undefined) return unknownSource(order);
      const { effect, fault } = behavior;
      if (effect === 'delayed') delayed.push(() => void books.add(order, 'succeeded'));
      const charge = effect === 'nothing' || effect === 'delayed' ? known : books.add(order, STATUS_AFTER[effect]);
      if (fault !== undefined) throw fault();
      invariant(charge !== undefined, 'a true answer has a charge');
      return outcomeOf(charge);
    },
    findCharge: async (order) => {
      mustBeClosed();
      const visibleMs = clock.nowMs() - lookupLagMs(abilities);
      const [charge, ...more] = books.all.filter(
        ({ operationId, chargedAtMs }) => operationId === order.operationId && chargedAtMs <= visibleMs,
      );
      if (charge === undefined) return { kind: 'absent' };
      if (more.length > 0) throw mismatch(`the key made ${more.length + 1} charges`);
      mustMatch(order, charge);
      return outcomeOf(charge);
    },
    failNext: (count, source) => {
      invariant(SOURCES.has(source), `there is no source ${source}`);
      failures = { count, source };
    },
  };
}

function changersOf({
  books,
  clock,
  abilities,
  mustBeClosed,
  countSend,
  delayed,
}: Inside): Pick<MemoryProcessor, 'change' | 'findChange' | 'failNextChange'> {
  let failures = { count: 0, source: 'tok_ok' };
  const takeBehavior = (): Behavior => {
    if (failures.count === 0) return CHARGED;
    failures = { ...failures, count: failures.count - 1 };
    return SOURCES.get(failures.source)?.first ?? CHARGED;
  };

  return {
    change: async (order) => {
      mustBeClosed();
      countSend(order.operationId);
      const known = books.changeOfKey(order.operationId);
      if (known !== undefined) mustBeSameChange(order, known.order);
      const { effect, fault } = takeBehavior();
      if (effect === 'delayed') delayed.push(() => void books.perform(order));
      const outcome = outcomeOfChange(books, order, effect);
      if (fault !== undefined) throw fault();
      invariant(outcome !== undefined, 'a true answer has an outcome');
      return outcome;
    },
    findChange: async (order) => {
      mustBeClosed();
      const charge = books.all.find(({ chargeId }) => chargeId === order.chargeId);
      if (charge === undefined) throw new AmbiguousError('processor_answer_unexpected', 'The processor answered 404.');
      const visibleMs = clock.nowMs() - lookupLagMs(abilities);
      const [fact, ...more] = factsOfChange(order, charge);
      const isHidden = books.performed.some(
        (change) => change.order.operationId === order.operationId && change.appliedAtMs > visibleMs,
      );
      if (fact === undefined || isHidden) return { kind: 'absent' };
      if (more.length > 0) throw mismatch(`the key made ${more.length + 1} refunds`);
      return { kind: 'applied', facts: [fact] };
    },
    failNextChange: (count, source) => {
      const effect = SOURCES.get(source)?.first.effect;
      invariant(effect !== undefined && effect !== 'ask_payer', `there is no source ${source} for changes`);
      failures = { count, source };
    },
  };
}

/** Undefined when it had no effect. */
function outcomeOfChange(books: MemoryChargeBooks, order: ChangeOrder, effect: Effect): ChangeOutcome | undefined {
  if (effect === 'nothing' || effect === 'delayed') return undefined;
  const isNew = books.changeOfKey(order.operationId) === undefined;
  if (effect === 'decline' && isNew) return { kind: 'refused', failure: DECLINE };
  return books.perform(order, effect === 'accept' ? 'pending' : 'succeeded');
}

function lookupLagMs({ lookup }: ProcessorAbilities): number {
  invariant(lookup.kind !== 'none', 'this processor cannot look up');
  return lookup.kind === 'eventual' ? lookup.maxLagMs : 0;
}

function readersOf(
  { all }: MemoryChargeBooks,
  mustBeClosed: () => void,
): Pick<ProcessorBooks, 'readCharge' | 'chargesOfPayment' | 'listCharges'> {
  return {
    readCharge: async (chargeId) => {
      mustBeClosed();
      return all.find((charge) => charge.chargeId === chargeId);
    },
    chargesOfPayment: async (paymentId) => {
      mustBeClosed();
      return all.filter((charge) => charge.paymentId === paymentId);
    },
    listCharges: async ({ fromSeconds, untilSeconds }) => {
      mustBeClosed();
      const isWithin = (seconds: number) => seconds >= fromSeconds && seconds < untilSeconds;
      return { charges: all.filter(({ createdAtSeconds }) => isWithin(createdAtSeconds)) };
    },
  };
}

const STATUS_AFTER = {
  succeed: 'succeeded',
  decline: 'declined',
  accept: 'pending',
  ask_payer: 'requires_action',
} as const;

function mustMatch(order: ChargeOrder, charge: MemoryCharge): void {
  const asOrdered =
    charge.amountMinor === order.amountMinor &&
    charge.currency === order.currency &&
    charge.paymentId === order.paymentId &&
    charge.capture === order.capture;
  if (!asOrdered) throw mismatch('the key is known with another order');
}

function mustBeSameChange(order: ChangeOrder, known: ChangeOrder): void {
  const amountOf = ({ change }: ChangeOrder) => (change.kind === 'void' ? undefined : change.amountMinor);
  const same =
    order.chargeId === known.chargeId && order.change.kind === known.change.kind && amountOf(order) === amountOf(known);
  if (!same) throw mismatch('the key is known with another body');
}

function unknownSource({ source }: ChargeOrder): ChargeOutcome {
  return { kind: 'rejected', failure: { code: 'invalid_source', message: `There is no source ${source}.` } };
}

function mismatch(message: string): AmbiguousError {
  return new AmbiguousError('processor_answer_mismatch', message);
}

/** The result of the call that made the charge, independent of later changes. */
function outcomeOf(charge: MemoryCharge): ChargeOutcome {
  const { chargeId, status, capture, failure, actionUrl, feeMinor, cancelReason } = charge;
  switch (status) {
    case 'declined':
      return { kind: 'declined', chargeId, failure: failure ?? DECLINE };
    case 'pending':
      return { kind: 'pending', chargeId };
    case 'requires_action':
      return { kind: 'action_required', chargeId, actionUrl: actionUrl ?? '' };
    case 'voided':
      // Voided before the payer acted: nothing was ever authorized.
      if (capture === 'automatic' || cancelReason === 'abandoned') return { kind: 'pending', chargeId };
      return { kind: 'authorized', chargeId };
    case 'authorized':
      return { kind: 'authorized', chargeId };
    case 'succeeded': {
      if (capture === 'manual') return { kind: 'authorized', chargeId };
      return feeMinor === undefined ? { kind: 'succeeded', chargeId } : { kind: 'succeeded', chargeId, feeMinor };
    }
  }
}
