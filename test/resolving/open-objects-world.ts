import { AmbiguousError } from '../../lambdas/kernel/faults.ts';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { ownerToken, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { type AskedDecision, decidePayment } from '../../lambdas/operators/use/decide-payment.ts';
import { netDebitMinor } from '../../lambdas/payments/domain/posting.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import type { ChangePayment } from '../../lambdas/payments/use/change-payment.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import { booksInquiry } from '../../lambdas/payments/use/queued-with.ts';
import { readCharge, recordCharge } from '../../lambdas/payments/use/record-charge.ts';
import { resolveClaims, resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { returnCharges } from '../../lambdas/resolving/use/return-charges.ts';
import { callback, change } from '../payments/payment-fixtures.ts';
import { BY_OPERATOR, OPERATOR } from '../support/causes.ts';
import { World, type WorldTools } from '../world/world.ts';

const MINUTE_MS = 60_000;
export const DAY_HOURS = 24;

export async function unanswered(): Promise<never> {
  throw new AmbiguousError('injected_ambiguity', 'the response is lost');
}

export class OpenObjectsWorld extends World {
  readonly alarms: string[] = [];
  #count = 0;

  override get tools(): WorldTools {
    return { ...super.tools, alarm: (what) => void this.alarms.push(what) };
  }

  async queued(): Promise<readonly string[]> {
    return (await this.store.inquiries()).map(({ operationId }) => operationId);
  }

  /** The jobs run once every `halves` half hours. */
  async live(hours: number, { halves = 1, ...changes }: Partial<WorldTools> & { halves?: number } = {}): Promise<void> {
    const tools = { ...this.tools, ...changes };
    for (let half = 0; half < 2 * hours; half += halves) {
      await resolveClaims(tools);
      await resolveInquiries(tools);
      await returnCharges(tools);
      this.clock.advance(halves * 30 * MINUTE_MS);
    }
  }

  async sendCallback(chargeId: string, changes: Parameters<World['deliver']>[1] = {}): Promise<void> {
    this.#count += 1;
    await this.deliver(callback(`evt_${this.#count}`, chargeId), changes);
  }

  async decide(payment: CreatePayment, asked: Omit<AskedDecision, 'kind'>, books = this.tools.books): Promise<void> {
    this.#count += 1;
    const outcome = await decidePayment(
      { ...this.tools, books },
      {
        cause: BY_OPERATOR,
        operationId: storedOperationId(`dec_${this.#count}`),
        fingerprint: fingerprintOf(this.tools.digest, { body: {}, query: {} }),
        payment: payment.paymentId,
        reason: 'Seen on the statement',
        by: OPERATOR,
        asked: { kind: 'decision', ...asked },
      },
    );
    if (outcome.kind !== 'first' || outcome.answer.status !== 200)
      throw new Error(`the decision was not made: ${JSON.stringify(outcome)}`);
  }

  /** The processor's books cannot be read at the time of the decision. */
  decideUnread(payment: CreatePayment, { operationId }: ChangePayment, outcome: 'failed' | 'succeeded' = 'failed') {
    const unread = { ...this.processor, readCharge: unanswered };
    return this.decide(payment, { outcome, change: operationId, override: true }, [unread]);
  }

  /** No request reaches the processor. */
  async sendUnanswered(asked: ChangePayment): Promise<void> {
    const lost = { processor: { ...this.processor, change: unanswered } };
    await this.change(asked, lost);
    for (let minute = 0; minute < 50; minute += 1) {
      this.clock.advance(MINUTE_MS);
      await resolveInquiries({ ...this.tools, ...lost });
    }
  }

  /** Returns the balance of the payment's charges at the processor, and the posted balance, in minor units. */
  async held(payment: CreatePayment): Promise<{ readonly there: number; readonly booked: number }> {
    const charges = this.processor.charges(payment.paymentId);
    const there = charges.reduce((sum, { capturedMinor, refunds, disputes }) => {
      const refunded = refunds.filter(({ status }) => status === 'succeeded').map(({ amountMinor }) => amountMinor);
      const disputed = disputes.filter(({ status }) => status !== 'won').map(({ amountMinor }) => amountMinor);
      return [...refunded, ...disputed].reduce((left, minor) => left - minor, sum + capturedMinor);
    }, 0);
    const { transitions } = await this.chain(payment);
    const postings = transitions.flatMap((transition) => transition.postings);
    return { there, booked: netDebitMinor('processor_clearing', 'EUR', postings) };
  }

  /** The captured amount differs from the requested amount, so the payment needs a review. */
  async bringIntoReview(payment: CreatePayment): Promise<void> {
    await this.pay({ ...payment, source: 'tok_async' });
    const charge = this.chargeOf(payment);
    await this.processor.inside.correct(charge, { status: 'succeeded', amount_captured: 999 });
    await this.sendCallback(charge);
  }

  /** The inquiry reads all charges of the payment. */
  async bookInquiry({ paymentId }: CreatePayment): Promise<void> {
    const nowMs = this.clock.nowMs();
    await this.store.recordEffect({
      record: {
        operationId: storedOperationId('queued'),
        paymentId,
        owner: ownerToken('open-objects'),
        recordedAtMs: nowMs,
        expiresAtSeconds: nowMs / 1000 + 86_400,
      },
      transitions: [],
      inquiries: [booksInquiry(paymentId, nowMs)],
    });
  }

  second(payment: CreatePayment, source: string, operationId = 'by-hand') {
    return this.processor.inside.charge({
      paymentId: payment.paymentId,
      operationId: storedOperationId(operationId),
      amountMinor: 1000,
      source,
    });
  }
}

/** Ways to bring a payment into each state. */
export const COURSES = {
  processing: async (world, payment) => {
    await world.pay({ ...payment, source: 'tok_async' });
  },
  'requires action': async (world, payment) => {
    await world.pay({ ...payment, source: 'tok_action' });
  },
  authorized: async (world, payment) => {
    await world.pay({ ...payment, capture: 'manual' });
  },
  succeeded: async (world, payment) => {
    await world.pay(payment);
  },
  failed: async (world, payment) => {
    await world.pay({ ...payment, source: 'tok_declined' });
  },
  canceled: async (world, payment) => {
    const authorized: CreatePayment = { ...payment, capture: 'manual' };
    await world.pay(authorized);
    await world.change(change(authorized, 'cancel', { kind: 'cancel' }));
  },
  'in review': (world, payment) => world.bringIntoReview(payment),
  'decided failed': async (world, payment) => {
    await world.bringIntoReview(payment);
    await world.decide(payment, { outcome: 'failed' });
  },
  'decided succeeded': async (world, payment) => {
    await world.bringIntoReview(payment);
    await world.decide(payment, { outcome: 'succeeded', takenMinor: 999 });
  },
} as const satisfies Record<string, (world: OpenObjectsWorld, payment: CreatePayment) => Promise<void>>;
type Course = keyof typeof COURSES;
const ALL = Object.keys(COURSES) as readonly Course[];

/** An object that is open at the processor, and the call that ends the object at the processor. */
export interface Opened {
  readonly chargeId: string;
  readonly end: () => Promise<void>;
}

interface Kind {
  readonly courses: readonly Course[];
  readonly open: (world: OpenObjectsWorld, payment: CreatePayment) => Promise<Opened>;
}

const secondCharge =
  (source: string, isOfOperation = false): Kind['open'] =>
  async (world, payment) => {
    const operation = isOfOperation ? chargeOperation(payment.paymentId) : undefined;
    const { chargeId } = await world.second(payment, source, operation);
    return { chargeId, end: () => world.processor.inside.approve(chargeId) };
  };

const foreignRefund =
  (status: 'succeeded' | 'failed'): Kind['open'] =>
  async (world, payment) => {
    const chargeId = world.chargeOf(payment);
    const refund = await world.processor.inside.refund(chargeId, 300, 'pending');
    return { chargeId, end: () => world.processor.inside.endRefund(refund, status) };
  };

/** `courses` are the payment states in which the object can be open. */
export const KINDS: Readonly<Record<string, Kind>> = {
  'a pending second charge': { courses: ALL, open: secondCharge('tok_async') },
  'a pending second charge that names the operation': {
    courses: ALL.filter((course) => course !== 'processing' && course !== 'requires action'),
    open: secondCharge('tok_async', true),
  },
  'a second charge that waits for its payer': { courses: ALL, open: secondCharge('tok_action') },
  'its own charge, which has become pending again,': {
    courses: ['failed', 'canceled'],
    open: async (world, payment) => {
      const chargeId = world.chargeOf(payment);
      await world.processor.inside.correct(chargeId, { status: 'pending', amount_captured: 0 });
      return { chargeId, end: () => world.processor.inside.approve(chargeId) };
    },
  },
  'a refund by another user': { courses: ['succeeded', 'decided succeeded'], open: foreignRefund('succeeded') },
  'a refund by another user in a review': { courses: ['in review'], open: foreignRefund('failed') },
  'its own charge, which is authorized again,': {
    courses: ['succeeded'],
    open: async (world, payment) => {
      const chargeId = world.chargeOf(payment);
      const { inside } = world.processor;
      const { status, amount_captured: captured } = await inside.read(chargeId);
      await inside.correct(chargeId, { status: 'authorized', amount_captured: 0 });
      return { chargeId, end: () => inside.correct(chargeId, { status, amount_captured: captured }) };
    },
  },
  'a refund that Payonce recorded as failed': {
    courses: ['succeeded'],
    open: async (world, payment) => {
      const chargeId = world.chargeOf(payment);
      const refund = change(payment, 'given-up', { kind: 'refund', amountMinor: 400 });
      await world.sendUnanswered(refund);
      await world.processor.inside.refund(chargeId, 400, 'pending');
      const { refunds } = await world.processor.inside.read(chargeId);
      const metadata = { operation: refund.operationId, payment: payment.paymentId };
      await world.processor.inside.correct(chargeId, { refunds: refunds.map((each) => ({ ...each, metadata })) });
      return { chargeId, end: () => world.processor.inside.endRefund(refund.operationId, 'succeeded') };
    },
  },
  'a dispute that was won and reopened': {
    courses: ['succeeded'],
    open: async (world, payment) => {
      const chargeId = world.chargeOf(payment);
      const { inside } = world.processor;
      await inside.closeDispute(await inside.dispute(chargeId, 300), 'won');
      await world.sendCallback(chargeId);
      const { disputes } = await inside.read(chargeId);
      const showAs = (status: 'open' | 'won') =>
        inside.correct(chargeId, { disputes: disputes.map((each) => ({ ...each, status })) });
      await showAs('open');
      return { chargeId, end: () => showAs('won') };
    },
  },
  'a dispute': {
    courses: ['succeeded', 'decided succeeded'],
    open: async (world, payment) => {
      const chargeId = world.chargeOf(payment);
      const dispute = await world.processor.inside.dispute(chargeId, 300);
      return { chargeId, end: () => world.processor.inside.closeDispute(dispute, 'won') };
    },
  },
};

export function opened(kind: string, ...about: Parameters<Kind['open']>): Promise<Opened> {
  const found = KINDS[kind];
  if (found === undefined) throw new Error(`unknown kind: ${kind}`);
  return found.open(...about);
}

/** Ways in which Payonce learns about an object. */
export const SHOWN = {
  'a callback': (world, _payment, chargeId) => world.sendCallback(chargeId),
  'a read of the charge': async (world, { paymentId }, chargeId) => {
    const read = () => readCharge(world.processor, chargeId);
    await recordCharge(world.tools, paymentId, storedOperationId('look'), read);
  },
  'a read of the books': (world, payment) => world.bookInquiry(payment),
} as const satisfies Record<
  string,
  (world: OpenObjectsWorld, payment: CreatePayment, chargeId: string) => Promise<void>
>;
