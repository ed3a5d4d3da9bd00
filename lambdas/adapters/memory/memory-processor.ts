import type { ChargeOrder, ChargeOutcome, Clock, Processor, ProcessorBooks } from '../../app/ports.ts';
import { AmbiguousError, RetryableError } from '../../core/faults.ts';
import { invariant } from '../../core/invariant.ts';
import type { ProcessorAbilities } from '../../core/settlement.ts';
import {
  createMemoryChargeBooks,
  DECLINE,
  type MemoryCharge,
  type MemoryChargeBooks,
  type MemoryIds,
} from './memory-charge-books.ts';

/** A processor in memory for tests: no timers, every call is over at once, every trouble on demand. */
export interface MemoryProcessor extends Processor, ProcessorBooks {
  /** The processor's own side: what payers, banks and people with other access do to its charges. */
  readonly inside: MemoryChargeBooks;
  /** Every charge of a payment, declined ones included, oldest first. */
  charges(paymentId: string): readonly MemoryCharge[];
  /** How many sends of an operation came in, answered or not. */
  sends(operationId: string): number;
  /** The next `count` sends behave like the first send of `source`. */
  failNext(count: number, source: string): void;
  /** While open, nothing is sent and `ready` refuses. */
  switchCircuit(state: 'open' | 'closed'): void;
  /** Lets the sends of `tok_timeout_late` take effect, as requests do that were held up on the way. */
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

/** The sandbox processor's magic sources, and one more: a send that takes effect only when it is delivered. */
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

const DEFAULT_ABILITIES: ProcessorAbilities = { lookup: { kind: 'strong' }, keyRetentionMs: 24 * 60 * 60 * 1_000 };

export function createMemoryProcessor(options: MemoryProcessorOptions): MemoryProcessor {
  const { clock, abilities = DEFAULT_ABILITIES } = options;
  const books = createMemoryChargeBooks(clock, abilities.keyRetentionMs, options.ids);
  const delayed: ChargeOrder[] = [];
  const sends = new Map<string, number>();
  let failures = { count: 0, source: 'tok_ok' };
  let circuit: 'open' | 'closed' = 'closed';

  const takeBehavior = (order: ChargeOrder): Behavior | undefined => {
    const source = SOURCES.get(order.source);
    if (source !== undefined && failures.count > 0) {
      failures = { ...failures, count: failures.count - 1 };
      return SOURCES.get(failures.source)?.first;
    }
    return sends.get(order.operationId) === 1 ? source?.first : source?.later;
  };

  const mustBeClosed = () => {
    if (circuit === 'closed') return;
    throw new RetryableError('processor_circuit_open', 'The processor is left alone.', { retryAfterSeconds: 10 });
  };

  return {
    name: 'memory',
    account: 'memory',
    endpoint: 'memory:',
    apiVersion: '1',
    abilities,
    ready: async () => mustBeClosed(),
    charge: async (order) => {
      mustBeClosed();
      sends.set(order.operationId, (sends.get(order.operationId) ?? 0) + 1);
      const known = books.ofKey(order.operationId);
      if (known !== undefined) mustMatch(order, known);
      const behavior = takeBehavior(order);
      if (behavior === undefined) return unknownSource(order);
      const { effect, fault } = behavior;
      if (effect === 'delayed') delayed.push(order);
      const charge = effect === 'nothing' || effect === 'delayed' ? known : books.add(order, STATUS_AFTER[effect]);
      if (fault !== undefined) throw fault();
      invariant(charge !== undefined, 'a true answer has a charge');
      return outcomeOf(charge);
    },
    findCharge: async (order) => {
      mustBeClosed();
      invariant(abilities.lookup.kind !== 'none', 'this processor cannot look up');
      const lagMs = abilities.lookup.kind === 'eventual' ? abilities.lookup.maxLagMs : 0;
      const [charge, ...more] = books.all.filter(
        ({ operationId, chargedAtMs }) => operationId === order.operationId && chargedAtMs + lagMs <= clock.nowMs(),
      );
      if (charge === undefined) return { kind: 'absent' };
      if (more.length > 0) throw mismatch(`the key made ${more.length + 1} charges`);
      mustMatch(order, charge);
      return outcomeOf(charge);
    },
    ...readersOf(books, mustBeClosed),
    inside: books,
    charges: (paymentId) => books.all.filter((charge) => charge.paymentId === paymentId),
    sends: (operationId) => sends.get(operationId) ?? 0,
    failNext: (count, source) => {
      invariant(SOURCES.has(source), `there is no source ${source}`);
      failures = { count, source };
    },
    switchCircuit: (state) => {
      circuit = state;
    },
    deliverDelayed: () => {
      for (const order of delayed.splice(0)) books.add(order, 'succeeded');
    },
  };
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

function unknownSource({ source }: ChargeOrder): ChargeOutcome {
  return { kind: 'rejected', failure: { code: 'invalid_source', message: `There is no source ${source}.` } };
}

function mismatch(message: string): AmbiguousError {
  return new AmbiguousError('processor_answer_mismatch', message);
}

/** What the call that made the charge came to, whatever became of the charge since. */
function outcomeOf({ chargeId, status, capture, failure, actionUrl, feeMinor }: MemoryCharge): ChargeOutcome {
  switch (status) {
    case 'declined':
      return { kind: 'declined', chargeId, failure: failure ?? DECLINE };
    case 'pending':
      return { kind: 'pending', chargeId };
    case 'requires_action':
      return { kind: 'action_required', chargeId, actionUrl: actionUrl ?? '' };
    case 'authorized':
    case 'voided':
      return { kind: 'authorized', chargeId };
    case 'succeeded': {
      if (capture === 'manual') return { kind: 'authorized', chargeId };
      return feeMinor === undefined ? { kind: 'succeeded', chargeId } : { kind: 'succeeded', chargeId, feeMinor };
    }
  }
}
