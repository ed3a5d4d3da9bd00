import type { RunningSystem, Step } from '../contract.ts';
import type { Feature } from '../profiles.ts';
import type { Dice } from '../random.ts';

type Actor = 'client' | 'merchant' | 'payer' | 'bank' | 'dashboard' | 'operator' | 'machine' | 'world';

/** What an act is about: a payment, also that of an order; an order; a webhook endpoint; or nothing. */
export type Subject = 'payment' | 'order' | 'endpoint' | 'nothing';

/** The time between an act and the one before it. */
export type Pace = 'instant' | 'seconds' | 'minutes' | 'hours' | 'days';

export type Arguments = Readonly<Record<string, unknown>>;

/** A step before its time is known. */
export interface Draft {
  readonly act: string;
  readonly pace: readonly Pace[];
  readonly given: Arguments;
}

/** What a draw knows of the history. */
export interface Drawing {
  readonly dice: Dice;
  readonly has: (feature: Feature) => boolean;
  /** The step that made the subject; undefined for an act about nothing. */
  readonly root: Step | undefined;
  /** The earlier steps of the same subject, oldest first, the root included. */
  readonly earlier: readonly Step[];
}

/** What is said of an act. */
export interface Telling {
  /** What a step made or is about, for example `payment 1`. */
  readonly name: (id: unknown) => string;
  /** An amount in the currency of the payment of a step, for example `10.00 EUR`. */
  readonly money: (amountMinor: unknown, id: unknown) => string;
}

/**
 * One kind of step.
 *
 * @typeParam Given its arguments
 */
export interface ActOf<Given extends Arguments> {
  readonly name: string;
  readonly actor: Actor;
  /** It is drawn only while the feature is switched on. @default always */
  readonly feature?: Feature;
  readonly about: Subject;
  /** What it makes, which later acts are about. */
  readonly makes?: Subject;
  /** How often it is drawn, relative to other acts about the same subject. 0: only after another act. */
  readonly weight: number;
  readonly pace: readonly Pace[];
  /** @returns undefined when the act does not fit the subject */
  readonly draw: (drawing: Drawing) => Given | undefined;
  /** The acts that follow it, for example the end of a dispute. `id` is the step's own. */
  readonly leadsTo?: (drawing: Drawing, given: Given, id: number) => readonly Draft[];
  /** @returns how it ended: `done`, `done elsewhere` on another object, `nothing` when there was none, the refusal, or the status of an answer */
  readonly play: (scene: Scene, step: Step & Given) => Promise<string>;
  readonly tell: (step: Step & Given, telling: Telling) => string;
}

export type Act = ActOf<Arguments>;

/** The arguments of a story are those that its act has drawn, so they are not checked again. */
export function act<Given extends Arguments>(definition: ActOf<Given>): Act {
  return definition as unknown as Act;
}

/** Where a step is played. */
export interface Scene {
  readonly system: RunningSystem;
  readonly stepOf: (id: unknown) => Step | undefined;
  /** In the order of time. */
  readonly steps: readonly Step[];
  /** By the id of a step that was done to another object than it names: the step that made that object. */
  readonly others: Map<number, Step>;
  /** How each processor delivers its callbacks. */
  readonly habits: Map<string, CallbackHabits>;
}

/** How a processor delivers callbacks. Each is a probability, except `lateMs`. */
export interface CallbackHabits {
  readonly lost: number;
  readonly doubled: number;
  readonly late: number;
  /** That what the processor does by itself is late, for example the end of a pending refund. */
  readonly slow: number;
  /** The longest delay of what is late. */
  readonly lateMs: number;
}
