import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { ChangeCommand } from '../../lambdas/payments/domain/change.ts';
import { netDebitMinor } from '../../lambdas/payments/domain/posting.ts';
import { firstBrokenLink } from '../../lambdas/payments/domain/transition.ts';
import { expireAuthorizationsJob } from '../../lambdas/resolving/use/expire-authorizations.ts';
import { resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { sweepJob } from '../jobs/sweep-job.ts';
import { callback, change, paymentRequest } from '../payments/payment-fixtures.ts';
import { type Actor, Crash } from '../support/fault-plan.ts';
import { World, type WorldTools } from '../world/world.ts';

export const HOUR_MS = 60 * 60_000;
export const DAY_MS = 24 * HOUR_MS;
const MINUTE_MS = 60_000;

/** An authorized payment, and each process that may end its hold. */
export class HoldWorld extends World {
  readonly request = paymentRequest('held', { capture: 'manual' });
  /** The duration of a look into the processor's books. */
  slowReadsMs = 0;
  #events = 0;

  override get tools(): WorldTools {
    const { processor, clock } = this;
    const readCharge: typeof processor.readCharge = (...call) => {
      clock.advance(this.slowReadsMs);
      return processor.readCharge(...call);
    };
    return { ...super.tools, books: [{ ...processor, readCharge }] };
  }

  /** Sets the money aside. */
  async authorize(source = this.request.source): Promise<void> {
    await this.pay({ ...this.request, source });
  }

  get chargeId(): string {
    const [charge] = this.processor.charges(this.request.paymentId);
    invariant(charge !== undefined, 'there is a charge');
    return charge.chargeId;
  }

  /** One run of the job. */
  expire(actor?: Actor) {
    const job = expireAuthorizationsJob(actor === undefined ? this.tools : this.toolsOf(actor));
    return sweepJob(job, { nowMs: this.clock.nowMs() });
  }

  /** A run whose process may die of it. */
  async expireOrDie(actor: Actor): Promise<void> {
    await this.expire(actor).catch((error: unknown) => {
      if (!(error instanceof Crash) && !actor.crashed) this.reported.push(error);
    });
  }

  ask(command: ChangeCommand) {
    return this.change(change(this.request, `merchant-${command.kind}`, command));
  }

  /** The processor lets it go by itself, and says so. */
  async expireAtProcessor(): Promise<void> {
    const { chargeId, processor } = this;
    const charge = processor.charges(this.request.paymentId).find((each) => each.chargeId === chargeId);
    if (charge?.status === 'authorized') await processor.inside.expire(chargeId);
    await this.callBack();
  }

  async callBack(): Promise<void> {
    this.#events += 1;
    await this.deliver(callback(`evt_${this.#events}`, this.chargeId));
  }

  /** An hour of the resolver's runs, without those that would find their queue empty. */
  async resolveForAnHour(): Promise<void> {
    const { tools, store } = this;
    for (let half = 0; half < 2; half += 1) {
      this.clock.advance(30 * MINUTE_MS);
      if (store.openClaims() > 0) await this.resolveClaims();
      // In fifteen minutes each is due once, as long as there is any.
      for (let look = 0; look < 15 && store.queued('inquiry') > 0; look += 1)
        await resolveInquiries(tools, this.clock.nowMs() + look * MINUTE_MS);
      if (store.queued('return') > 0) await this.returnCharges();
    }
  }

  types(): Promise<readonly string[]> {
    return this.typesOf(this.request);
  }

  /** What must never be; and, once all is quiet, what must be. */
  async violations(quiet = false): Promise<readonly string[]> {
    const { transitions, state } = await this.chain(this.request);
    const { payment } = state;
    const found: string[] = [];
    const [charge, ...more] = this.processor.charges(payment.id);
    const done = this.processor.inside.applied.map(({ kind }) => kind);
    if (charge === undefined || more.length > 0) found.push('I1: not one charge');
    if (done.filter((kind) => kind === 'void').length > 1) found.push('I1: two voids');
    if (done.includes('void') && done.includes('capture')) found.push('I1: captured and let go');
    if (firstBrokenLink(systemDigest, transitions) !== undefined) found.push('I8: the chain is broken');
    const open = [...state.holdChanges.values()].filter(({ status }) => status === 'pending');
    if (payment.status === 'requires_capture' && open.length > 1) found.push('a capture and a void are under way');
    if (payment.status === 'canceled' && charge?.status !== 'voided') found.push('canceled, and held there still');
    if (!quiet) return found;
    const postings = transitions.flatMap((each) => each.postings);
    const captured = charge?.capturedMinor ?? 0;
    if (netDebitMinor('processor_clearing', payment.currency, postings) !== captured) found.push('the books differ');
    const wanted = captured > 0 ? 'succeeded' : 'canceled';
    if (payment.status !== wanted) found.push(`it stays ${payment.status}`);
    if (payment.status === 'canceled' && payment.cancelReason !== 'expired')
      found.push(`canceled: ${payment.cancelReason}`);
    if (this.store.holdsLeft().length > 0) found.push('it never leaves the queue');
    return found;
  }
}
