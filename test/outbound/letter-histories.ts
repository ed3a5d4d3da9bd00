import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { createOutboundPolicy } from '../../lambdas/outbound/outbound-policy.ts';
import { type SendOutcome, sendOnce } from '../../lambdas/outbound/send-once.ts';
import type { SendingClaims } from '../../lambdas/outbound/use/sending-claims.ts';
import { Actor, Crash, FAULT_KINDS, FaultPlan, type FaultVoice, type PlannedFault } from '../support/fault-plan.ts';
import type { SimulatedClock } from '../support/simulated-clock.ts';

/** Milliseconds for which a sent letter is missing in the vendor's search, and the assumed maximum. */
const LAG_MS = 20_000;
const MAX_LAG_MS = 30_000;
const PATIENCE_MS = 20_000;
/** Milliseconds until a claim may be taken over: the deadline and the clock margin. */
const LEASE_MS = 25_000;
/** Deliveries a minute apart. Enough for each lost send to be followed by deliveries after the clock skew of ten minutes. */
const MAX_DELIVERIES = 40;

const VOICE: FaultVoice = {
  throttle: () => new RetryableError('injected_throttle', 'nothing was applied', { retryAfterSeconds: 1 }),
  ambiguous: () => new AmbiguousError('injected_ambiguity', 'it may have been applied'),
};

export interface LetterWorld {
  readonly clock: SimulatedClock;
  readonly key: string;
  /** The claims as one process sees them. */
  readonly claimsFor: (actor: Actor) => SendingClaims;
}

/** The code that sends: `sendOnce`, or a mutant. */
export type Sender = (world: LetterWorld, vendor: ForgetfulVendor, actor: Actor) => Promise<SendOutcome>;

/** A vendor that applies every request, and shows it in its search after the lag. */
class ForgetfulVendor {
  readonly sent: number[] = [];
  readonly #clock: SimulatedClock;

  constructor(clock: SimulatedClock) {
    this.#clock = clock;
  }

  send(actor: Actor): Promise<{ readonly kind: 'sent'; readonly vendorId: string }> {
    return actor.call('vendor.send', VOICE, async () => {
      this.sent.push(this.#clock.nowMs());
      return { kind: 'sent', vendorId: `message-${this.sent.length}` };
    });
  }

  find(actor: Actor) {
    return actor.call('vendor.find', VOICE, async () => {
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
    deadLetters: { put: async () => Promise.reject(new Error('no call is dead-lettered here')) },
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

/** The naive version: looks up whether the letter was sent, then sends it. */
export const lookThenSend: Sender = async ({ clock }, vendor, actor) => {
  const policy = policyOf(clock);
  const deadlineMs = clock.nowMs() + PATIENCE_MS;
  const found = await policy.read({ operation: 'look', deadlineMs, send: () => vendor.find(actor) });
  if (found.kind === 'found') return found.answer;
  return policy.call({ operation: 'send', deadlineMs, idempotent: 'by_key', send: () => vendor.send(actor) });
};

interface Rival {
  readonly point: number;
  /** Milliseconds for which the first process is paused meanwhile. */
  readonly heldMs: number;
}

/** Delivers one letter repeatedly, to a new process after each death, until one reports it as sent. */
async function play(world: LetterWorld, sender: Sender, faults: readonly PlannedFault[], rival?: Rival) {
  const plan = new FaultPlan(faults);
  const vendor = new ForgetfulVendor(world.clock);
  const deliver = async (name: string): Promise<SendOutcome | undefined> => {
    try {
      return await sender(world, vendor, new Actor(name, plan));
    } catch (error) {
      if (!(error instanceof Crash || error instanceof RetryableError || error instanceof AmbiguousError)) throw error;
      return undefined;
    }
  };
  if (rival !== undefined) {
    const act = async () => {
      world.clock.advance(rival.heldMs);
      await deliver('rival');
    };
    plan.interruption = { point: rival.point, act };
  }
  let outcome: SendOutcome | undefined;
  for (let delivery = 1; delivery <= MAX_DELIVERIES && outcome === undefined; delivery += 1) {
    outcome = await deliver(`process-${delivery}`);
    world.clock.advance(60_000);
  }
  return { outcome, sent: vendor.sent.length, calls: plan.calls };
}

export interface LetterSurvey {
  readonly histories: number;
  /** The violations, each with the faults that caused it. */
  readonly findings: readonly string[];
}

/** One letter with every single fault, and optionally every pair; each alone, and with a rival at every call. */
export async function surveyLetters(
  makeWorld: () => LetterWorld,
  sender: Sender,
  { faults, rivals }: { readonly faults: 0 | 1 | 2; readonly rivals: boolean },
): Promise<LetterSurvey> {
  const findings: string[] = [];
  let histories = 0;
  const run = async (planned: readonly PlannedFault[], rival?: Rival): Promise<number> => {
    histories += 1;
    const { outcome, sent, calls } = await play(makeWorld(), sender, planned, rival);
    if (sent !== 1 || outcome?.kind !== 'sent' || outcome.vendorId !== 'message-1') {
      findings.push(JSON.stringify({ sent, outcome, planned, rival }));
    }
    return calls.length;
  };
  const withRivals = async (planned: readonly PlannedFault[]): Promise<number> => {
    const points = await run(planned);
    if (rivals) {
      for (let point = 1; point <= points; point += 1) {
        for (const heldMs of [0, LEASE_MS]) await run(planned, { point, heldMs });
      }
    }
    return points;
  };
  const strike = async (planned: readonly PlannedFault[], from: number, left: number): Promise<void> => {
    const points = await withRivals(planned);
    if (left === 0) return;
    for (let point = from; point <= points; point += 1) {
      for (const kind of FAULT_KINDS) await strike([...planned, { point, kind }], point + 1, left - 1);
    }
  };
  await strike([], 1, faults);
  return { histories, findings };
}

/** The claims as one process sees them, with faults per method. */
export function claimsOf(actor: Actor, claims: SendingClaims): SendingClaims {
  return {
    begin: (key, leaseMs) => actor.call('begin', VOICE, () => claims.begin(key, leaseMs)),
    sendAgain: (claim) => actor.call('sendAgain', VOICE, () => claims.sendAgain(claim)),
    sent: (key, vendorId) => actor.call('sent', VOICE, () => claims.sent(key, vendorId)),
    release: (claim, what) => actor.call('release', VOICE, () => claims.release(claim, what)),
  };
}
