import type { RunningSystem, Step } from '../contract.ts';
import type { Feature } from '../profiles.ts';
import type { Dice } from '../random.ts';

type Actor = 'client' | 'merchant' | 'payer' | 'bank' | 'dashboard' | 'operator' | 'machine' | 'world';

/** `payment` includes the payment of an order. */
export type Subject = 'payment' | 'order' | 'endpoint' | 'nothing';

/** Order of magnitude of the time between an act and the previous act. */
export type Delay = 'instant' | 'seconds' | 'minutes' | 'hours' | 'days';

export type Arguments = Readonly<Record<string, unknown>>;

/** Planned step whose time is not drawn yet. */
export interface Draft {
  readonly act: string;
  readonly delay: readonly Delay[];
  readonly given: Arguments;
  /**
   * Earliest time of the step, in milliseconds since the history began.
   *
   * @default the time of the step that leads to this step
   */
  readonly fromMs?: number;
  /**
   * The step precedes the subject, or creates a different subject.
   *
   * @default the step follows the subject and is about the subject
   */
  readonly isBefore?: true;
  /** These steps follow in addition to the steps that the act's own `leadsTo` returns. */
  readonly leadsTo?: (step: Step) => readonly Draft[];
}

export interface Drawing {
  readonly dice: Dice;
  readonly has: (feature: Feature) => boolean;
  /** Undefined for an act without a subject. */
  readonly root: Step | undefined;
  /**
   * Earlier steps of the same subject, including the root, oldest first. For an act without a subject: all steps drawn
   * so far.
   */
  readonly earlier: readonly Step[];
}

/** In minor units. */
export const amountOf = ({ root }: Drawing): number => Number(root?.['amount'] ?? 1000);
export const sourceOf = ({ root }: Drawing): string => String(root?.['source']);
const isHeld = ({ root }: Drawing): boolean => root?.['capture'] === 'manual';

/** Acts that usually end a hold or the wait for the payer. */
const ENDS = new Set(['approve', 'refuse', 'capture', 'cancel', 'expire', 'foreign_capture', 'foreign_void']);
const DECLINED = /declined/;

/** Sometimes returns true without a hold, so that requests without a hold are also drawn. */
export function hasHold(drawing: Drawing): boolean {
  const { dice, earlier } = drawing;
  const isLeft = !DECLINED.test(sourceOf(drawing)) && !earlier.some(({ act: name }) => ENDS.has(name));
  return isHeld(drawing) && (isLeft || dice.chance(0.1));
}

/** Sometimes returns true even if no money was moved. */
export function hasMoney(drawing: Drawing): boolean {
  const { dice, earlier } = drawing;
  const isTaken = earlier.some(({ act: name }) => name === 'late_success' || name === 'stray');
  return isTaken || !DECLINED.test(sourceOf(drawing)) || dice.chance(0.15);
}

export function waitsForPayer(drawing: Drawing): boolean {
  return sourceOf(drawing) === 'tok_action' && !drawing.earlier.some(({ act: name }) => ENDS.has(name));
}

export interface DescribeTools {
  /** For example `payment 1`. */
  readonly name: (id: unknown) => string;
  /** For example `10.00 EUR`. */
  readonly money: (amountMinor: unknown, id: unknown) => string;
}

/** Kind of step, with functions that draw, play and describe such a step. @typeParam Given arguments of the step */
export interface ActOf<Given extends Arguments> {
  readonly name: string;
  readonly actor: Actor;
  /** @default no feature */
  readonly feature?: Feature;
  readonly about: Subject;
  /** Later acts can be about this object. */
  readonly makes?: Subject;
  /** An act with weight 0 is drawn only because another act leads to it. */
  readonly weight: number;
  readonly delay: readonly Delay[];
  /** @returns undefined when the act does not fit the subject */
  readonly draw: (drawing: Drawing) => Given | undefined;
  /**
   * Returns the steps that the act leads to: later steps, such as the end of a dispute, and steps that prepare the act
   * shortly before it.
   */
  readonly leadsTo?: (drawing: Drawing, step: Step & Given) => readonly Draft[];
  /** @default near any step */
  readonly near?: (step: Step) => boolean;
  /**
   * @returns the result: `done`, `done elsewhere` if applied to a different object, `nothing` if no object fits, a
   * refusal, or the status of a response
   */
  readonly play: (scene: Scene, step: Step & Given) => Promise<string>;
  readonly describe: (step: Step & Given, tools: DescribeTools) => string;
}

export type Act = ActOf<Arguments>;

/** The arguments of a stored step are not validated, because the act itself has drawn them. */
export function act<Given extends Arguments>(definition: ActOf<Given>): Act {
  return definition as unknown as Act;
}

export interface Scene {
  readonly system: RunningSystem;
  readonly stepOf: (id: unknown) => Step | undefined;
  /** In order of time. */
  readonly steps: readonly Step[];
  /**
   * For each step that acted on another object than its own: the step that created this other object. Keyed by the id
   * of the acting step.
   */
  readonly others: Map<number, Step>;
  /** By processor. */
  readonly habits: Map<string, CallbackHabits>;
}

/** Each value is a probability, except `lateMs`. */
export interface CallbackHabits {
  readonly lost: number;
  readonly doubled: number;
  readonly late: number;
  /** An action of the processor itself is late, for example the end of a pending refund. */
  readonly slow: number;
  readonly lateMs: number;
}
