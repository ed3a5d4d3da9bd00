/** Faults at numbered points: every call that leaves the process is one, counted over all actors of a history. */
export type FaultKind = 'crash_before' | 'crash_after' | 'throttle' | 'ambiguous_applied' | 'ambiguous_lost';

export const FAULT_KINDS: readonly FaultKind[] = [
  'crash_before',
  'crash_after',
  'throttle',
  'ambiguous_applied',
  'ambiguous_lost',
];

export interface PlannedFault {
  /** 1 for the first call of the history. */
  readonly point: number;
  readonly kind: FaultKind;
}

/** The process has crashed: its later calls have no effect. */
export class Crash extends Error {
  override readonly name = 'Crash';
}

/** The errors of a dependency: the call was not applied, or its outcome is unknown. */
export interface FaultVoice {
  readonly throttle: () => Error;
  readonly ambiguous: () => Error;
}

export class FaultPlan {
  readonly #faults: ReadonlyMap<number, FaultKind>;
  readonly calls: string[] = [];
  /** Runs once, right before the call with this number: a rival acts while the caller is held. */
  interruption: { readonly point: number; readonly act: () => Promise<void> } | undefined;
  /** Off once faults have stopped. */
  active = true;

  constructor(faults: readonly PlannedFault[] = []) {
    this.#faults = new Map(faults.map(({ point, kind }) => [point, kind]));
  }

  faultAt(point: number): FaultKind | undefined {
    return this.active ? this.#faults.get(point) : undefined;
  }
}

/** One process: its calls go through the plan, and once it has crashed nothing of it gets out any more. */
export class Actor {
  readonly #name: string;
  readonly #plan: FaultPlan;
  crashed = false;

  constructor(name: string, plan: FaultPlan) {
    this.#name = name;
    this.#plan = plan;
  }

  async call<Result>(label: string, voice: FaultVoice, apply: () => Promise<Result>): Promise<Result> {
    this.#mustLive();
    this.#plan.calls.push(`${this.#name}.${label}`);
    const point = this.#plan.calls.length;
    const { interruption } = this.#plan;
    if (interruption?.point === point) {
      this.#plan.interruption = undefined;
      await interruption.act();
    }
    const fault = this.#plan.faultAt(point);
    if (fault === undefined) return apply();
    return this.#fail(fault, voice, apply);
  }

  async #fail<Result>(fault: FaultKind, voice: FaultVoice, apply: () => Promise<Result>): Promise<Result> {
    switch (fault) {
      case 'crash_before':
        return this.#crash();
      case 'crash_after':
        await settled(apply);
        return this.#crash();
      case 'throttle':
        throw voice.throttle();
      case 'ambiguous_applied':
        await settled(apply);
        throw voice.ambiguous();
      case 'ambiguous_lost':
        throw voice.ambiguous();
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

/** The call takes effect; what it answers is never seen. */
async function settled(apply: () => Promise<unknown>): Promise<void> {
  await apply().catch(() => undefined);
}
