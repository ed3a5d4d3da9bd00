import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';

/** Every call that leaves a process is a point, counted over all actors of a history. */
export type FaultKind = 'crash_before' | 'crash_after' | 'throttle' | 'ambiguous_applied' | 'ambiguous_lost';

export const FAULT_KINDS: readonly FaultKind[] = [
  'crash_before',
  'crash_after',
  'throttle',
  'ambiguous_applied',
  'ambiguous_lost',
];

export interface PlannedFault {
  /** The first call of the history has the number 1. */
  readonly point: number;
  readonly kind: FaultKind;
}

/** Thrown by a call of a process that has crashed. Later calls of the process have no effect. */
export class Crash extends Error {
  override readonly name = 'Crash';
}

/** `throttle`: the call was not applied. `ambiguous`: its outcome is unknown. */
export interface FaultErrors {
  readonly throttle: () => Error;
  readonly ambiguous: () => Error;
}

export class FaultPlan {
  readonly #faults: ReadonlyMap<number, FaultKind>;
  readonly calls: string[] = [];
  #held: { readonly point: number; readonly act: () => Promise<unknown> } | undefined;
  /** False after `calm`. */
  active = true;

  constructor(faults: readonly PlannedFault[] = []) {
    this.#faults = new Map(faults.map(({ point, kind }) => [point, kind]));
  }

  /** Pauses the caller once, immediately before the call with this number, while `act` runs. */
  holdAt(point: number | undefined, act: () => Promise<unknown>): void {
    this.#held = point === undefined ? undefined : { point, act };
  }

  takeHold(point: number): (() => Promise<unknown>) | undefined {
    if (this.#held?.point !== point) return undefined;
    const { act } = this.#held;
    this.#held = undefined;
    return act;
  }

  /** @returns the calls so far, which the enumeration uses as fault points */
  calm(): readonly string[] {
    this.active = false;
    return [...this.calls];
  }

  faultAt(point: number): FaultKind | undefined {
    return this.active ? this.#faults.get(point) : undefined;
  }
}

export type Ended<Result> = { readonly result: Result } | { readonly error: Error };

/** Its calls go through the plan, and have no effect after a crash. */
export class Actor {
  readonly #name: string;
  readonly #plan: FaultPlan;
  crashed = false;

  constructor(name: string, plan: FaultPlan) {
    this.#name = name;
    this.#plan = plan;
  }

  /** @throws any error other than a fault or a crash, because it is a bug */
  async run<Result>(work: () => Promise<Result>): Promise<Ended<Result>> {
    try {
      return { result: await work() };
    } catch (error) {
      const isFault = error instanceof RetryableError || error instanceof AmbiguousError;
      if (error instanceof Error && (isFault || error instanceof Crash || this.crashed)) return { error };
      throw error;
    }
  }

  async call<Result>(label: string, errors: FaultErrors, apply: () => Promise<Result>): Promise<Result> {
    this.#mustLive();
    this.#plan.calls.push(`${this.#name}.${label}`);
    const point = this.#plan.calls.length;
    await this.#plan.takeHold(point)?.();
    const fault = this.#plan.faultAt(point);
    if (fault === undefined) return apply();
    return this.#fail(fault, errors, apply);
  }

  async #fail<Result>(fault: FaultKind, errors: FaultErrors, apply: () => Promise<Result>): Promise<Result> {
    switch (fault) {
      case 'crash_before':
        return this.#crash();
      case 'crash_after':
        await settled(apply);
        return this.#crash();
      case 'throttle':
        throw errors.throttle();
      case 'ambiguous_applied':
        await settled(apply);
        throw errors.ambiguous();
      case 'ambiguous_lost':
        throw errors.ambiguous();
    }
  }

  #crash(): never {
    this.crashed = true;
    throw new Crash(this.#name);
  }

  #mustLive(): void {
    if (this.crashed) throw new Crash(this.#name);
  }
}

async function settled(apply: () => Promise<unknown>): Promise<void> {
  await apply().catch(() => undefined);
}
