import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { AmbiguousError } from '../../lambdas/kernel/faults.ts';
import { ownerToken, type PaymentId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import type { SendRequest } from '../../lambdas/outbound/http-call.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import type { Effect } from '../../lambdas/payments/use/effect-store.ts';
import type { Processor, ProcessorBooks } from '../../lambdas/payments/use/processor.ts';
import { booksBreaker, retryingBooks } from '../../lambdas/processors/retrying-books.ts';
import { createSandboxBooks, createSandboxClient } from '../../lambdas/processors/sandbox/sandbox-client.ts';
import { sweepAll } from '../jobs/sweep-all.ts';
import { paymentRequest } from '../payments/payment-fixtures.ts';
import type { SimulatedClock } from '../support/simulated-clock.ts';
import { createSandboxInProcess } from '../world/sandbox-in-process.ts';
import { World, type WorldTools } from '../world/world.ts';

const MINUTE_MS = 60_000;
/** Duration of a call to the healthy processor, in milliseconds. */
const HEALTHY_MS = 100;
const URL = 'http://silent.example';

/** When all work waits, the clock advances to the end of the next wait. */
class Waits {
  readonly #clock: SimulatedClock;
  readonly #ends: { readonly atMs: number; readonly end: () => void }[] = [];
  /** Number of calls to the stores that have not returned. */
  #calls = 0;
  #isTurning = false;

  constructor(clock: SimulatedClock) {
    this.#clock = clock;
  }

  sleep(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ends.push({ atMs: this.#clock.nowMs() + ms, end: resolve });
    if (!this.#isTurning) setImmediate(() => this.#turn());
    this.#isTurning = true;
    return promise;
  }

  /** No time passes during the calls of the store. */
  without<Port extends object>(port: Port): Port {
    const get = (target: Port, name: string | symbol): unknown => {
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== 'function') return value;
      return async (...input: readonly unknown[]): Promise<unknown> => {
        this.#calls += 1;
        try {
          return await (Reflect.apply(value, target, input) as Promise<unknown>);
        } finally {
          this.#calls -= 1;
        }
      };
    };
    return new Proxy(port, { get });
  }

  #turn(): void {
    if (this.#calls === 0) {
      const first = this.#ends.reduce((soonest, each) => (each.atMs < soonest.atMs ? each : soonest));
      this.#ends.splice(this.#ends.indexOf(first), 1);
      this.#clock.advance(Math.max(0, first.atMs - this.#clock.nowMs()));
      first.end();
    }
    this.#isTurning = this.#ends.length > 0;
    if (this.#isTurning) setImmediate(() => this.#turn());
  }
}

/** @returns the payment or charge id under which `seen` lists the entry's calls */
export type Enqueue = (at: Processor) => Promise<string>;

/** The second processor, `silent`, becomes slow or stops responding after `fallSilent`. */
export class SilentWorld extends World {
  /** The times of all calls to the healthy processor about each payment or charge, in Unix milliseconds. */
  readonly seen = new Map<string, number[]>();
  readonly silent: Processor;
  readonly #waits = new Waits(this.clock);
  readonly #lasting: Clock = { nowMs: () => this.clock.nowMs(), sleep: (ms) => this.#waits.sleep(ms) };
  readonly #silentBooks: ProcessorBooks;
  /** Duration of a call to the processor `silent`, in milliseconds. */
  #otherMs = 0;
  #calls = 0;
  /** Makes the ids of payment requests and orphans unique. */
  #entries = 0;

  constructor() {
    super();
    const { send: answer } = createSandboxInProcess({
      clock: this.clock,
      newId: (prefix, count) => `${prefix}silent${count}`,
    });
    const send: SendRequest = async (call) => {
      if (this.#otherMs > 0) await this.#waits.sleep(Math.min(this.#otherMs, call.timeoutMs));
      if (this.#otherMs < call.timeoutMs)
        return answer({ ...call, url: call.url.replace(URL, 'http://sandbox.example') });
      this.#calls += 1;
      throw new AmbiguousError('processor_timeout', 'The processor did not respond.');
    };
    const access = { name: 'silent', url: URL, clock: this.clock, send };
    this.silent = createSandboxClient(access);
    this.#silentBooks = this.#asInJobs(createSandboxBooks(access));
  }

  /** Number of calls that the silent processor has not answered. */
  get unanswered(): number {
    return this.#calls;
  }

  override get tools(): WorldTools {
    const { processor, silent } = this;
    const { store, effects, work, orders, orphanStore, holds, ...tools } = super.tools;
    const healthy: typeof processor = {
      ...processor,
      findCharge: (order, limit) => this.#observed(order.paymentId, () => processor.findCharge(order, limit)),
      showCharge: (chargeId, limit) => this.#observed(chargeId, () => processor.showCharge(chargeId, limit)),
      readCharge: (chargeId, limit) => this.#observed(chargeId, () => processor.readCharge(chargeId, limit)),
    };
    return {
      ...tools,
      store: this.#waits.without(store),
      effects: this.#waits.without(effects),
      work: this.#waits.without(work),
      orders: this.#waits.without(orders),
      orphanStore: this.#waits.without(orphanStore),
      holds: this.#waits.without(holds),
      clock: this.#lasting,
      processor: healthy,
      processors: [healthy, silent],
      books: [healthy, this.#silentBooks],
    };
  }

  override pay(request: CreatePayment, changes: Partial<WorldTools> = {}): ReturnType<World['pay']> {
    const { processor = this.tools.processor } = changes;
    return super.pay(request, { ...changes, processor, processors: [processor] });
  }

  /** No request gets a response, so the outcome is unknown. */
  async payUnknown(request: CreatePayment, at: Processor): Promise<PaymentId> {
    const noAnswer = () => Promise.reject(new AmbiguousError('processor_timeout', 'no'));
    const charge: Processor['charge'] = async (...call) => {
      await at.charge(...call);
      return noAnswer();
    };
    await this.pay(request, { processor: { ...at, charge, findCharge: noAnswer } });
    return request.paymentId;
  }

  request(changes: Parameters<typeof paymentRequest>[1] = {}): ReturnType<typeof paymentRequest> {
    this.#entries += 1;
    return paymentRequest(`${this.#entries}`, changes);
  }

  async enqueue(name: string, effect: Omit<Effect, 'record' | 'transitions'>): Promise<void> {
    const operationId = callbackOperation(systemDigest, 'memory', name);
    const written = { operationId, owner: ownerToken('owner-a'), recordedAtMs: this.clock.nowMs() };
    await this.store.recordEffect({ record: written, transitions: [], ...effect });
  }

  paid(changes: Parameters<typeof paymentRequest>[1]): Enqueue {
    return async (at) => {
      const { paymentId, ...asked } = this.request(changes);
      await this.pay({ ...asked, paymentId }, { processor: at });
      return (await this.chain({ paymentId })).state.payment.chargeId ?? '';
    };
  }

  readonly unknown: Enqueue = (at) => this.payUnknown(this.request(), at);

  readonly claimed: Enqueue = async (at) => {
    const asked = this.request();
    await this.claimThenDie(asked, false, { ...this.processor, ...at });
    return asked.paymentId;
  };

  readonly owed: Enqueue = async (at) => {
    const { paymentId, ...asked } = this.request();
    await this.pay({ ...asked, paymentId }, { processor: at });
    const chargeId = (await this.chain({ paymentId })).state.payment.chargeId ?? '';
    await this.enqueue(chargeId, { toReturn: [{ paymentId, chargeId, by: 'void', foundAtMs: this.clock.nowMs() }] });
    return chargeId;
  };

  readonly orphaned: Enqueue = async ({ name }) => {
    this.#entries += 1;
    const chargeId = `ch_orphan${this.#entries}`;
    const operationId = callbackOperation(systemDigest, 'memory', chargeId);
    const event = { processorName: name, mode: 'test', eventId: chargeId, type: 'any', chargeId } as const;
    const receivedAtMs = this.clock.nowMs();
    await this.enqueue(chargeId, { orphan: { operationId, event, reason: 'charge_unknown', receivedAtMs } });
    return chargeId;
  };

  /**
   * From then on, a call to the processor `silent` takes `callMs` milliseconds.
   * @default no call gets a response
   * @returns the ids of the entries of the healthy processor
   */
  async begin(
    enqueue: Enqueue,
    [silent, healthy]: readonly [silent: number, healthy: number],
    afterMs: number,
    callMs?: number,
  ): Promise<readonly string[]> {
    for (let each = 0; each < silent; each += 1) await enqueue(this.silent);
    const names: string[] = [];
    for (let each = 0; each < healthy; each += 1) names.push(await enqueue(this.processor));
    this.clock.advance(afterMs);
    this.fallSilent(callMs);
    return names;
  }

  sweep(): Promise<unknown> {
    const { stock, referrals, mailer, ...tools } = this.tools;
    return sweepAll({ ...tools, parties: { stock, referrals, mailer }, onResolved: () => undefined });
  }

  /** From now on, each call to the processor `silent` takes `ms` milliseconds. @default no call gets a response */
  fallSilent(ms: number = Number.POSITIVE_INFINITY): void {
    this.#otherMs = ms;
  }

  readonly silentStock: WorldTools['stock'] = {
    ...this.stock,
    reserve: async (_order, { timeoutMs }) => {
      await this.#waits.sleep(timeoutMs);
      throw new AmbiguousError('stock_timeout', 'The stock did not respond.');
    },
  };

  /** A run starts late if the previous run is still busy. */
  async everyMinute(minutes: number, work: (startedAtMs: number, minute: number) => Promise<unknown>): Promise<void> {
    const beganAtMs = this.clock.nowMs();
    for (let minute = 1; minute <= minutes; minute += 1) {
      this.clock.advance(Math.max(0, beganAtMs + minute * MINUTE_MS - this.clock.nowMs()));
      await work(this.clock.nowMs(), minute);
    }
  }

  #asInJobs(books: ProcessorBooks): ProcessorBooks {
    return retryingBooks(books, { clock: this.#lasting, entropy: this.entropy }, booksBreaker(this.#lasting));
  }

  async #observed<Answer>(name: string, call: () => Promise<Answer>): Promise<Answer> {
    this.seen.set(name, [...(this.seen.get(name) ?? []), this.clock.nowMs()]);
    await this.#waits.sleep(HEALTHY_MS);
    return call();
  }
}
