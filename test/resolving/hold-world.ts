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

export class HoldWorld extends World {
  readonly request = paymentRequest('held', { capture: 'manual' });
  /** Duration of a read of the processor's books, in milliseconds. */
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

  async authorize(source = this.request.source): Promise<void> {
    await this.pay({ ...this.request, source });
  }

  get chargeId(): string {
    const [charge] = this.processor.charges(this.request.paymentId);
    invariant(charge !== undefined, 'the payment has no charge');
    return charge.chargeId;
  }

  expire(actor?: Actor) {
    const job = expireAuthorizationsJob(actor === undefined ? this.tools : this.toolsOf(actor));
    return sweepJob(job, { nowMs: this.clock.nowMs() });
  }

  async expireOrDie(actor: Actor): Promise<void> {
    await this.expire(actor).catch((error: unknown) => {
      if (!(error instanceof Crash) && !actor.crashed) this.reported.push(error);
    });
  }

  ask(command: ChangeCommand) {
    return this.change(change(this.request, `merchant-${command.kind}`, command));
  }

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

  async resolveForAnHour(): Promise<void> {
    const { tools, store } = this;
    for (let half = 0; half < 2; half += 1) {
      this.clock.advance(30 * MINUTE_MS);
      if (store.openClaims() > 0) await this.resolveClaims();
      // Each inquiry is due once within these 15 minutes.
      for (let look = 0; look < 15 && store.queued('inquiry') > 0; look += 1)
        await resolveInquiries(tools, this.clock.nowMs() + look * MINUTE_MS);
      if (store.queued('return') > 0) await this.returnCharges();
    }
  }

  types(): Promise<readonly string[]> {
    return this.typesOf(this.request);
  }

  /** With `quiet`, also lists unfinished work and a wrong result of the hold. */
  async violations(quiet = false): Promise<readonly string[]> {
    const { transitions, state } = await this.chain(this.request);
    const { payment } = state;
    const found: string[] = [];
    const [charge, ...more] = this.processor.charges(payment.id);
    const done = this.processor.inside.applied.map(({ kind }) => kind);
    if (charge === undefined || more.length > 0) found.push('I1: there is not exactly one charge');
    if (done.filter((kind) => kind === 'void').length > 1) found.push('I1: the hold was voided twice');
    if (done.includes('void') && done.includes('capture')) found.push('I1: the hold was captured and voided');
    if (firstBrokenLink(systemDigest, transitions) !== undefined) found.push('I8: the hash chain does not verify');
    const open = [...state.holdChanges.values()].filter(({ status }) => status === 'pending');
    if (payment.status === 'requires_capture' && open.length > 1)
      found.push('a capture and a void are in progress at the same time');
    if (payment.status === 'canceled' && charge?.status !== 'voided')
      found.push('the payment is canceled but its hold is not voided');
    if (!quiet) return found;
    const postings = transitions.flatMap((each) => each.postings);
    const captured = charge?.capturedMinor ?? 0;
    if (netDebitMinor('processor_clearing', payment.currency, postings) !== captured)
      found.push('the ledger differs from the processor');
    const wanted = captured > 0 ? 'succeeded' : 'canceled';
    if (payment.status !== wanted) found.push(`the payment stays ${payment.status}`);
    if (payment.status === 'canceled' && payment.cancelReason !== 'expired')
      found.push(`canceled: ${payment.cancelReason}`);
    if (this.store.holdsLeft().length > 0) found.push('the hold never leaves the queue');
    return found;
  }
}
