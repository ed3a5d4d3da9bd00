import type { ChargeOrder, ChargeOutcome, Clock, Processor } from '../../app/ports.ts';
import { AmbiguousError, RetryableError } from '../../core/faults.ts';
import { invariant } from '../../core/invariant.ts';
import type { ProcessorAbilities } from '../../core/settlement.ts';

/** A charge in the processor's own books: the oracle for "charged once". */
interface MemoryCharge {
  readonly id: string;
  readonly operationId: string;
  readonly paymentId: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly status: 'succeeded' | 'authorized' | 'declined';
  readonly chargedAtMs: number;
}

/** A processor in memory for tests: no timers, every call is over at once, every trouble on demand. */
export interface MemoryProcessor extends Processor {
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
}

type Effect = 'succeed' | 'decline' | 'nothing' | 'delayed';

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
  ['tok_unauthorized', { first: UNAUTHORIZED, later: UNAUTHORIZED }],
]);

const DEFAULT_ABILITIES: ProcessorAbilities = { lookup: { kind: 'strong' }, keyRetentionMs: 24 * 60 * 60 * 1_000 };
const DECLINE = { code: 'card_declined', message: 'The card was declined.' } as const;

export function createMemoryProcessor(options: MemoryProcessorOptions): MemoryProcessor {
  const { clock, abilities = DEFAULT_ABILITIES } = options;
  const books = createBooks(clock, abilities.keyRetentionMs);
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
      const charge = effect === 'succeed' || effect === 'decline' ? books.add(order, effect) : known;
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
      for (const order of delayed.splice(0)) books.add(order, 'succeed');
    },
  };
}

interface MemoryBooks {
  readonly all: readonly MemoryCharge[];
  /** The charge that a key still stands for. */
  ofKey(operationId: string): MemoryCharge | undefined;
  /** Charges once per key; a known key answers with its charge. */
  add(order: ChargeOrder, effect: 'succeed' | 'decline'): MemoryCharge;
}

function createBooks(clock: Pick<Clock, 'nowMs'>, keyRetentionMs: number): MemoryBooks {
  const all: MemoryCharge[] = [];
  const ofKey = (operationId: string) =>
    all.findLast((charge) => charge.operationId === operationId && charge.chargedAtMs > clock.nowMs() - keyRetentionMs);
  return {
    all,
    ofKey,
    add: ({ operationId, paymentId, amountMinor, currency, capture }, effect) => {
      const known = ofKey(operationId);
      if (known !== undefined) return known;
      const accepted = capture === 'manual' ? 'authorized' : 'succeeded';
      const status = effect === 'decline' ? 'declined' : accepted;
      const id = `ch_${all.length + 1}`;
      const charge: MemoryCharge = {
        id,
        operationId,
        paymentId,
        amountMinor,
        currency,
        status,
        chargedAtMs: clock.nowMs(),
      };
      all.push(charge);
      return charge;
    },
  };
}

function mustMatch(order: ChargeOrder, charge: MemoryCharge): void {
  const asOrdered =
    charge.amountMinor === order.amountMinor &&
    charge.currency === order.currency &&
    charge.paymentId === order.paymentId &&
    (charge.status === 'declined' || (charge.status === 'authorized') === (order.capture === 'manual'));
  if (!asOrdered) throw mismatch('the key is known with another order');
}

function unknownSource({ source }: ChargeOrder): ChargeOutcome {
  return { kind: 'rejected', failure: { code: 'invalid_source', message: `There is no source ${source}.` } };
}

function mismatch(message: string): AmbiguousError {
  return new AmbiguousError('processor_answer_mismatch', message);
}

function outcomeOf(charge: MemoryCharge): ChargeOutcome {
  const { id: chargeId, status } = charge;
  return status === 'declined' ? { kind: status, chargeId, failure: DECLINE } : { kind: status, chargeId };
}
