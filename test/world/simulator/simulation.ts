import { AsyncLocalStorage } from 'node:async_hooks';
import { invariant } from '../../../lambdas/kernel/invariant.ts';
import type { Clock } from '../../../lambdas/kernel/world.ts';
import type { Fault, FaultKind, FaultRates } from './contract.ts';
import { fractionOf } from './random.ts';

/** Maximum number of event-loop turns that processes may run without waiting or ending. */
const MAX_TURNS = 500_000;
/**
 * Shares of a service's calls during an outage: `spared` calls succeed, `applied` calls take effect although they fail,
 * and all other calls fail without effect.
 */
export interface Outage {
  readonly spared: number;
  readonly applied: number;
}

/**
 * Outage in which nearly all calls fail. In {@link ANSWERS_LOST}, all calls take effect, but some responses are lost.
 */
export const BROKEN = { spared: 0.03, applied: 0.07 } as const satisfies Outage;
export const ANSWERS_LOST = { spared: 0.6, applied: 0.4 } as const satisfies Outage;
/** Every call fails without effect. */
export const GONE = { spared: 0, applied: 0 } as const satisfies Outage;
/** Thrown if a fault is injected into a call that must never fail. */
export const noFault = (): Error =>
  new Error('a fault was injected into a call of an operator, although faults are off');

export interface ServiceBehavior {
  readonly throttle: () => Error;
  /** @default the call has no conflicts */
  readonly conflict?: () => Error;
  readonly ambiguous: () => Error;
  /**
   * Returns the error of a call during an outage of the service. The call may have taken effect.
   *
   * @default `ambiguous`
   */
  readonly broken?: () => Error;
  /** In milliseconds. */
  readonly lasts: readonly [number, number];
  readonly timeoutMs: number;
}

interface Happening {
  readonly atMs: number;
  /** Depends on names, not on the order in which the events were planned. */
  readonly order: number;
  /** @returns false when the event is obsolete */
  readonly what: () => unknown;
}

/**
 * Discrete-event simulation: one clock, one queue of events, and processes. Between two events every process waits: for
 * a call (at a gate), for time to pass, or for another process. The result depends neither on real time nor on the
 * order in which promises settle.
 */
export class Simulation {
  readonly seed: number;
  nowMs: number;
  rates: FaultRates = {};
  readonly faults: Fault[] = [];
  /** Number of calls to external systems so far. A gate is the point at which a process makes such a call. */
  gates = 0;
  /** Returns the outage of a service, by the first word of a call's label; undefined for a healthy service. */
  outageOf: (service: string) => Outage | undefined = () => undefined;
  readonly #muted: ReadonlySet<string>;
  readonly #heap: Happening[] = [];
  readonly #current = new AsyncLocalStorage<Process>();
  readonly #counts = new Map<string, number>();
  readonly #active = new Set<Process>();
  readonly #executions = new Set<Process>();
  severed = 0;
  /** Number of calls that are currently taking effect. */
  #busy = 0;
  /** Settles when all calls of {@link outside} so far have ended; undefined when no such call is in progress. */
  #outside: Promise<unknown> | undefined;
  #digest = 0;
  #failure: { readonly error: unknown } | undefined;

  constructor(seed: number, startMs: number, muted: readonly string[] = []) {
    this.seed = seed;
    this.nowMs = startMs;
    this.#muted = new Set(muted);
  }

  /** Digest of all events. Two runs with the same digest made the same calls in the same order at the same times. */
  get digest(): string {
    return (this.#digest >>> 0).toString(16).padStart(8, '0');
  }

  /** The process whose code is running. */
  get process(): Process {
    const process = this.#current.getStore();
    invariant(process !== undefined, 'code of the simulated system runs outside of a process');
    return process;
  }

  decide(label: string): number {
    return fractionOf(this.seed, label);
  }

  /** @param order decides between events of the same time; must not depend on other processes */
  plan(atMs: number, order: number, what: () => unknown): void {
    const heap = this.#heap;
    let index = heap.length;
    const happening = { atMs: Math.max(this.nowMs, Math.round(atMs)), order, what };
    heap.push(happening);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (above === undefined) break;
      if (!isBefore(happening, above)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = happening;
  }

  within<Result>(process: Process, what: () => Result): Result {
    return this.#current.run(process, what);
  }

  /** While the external system sleeps during a call, simulated time passes, and the caller may time out. */
  readonly calledClock: Clock = {
    nowMs: () => this.nowMs,
    sleep: (ms) => {
      const { process } = this;
      const order = process.order();
      this.busy(-1);
      return new Promise((resolve) => {
        this.plan(this.nowMs + Math.max(0, ms), order, () => {
          this.busy(1);
          resolve();
        });
      });
    },
  };

  /**
   * @param name unique name, which stays the same when other steps are removed
   *
   * @returns how the process ended
   */
  spawn<Result>(
    name: string,
    of: string,
    body: (process: Process) => Promise<Result> | Result,
    options: { readonly skewMs?: number; readonly canFail?: boolean; readonly isFunction?: boolean } = {},
  ): Promise<Ended<Result>> {
    const process = new Process(this, name, of, options);
    const ended = Promise.withResolvers<Ended<Result>>();
    process.onKilled = () => ended.resolve({ kind: 'killed' });
    this.#active.add(process);
    if (options.isFunction === true) this.#executions.add(process);
    const end = (result: Ended<Result>): void => {
      if (process.isOver) return;
      this.over(process);
      ended.resolve(result);
    };
    this.#current.run(process, () => {
      try {
        const started = body(process);
        if (started instanceof Promise) {
          started.then(
            (value) => end({ kind: 'returned', value }),
            (error: unknown) => end({ kind: 'threw', error }),
          );
        } else end({ kind: 'returned', value: started });
      } catch (error) {
        end({ kind: 'threw', error });
      }
    });
    return ended.promise;
  }

  /** Unique within this history. */
  named(name: string): string {
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    return count === 1 ? name : `${name}~${count}`;
  }

  /** The error is in the simulator or in an act. */
  fail(error: unknown): void {
    this.#failure ??= { error };
  }

  run(untilMs: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let turns = 0;
    const turn = (): void => {
      if (this.#failure !== undefined) return reject(this.#failure.error);
      if (this.#busy > 0 || this.#active.size > 0) {
        if (this.#outside !== undefined) return void this.#outside.then(() => setImmediate(turn));
        turns += 1;
        if (turns < MAX_TURNS) return void setImmediate(turn);
        const names = [...this.#active].map(({ name, of }) => `${of} ${name}`).join(', ');
        return reject(new Error(`processes neither wait nor end: ${names}; calls in progress: ${this.#busy}`));
      }
      turns = 0;
      try {
        if (this.#next(untilMs)) return afterPromises(turn);
      } catch (error) {
        return reject(error);
      }
      this.nowMs = Math.max(this.nowMs, untilMs);
      resolve();
    };
    setImmediate(turn);
    return promise;
  }

  get nextMs(): number | undefined {
    return this.#heap[0]?.atMs;
  }

  active(process: Process): void {
    this.#active.add(process);
  }

  waiting(process: Process): void {
    this.#active.delete(process);
  }

  /** Calls in transit to the databases have no effect. */
  severFunctions(): void {
    this.severed += 1;
    for (const process of this.#executions) process.kill();
  }

  over(process: Process): void {
    process.isOver = true;
    this.#executions.delete(process);
    this.#active.delete(process);
  }

  busy(by: 1 | -1): void {
    this.#busy += by;
  }

  /**
   * Waits for a call to a real system, for example a database. The call takes no simulated time, but may take any real
   * time.
   *
   * @throws the error of the call
   */
  outside<Result>(call: Promise<Result>): Promise<Result> {
    const over = Promise.allSettled([this.#outside, call]).finally(() => {
      if (this.#outside === over) this.#outside = undefined;
    });
    this.#outside = over;
    return call;
  }

  /** @returns undefined if the call has no fault */
  faultAt(process: Process, gate: number, behavior: ServiceBehavior): FaultKind | undefined {
    let drawn = fractionOf32(mix(process.id, gate, 1));
    for (const kind of KINDS) {
      const rate = this.rates[kind] ?? 0;
      drawn -= rate;
      if (drawn >= 0) continue;
      if (kind === 'conflict' && behavior.conflict === undefined) return undefined;
      return this.#muted.has(faultName(process, gate)) ? undefined : kind;
    }
    return undefined;
  }

  /** @returns undefined if the call succeeds */
  faultDuring(process: Process, gate: number, { spared, applied }: Outage): FaultKind | undefined {
    const drawn = fractionOf32(mix(process.id, gate, 8));
    if (drawn < spared || this.#muted.has(faultName(process, gate))) return undefined;
    return drawn < spared + applied ? 'ambiguous_applied' : 'ambiguous_lost';
  }

  /** Not called if the process had already ended. */
  struck(process: Process, gate: number, label: string, kind: FaultKind): void {
    this.faults.push({ name: faultName(process, gate), kind, label, of: process.of, atMs: this.nowMs });
  }

  /**
   * Decides whether a fault of the simulated AWS account happens, for example a duplicate delivery. Records the fault
   * if it happens.
   */
  strikes(kind: FaultKind, name: string, label: string): boolean {
    if (this.decide(name) >= (this.rates[kind] ?? 0) || this.#muted.has(name)) return false;
    this.faults.push({ name, kind, label, of: 'account', atMs: this.nowMs });
    return true;
  }

  /** @returns false if no event is left up to this time */
  #next(untilMs: number): boolean {
    for (;;) {
      const next = this.#heap[0];
      if (next === undefined || next.atMs > untilMs) return false;
      this.#pop();
      this.nowMs = next.atMs;
      if (next.what() === false) continue;
      this.#digest = mix(this.#digest, next.order, next.atMs);
      return true;
    }
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Happening, heap[child] as Happening)) child += 1;
      if (!isBefore(heap[child] as Happening, last)) break;
      heap[index] = heap[child] as Happening;
      index = child;
    }
    heap[index] = last;
  }
}

export type Ended<Result> =
  | { readonly kind: 'returned'; readonly value: Result }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'killed' };

const KINDS: readonly FaultKind[] = [
  'crash_before',
  'crash_after',
  'throttle',
  'conflict',
  'ambiguous_applied',
  'ambiguous_lost',
  'slow',
];

/** Invocation of a function, step of an actor, or action of another system. */
export class Process {
  readonly name: string;
  readonly of: string;
  readonly id: number;
  readonly clock: Clock;
  isOver = false;
  onKilled: () => void = () => {};
  readonly #simulation: Simulation;
  readonly #canFail: boolean;
  readonly #isFunction: boolean;
  #gates = 0;
  #pending = 0;
  #drawn = 0;

  constructor(
    simulation: Simulation,
    name: string,
    of: string,
    {
      skewMs = 0,
      canFail = false,
      isFunction = false,
    }: { readonly skewMs?: number; readonly canFail?: boolean; readonly isFunction?: boolean },
  ) {
    this.#simulation = simulation;
    this.name = name;
    this.of = of;
    this.id = Math.floor(fractionOf(simulation.seed, name) * 2 ** 32);
    this.#canFail = canFail;
    this.#isFunction = isFunction;
    this.clock = { nowMs: () => simulation.nowMs + skewMs, sleep: (ms) => this.sleep(ms) };
  }

  /** In an ended process, the wait or call stays pending forever. */
  get isWaiting(): boolean {
    return this.#pending > 0;
  }

  /** From 0 up to, but not including, 1. */
  fraction(): number {
    this.#drawn += 1;
    return fractionOf32(mix(this.id, this.#drawn, 2));
  }

  token(): string {
    this.#drawn += 1;
    return `${this.id.toString(36)}-${this.#drawn}`;
  }

  /** Returns the `order` argument of {@link Simulation.plan} for an event that the process plans. */
  order(): number {
    this.#drawn += 1;
    return mix(this.id, this.#drawn, 3);
  }

  /** Pending calls may still take effect, but their results are lost. */
  kill(): void {
    if (this.isOver) return;
    this.#simulation.over(this);
    this.onKilled();
  }

  sleep(ms: number): Promise<void> {
    const order = this.order();
    return this.#wait((resume) =>
      this.#simulation.plan(this.#simulation.nowMs + Math.max(0, ms), order, () => resume()),
    );
  }

  until<Result>(promise: Promise<Result>): Promise<Result> {
    return this.#wait((resume, fail) => void promise.then(resume, fail));
  }

  /**
   * The process waits for the duration of the call. The call then takes effect in one step, or one of its faults
   * happens.
   */
  call<Result>(label: string, behavior: ServiceBehavior, apply: () => Promise<Result>): Promise<Result> {
    const simulation = this.#simulation;
    this.#gates += 1;
    const gate = this.#gates;
    simulation.gates += 1;
    const [least, most] = behavior.lasts;
    const jitter = fractionOf32(mix(this.id, gate, 4));
    const lastsMs = least + jitter * jitter * (most - least);
    const outage = this.#isFunction ? simulation.outageOf(label.slice(0, label.indexOf(' '))) : undefined;
    const inDoubt = outage === undefined ? behavior.ambiguous : (behavior.broken ?? behavior.ambiguous);
    const drawn = this.#canFail ? simulation.faultAt(this, gate, behavior) : undefined;
    const fault = outage === undefined ? drawn : simulation.faultDuring(this, gate, outage);
    const order = mix(this.id, gate, 5);
    const { severed } = simulation;
    const isLost = (): boolean =>
      this.#isFunction && severed < simulation.severed && /^(?:dynamodb|postgres) /.test(label);
    return this.#wait((resume, fail) => {
      const applied = (then: (result: Result) => void, orElse: (error: unknown) => void = fail): void => {
        if (isLost()) return;
        simulation.busy(1);
        void simulation
          .within(this, apply)
          .finally(() => simulation.busy(-1))
          .then(then, orElse);
      };
      const strike = (): void => {
        if (this.isOver && fault !== 'slow') return;
        if (fault !== undefined && fault !== 'slow') simulation.struck(this, gate, label, fault);
        switch (fault) {
          case undefined:
          case 'slow':
            return applied(resume);
          case 'crash_before':
            return this.kill();
          case 'crash_after':
            return applied(
              () => this.kill(),
              () => this.kill(),
            );
          case 'throttle':
            return fail(behavior.throttle());
          case 'conflict':
            return fail((behavior.conflict ?? behavior.throttle)());
          case 'ambiguous_applied':
            return applied(
              () => fail(inDoubt()),
              () => fail(inDoubt()),
            );
          case 'ambiguous_lost':
            return fail(inDoubt());
        }
      };
      if (fault !== 'slow') return simulation.plan(simulation.nowMs + lastsMs, order, strike);
      if (!this.isOver) simulation.struck(this, gate, label, fault);
      this.#slowly({ behavior, order, gate, strike, fail, applied, resume });
    });
  }

  /** Delays the request or its response. The caller may time out, but the request still takes effect. */
  #slowly<Result>(slow: {
    readonly behavior: ServiceBehavior;
    readonly order: number;
    readonly gate: number;
    readonly strike: () => void;
    readonly fail: (error: unknown) => void;
    readonly applied: (then: (result: Result) => void, orElse: (error: unknown) => void) => void;
    readonly resume: (result: Result) => void;
  }): void {
    const { behavior, order, gate, strike, fail, applied, resume } = slow;
    const simulation = this.#simulation;
    const { nowMs } = simulation;
    const extraMs = 50 * 1_000 ** fractionOf32(mix(this.id, gate, 6));
    const isRequest = fractionOf32(mix(this.id, gate, 7)) < 0.5;
    if (extraMs > behavior.timeoutMs) {
      simulation.plan(nowMs + behavior.timeoutMs, mix(order, 1, 0), () => fail(behavior.ambiguous()));
    }
    if (isRequest) return simulation.plan(nowMs + extraMs, order, strike);
    simulation.plan(nowMs, order, () => {
      const later = (what: () => void): void => simulation.plan(nowMs + extraMs, mix(order, 2, 0), what);
      applied(
        (result) => later(() => resume(result)),
        (error) => later(() => fail(error)),
      );
    });
  }

  /** A wait of an ended process never ends. */
  #wait<Result>(begin: (resume: (result: Result) => void, fail: (error: unknown) => void) => void): Promise<Result> {
    this.#pending += 1;
    this.#simulation.waiting(this);
    return new Promise<Result>((resolve, reject) => {
      let isSettled = false;
      const settle = (settled: () => void): void => {
        if (this.isOver || isSettled) return;
        isSettled = true;
        this.#pending -= 1;
        if (this.#pending === 0) this.#simulation.active(this);
        settled();
      };
      begin(
        (result) => settle(() => resolve(result)),
        (error) => settle(() => reject(error)),
      );
    });
  }
}

function faultName({ name }: Process, gate: number): string {
  return `${name}.${gate}`;
}

function isBefore(one: Happening, other: Happening): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}

/**
 * Calls `then` after all promises that can settle without I/O have settled. This is cheaper than an event-loop turn.
 */
function afterPromises(then: () => void): void {
  // A tick requested in a microtask runs only after all microtasks.
  queueMicrotask(() => process.nextTick(then));
}

function mix(a: number, b: number, c: number): number {
  let hash = Math.imul(a ^ 0x9e3779b9, 0x85ebca6b);
  hash = Math.imul((hash ^ (hash >>> 13) ^ b) + 0x7f4a7c15, 0xc2b2ae35);
  hash = Math.imul((hash ^ (hash >>> 16) ^ c) + 0x165667b1, 0x27d4eb2f);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}

function fractionOf32(hash: number): number {
  return hash / 2 ** 32;
}
