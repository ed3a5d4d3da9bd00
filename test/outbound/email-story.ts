import { createOutboundPolicy } from '../../lambdas/outbound/outbound-policy.ts';
import { type SendOutcome, sendOnce } from '../../lambdas/outbound/send-once.ts';
import type { SendingClaims } from '../../lambdas/outbound/use/sending-claims.ts';
import { beforeEachCall, type Story } from '../support/fault-histories.ts';
import { Actor, FaultPlan } from '../support/fault-plan.ts';
import { PORT_ERRORS, portWithFaults } from '../support/faulty-ports.ts';
import type { SimulatedClock } from '../support/simulated-clock.ts';

/** Lag of the vendor's search, and assumed maximum of that lag, in milliseconds. */
const LAG_MS = 20_000;
const MAX_LAG_MS = 30_000;
const PATIENCE_MS = 20_000;
/** Lease of a claim, in milliseconds: the deadline plus the clock margin. */
const LEASE_MS = 25_000;
/**
 * Maximum number of deliveries, one per minute: enough for a redelivery after each lost send, plus ten minutes of clock
 * skew.
 */
const MAX_DELIVERIES = 40;

const MAX_CALLS = 7;

export interface EmailWorld {
  readonly clock: SimulatedClock;
  readonly key: string;
  readonly claimsFor: (actor: Actor) => SendingClaims;
}

/** `sendOnce` or a mutant. */
export type Sender = (world: EmailWorld, vendor: ForgetfulVendor, actor: Actor) => Promise<SendOutcome>;

/** Applies every request, but lists the e-mail in its search only after the lag. */
class ForgetfulVendor {
  readonly sent: number[] = [];
  readonly #clock: SimulatedClock;

  constructor(clock: SimulatedClock) {
    this.#clock = clock;
  }

  send(actor: Actor): Promise<{ readonly kind: 'sent'; readonly vendorId: string }> {
    return actor.call('vendor.send', PORT_ERRORS, async () => {
      this.sent.push(this.#clock.nowMs());
      return { kind: 'sent', vendorId: `message-${this.sent.length}` };
    });
  }

  find(actor: Actor) {
    return actor.call('vendor.find', PORT_ERRORS, async () => {
      const first = this.sent.findIndex((atMs) => atMs + LAG_MS <= this.#clock.nowMs());
      if (first === -1) return { kind: 'absent' as const };
      return { kind: 'found' as const, answer: { kind: 'sent' as const, vendorId: `message-${first + 1}` } };
    });
  }
}

export function policyOf(clock: SimulatedClock) {
  return createOutboundPolicy({
    vendor: 'postmark',
    clock,
    entropy: { fraction: () => 1 },
    observer: { count: () => {} },
    deadLetters: { put: async () => Promise.reject(new Error('a call was dead-lettered')) },
    timeoutMs: 5_000,
    probe: async () => {},
  });
}

export const claimThenSend: Sender = ({ clock, key, claimsFor }, vendor, actor) =>
  sendOnce(
    { policy: policyOf(clock), claims: claimsFor(actor), clock },
    {
      key,
      operation: 'email.send',
      deadlineMs: clock.nowMs() + PATIENCE_MS,
      send: () => vendor.send(actor),
      lookUp: { find: () => vendor.find(actor), maxLagMs: MAX_LAG_MS },
      withinCall: 'by_lookup',
      payload: {},
    },
  );

/** A mutant without a claim. */
export const lookUpThenSend: Sender = async ({ clock }, vendor, actor) => {
  const policy = policyOf(clock);
  const deadlineMs = clock.nowMs() + PATIENCE_MS;
  const found = await policy.read({ operation: 'look', deadlineMs, send: () => vendor.find(actor) });
  if (found.kind === 'found') return found.answer;
  return policy.call({ operation: 'send', deadlineMs, idempotent: 'by_key', send: () => vendor.send(actor) });
};

/** If `rivalAt` is given, a rival delivers the e-mail before the call with this number, while the caller is paused. */
interface Race {
  readonly rivalAt?: number;
  readonly heldMs?: number;
}

/** The first `MAX_CALLS` calls are those of a delivery with one fault and of its redelivery. */
export const RACES: readonly Race[] = [{}, ...beforeEachCall(MAX_CALLS, [{ heldMs: 0 }, { heldMs: LEASE_MS }])];

/** Each delivery goes to a new process. */
export function emailStory(makeWorld: () => EmailWorld, sender: Sender): Story<Race> {
  return async (faults, { rivalAt, heldMs = 0 }) => {
    const world = makeWorld();
    const plan = new FaultPlan(faults);
    const vendor = new ForgetfulVendor(world.clock);
    const deliver = async (name: string): Promise<SendOutcome | undefined> => {
      const actor = new Actor(name, plan);
      const ended = await actor.run(() => sender(world, vendor, actor));
      return 'result' in ended ? ended.result : undefined;
    };
    plan.holdAt(rivalAt, () => {
      world.clock.advance(heldMs);
      return deliver('rival');
    });
    let outcome: SendOutcome | undefined;
    for (let delivery = 1; delivery <= MAX_DELIVERIES && outcome === undefined; delivery += 1) {
      outcome = await deliver(`process-${delivery}`);
      world.clock.advance(60_000);
    }
    const { calls } = plan;
    const isRight = vendor.sent.length === 1 && outcome?.kind === 'sent' && outcome.vendorId === 'message-1';
    return { calls, violations: isRight ? [] : [`sent ${vendor.sent.length} times: ${JSON.stringify(outcome)}`] };
  };
}

export function claimsOf(actor: Actor, claims: SendingClaims): SendingClaims {
  return portWithFaults(actor, claims, 'begin', 'sendAgain', 'sent', 'release');
}
