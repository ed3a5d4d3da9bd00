import type { SandboxEvent } from '../../../lambdas/processors/sandbox/sandbox-api.ts';
import type { CallbackHabits, Scene } from './acts/act.ts';
import { actNamed } from './acts/all-acts.ts';
import type { History, RunningSystem, Step } from './contract.ts';

/**
 * Step with its result: `done`, `done elsewhere` if applied to a different object, `nothing` if no object fits, a
 * refusal, a response status, `unanswered`, or a different text that the act returns.
 */
export interface StepEnd {
  readonly step: Step;
  readonly end: string;
}

const PROMPT: CallbackHabits = { lost: 0, doubled: 0, late: 0, lateMs: 0, slow: 0 };

const HOUR_MS = 3_600_000;
/**
 * Delays before the retries of a callback that was not accepted, in milliseconds. After three days in total, as at
 * Stripe, the callback is lost.
 */
const AGAIN_MS = [5_000, 60_000, 600_000, ...[1, 6, 12, 12, 20, 21].map((hours) => hours * HOUR_MS)] as const;

/** In milliseconds. Later callbacks can overtake a late one. */
const MIN_LATE_MS = 100;

/**
 * In milliseconds. A history ends when its last step has begun and every act with a duration, for example an outage,
 * has ended.
 */
export function lengthOf({ steps }: History): number {
  return Math.max(0, ...steps.map(({ atMs, forMs }) => atMs + (typeof forMs === 'number' ? forMs : 0)));
}

/** @returns the results of the steps, in a list that grows while the history is played */
export function perform(system: RunningSystem, { steps }: History): readonly StepEnd[] {
  const byId = new Map<unknown, Step>(steps.map((step) => [step.id, step]));
  const scene: Scene = { system, stepOf: (id) => byId.get(id), steps, others: new Map(), habits: new Map() };
  const ends: StepEnd[] = [];
  const startMs = system.nowMs;
  deliverCallbacks(scene);
  for (const step of steps)
    system.at(startMs + step.atMs, `step ${step.id}`, async () => {
      ends.push({ step, end: await actNamed(step.act).play(scene, step) });
    });
  return ends;
}

function deliverCallbacks({ system, habits }: Scene): void {
  const counts = new Map<string, number>();
  const nameOf = (kind: string, about: string): string => {
    const count = (counts.get(`${kind} ${about}`) ?? 0) + 1;
    counts.set(`${kind} ${about}`, count);
    return `${kind} ${about} ${count}`;
  };
  const lateness = (name: string, { late, lateMs }: Pick<CallbackHabits, 'late' | 'lateMs'>): number =>
    system.decide(`${name} late`) < late
      ? Math.round(MIN_LATE_MS + system.decide(`${name} how late`) ** 2 * lateMs)
      : Math.round(system.decide(`${name} soon`) * 50);

  const deliver = (processor: string, event: SandboxEvent, name: string, attempt: number, waitMs: number): void =>
    system.at(system.nowMs + waitMs, `${name} attempt ${attempt}`, async () => {
      const status = await system.callback(processor, event);
      const againMs = AGAIN_MS[attempt - 1];
      if ((status < 200 || status > 299) && againMs !== undefined)
        deliver(processor, event, name, attempt + 1, againMs);
    });

  system.onCallback((processor, event) => {
    const habit = habits.get(processor) ?? PROMPT;
    // Name the delivery after the payment, because the processor's own ids change when a step is removed.
    const name = nameOf('callback', event.data.payment ?? processor);
    if (system.decide(`${name} lost`) < habit.lost) return;
    const copies = system.decide(`${name} doubled`) < habit.doubled ? 2 : 1;
    for (let copy = 1; copy <= copies; copy += 1)
      deliver(processor, event, `${name} copy ${copy}`, 1, lateness(`${name} copy ${copy}`, habit));
  });
  system.onLater((processor, afterMs, what) => {
    const habit = habits.get(processor) ?? PROMPT;
    const name = nameOf('later', processor);
    const lateMs = lateness(name, { late: habit.slow, lateMs: habit.lateMs });
    system.at(system.nowMs + afterMs + lateMs, name, what);
  });
}
