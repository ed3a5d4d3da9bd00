import type { RunningSystem, Step } from '../contract.ts';
import type { Feature } from '../profiles.ts';
import type { Dice } from '../random.ts';

type Actor = 'client' | 'merchant' | 'payer' | 'bank' | 'dashboard' | 'operator' | 'machine' | 'world';

/**
 * Object that an act is about: a payment, including the payment of an order; an order; a webhook endpoint; or nothing.
 */
export type Subject = 'payment' | 'order' | 'endpoint' | 'nothing';

/** Time between an act and the previous act. */
export type Pace = 'instant' | 'seconds' | 'minutes' | 'hours' | 'days';

export type Arguments = Readonly<Record<string, unknown>>;

/** Step that has no time yet. */
export interface Draft {
  readonly act: string;
  readonly pace: readonly Pace[];
  readonly given: Arguments;
  /**
   * Earliest time of the step, since the history began. Milliseconds.
   *
   * @default the time of the step that leads to this one
   */
  readonly fromMs?: number;
  /**
   * Marks a step that is not about the subject: the step precedes the subject, or makes another subject.
   *
   * @default the step follows the subject and is about the subject
   */
  readonly isBefore?: true;
  /** Further steps that follow, in addition to the steps that the act leads to. */
  readonly leadsTo?: (step: Step) => readonly Draft[];
}

/** State of the history that a draw can read. */
export interface Drawing {
  readonly dice: Dice;
  readonly has: (feature: Feature) => boolean;
  /** Step that made the subject; undefined for an act about nothing. */
  readonly root: Step | undefined;
  /**
   * Earlier steps of the same subject, including the root, oldest first. For an act about nothing: all steps drawn so
   * far.
   */
  readonly earlier: readonly Step[];
}

/** Returns the amount of the subject. Minor units. */
export const amountOf = ({ root }: Drawing): number => Number(root?.['amount'] ?? 1000);
export const sourceOf = ({ root }: Drawing): string => String(root?.['source']);
const isHeld = ({ root }: Drawing): boolean => root?.['capture'] === 'manual';

/** Acts after which a hold is rarely left, and a payment rarely waits for its payer. */
const ENDS = new Set(['approve', 'refuse', 'capture', 'cancel', 'expire', 'foreign_capture', 'foreign_void']);
const DECLINED = /declined/;

/** Returns true if the earlier steps left a hold, and sometimes also if there is none. */
export function hasHold(drawing: Drawing): boolean {
  const { dice, earlier } = drawing;
  const isLeft = !DECLINED.test(sourceOf(drawing)) && !earlier.some(({ act: name }) => ENDS.has(name));
  return isHeld(drawing) && (isLeft || dice.chance(0.1));
}

/**
 * Returns true if the payment takes money according to its source and its earlier steps, and sometimes also if it does
 * not.
 */
export function hasMoney(drawing: Drawing): boolean {
  const { dice, earlier } = drawing;
  const isTaken = earlier.some(({ act: name }) => name === 'late_success' || name === 'stray');
  return isTaken || !DECLINED.test(sourceOf(drawing)) || dice.chance(0.15);
}

/** Returns true if the payment waits for its payer according to the earlier steps. */
export function waitsForPayer(drawing: Drawing): boolean {
  return sourceOf(drawing) === 'tok_action' && !drawing.earlier.some(({ act: name }) => ENDS.has(name));
}

/** Functions that render parts of an act's description. */
export interface DescribeTools {
  /** Names the object that a step made or is about, for example `payment 1`. */
  readonly name: (id: unknown) => string;
  /** Formats an amount in the currency of the payment of a step, for example `10.00 EUR`. */
  readonly money: (amountMinor: unknown, id: unknown) => string;
}

/** Kind of step. @typeParam Given arguments of the step */
export interface ActOf<Given extends Arguments> {
  readonly name: string;
  readonly actor: Actor;
  /** Feature without which the act is not drawn. @default always drawn */
  readonly feature?: Feature;
  readonly about: Subject;
  /** Kind of object that the act makes, as a subject of later acts. */
  readonly makes?: Subject;
  /**
   * Weight of the act among the acts about the same subject. 0: the act is drawn only as a consequence of another act.
   */
  readonly weight: number;
  readonly pace: readonly Pace[];
  /** Draws the arguments. @returns undefined when the act does not fit the subject */
  readonly draw: (drawing: Drawing) => Given | undefined;
  /** Returns acts that follow, for example the end of a dispute, and acts that prepare this one shortly before. */
  readonly leadsTo?: (drawing: Drawing, step: Step & Given) => readonly Draft[];
  /** For an act about nothing: selects the steps around whose time it happens. @default any step */
  readonly near?: (step: Step) => boolean;
  /**
   * Plays the step.
   *
   * @returns its end: `done`, `done elsewhere` on another object, `nothing` without an object, a refusal, or the status
   * of an answer
   */
  readonly play: (scene: Scene, step: Step & Given) => Promise<string>;
  readonly describe: (step: Step & Given, tools: DescribeTools) => string;
}

export type Act = ActOf<Arguments>;

/** Defines an act. A story has arguments that the act itself has drawn, so they are not validated. */
export function act<Given extends Arguments>(definition: ActOf<Given>): Act {
  return definition as unknown as Act;
}

/** Context in which a step is played. */
export interface Scene {
  readonly system: RunningSystem;
  readonly stepOf: (id: unknown) => Step | undefined;
  /** Steps in order of time. */
  readonly steps: readonly Step[];
  /** Object that a step was applied to instead of its own, as the step that made the object. By step id. */
  readonly others: Map<number, Step>;
  /** Delivery of callbacks, by processor. */
  readonly habits: Map<string, CallbackHabits>;
}

/** Delivery of a processor's callbacks. Each value is a probability, except `lateMs`. */
export interface CallbackHabits {
  readonly lost: number;
  readonly doubled: number;
  readonly late: number;
  /** Probability that an action of the processor itself is late, for example the end of a pending refund. */
  readonly slow: number;
  /** Longest delay of a late callback or action. Milliseconds. */
  readonly lateMs: number;
}
