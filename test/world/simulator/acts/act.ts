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
  /** It comes after this time. Since the history began. @default the time of the step that leads to it */
  readonly fromMs?: number;
  /** It is about nothing: it comes before the subject, or makes another one. @default it comes after the subject, and is about it */
  readonly isBefore?: true;
  /** What follows it, besides what its act leads to. */
  readonly leadsTo?: (step: Step) => readonly Draft[];
}

/** What a draw knows of the history. */
export interface Drawing {
  readonly dice: Dice;
  readonly has: (feature: Feature) => boolean;
  /** The step that made the subject; undefined for an act about nothing. */
  readonly root: Step | undefined;
  /** The earlier steps of the same subject, oldest first, the root included. Of an act about nothing: all that were drawn. */
  readonly earlier: readonly Step[];
}

/** Minor units. */
export const amountOf = ({ root }: Drawing): number => Number(root?.['amount'] ?? 1000);
export const sourceOf = ({ root }: Drawing): string => String(root?.['source']);
const isHeld = ({ root }: Drawing): boolean => root?.['capture'] === 'manual';

/** After these a hold is rarely left, and a payment rarely waits for its payer. */
const ENDS = new Set(['approve', 'refuse', 'capture', 'cancel', 'expire', 'foreign_capture', 'foreign_void']);
const DECLINED = /declined/;

/** Whether there is a hold, as far as the earlier steps tell. Now and then, also when there is none. */
export function hasHold(drawing: Drawing): boolean {
  const { dice, earlier } = drawing;
  const isLeft = !DECLINED.test(sourceOf(drawing)) && !earlier.some(({ act: name }) => ENDS.has(name));
  return isHeld(drawing) && (isLeft || dice.chance(0.1));
}

/** Whether the payment takes money, as far as its source and its earlier steps tell. Now and then, also when it does not. */
export function hasMoney(drawing: Drawing): boolean {
  const { dice, earlier } = drawing;
  const isTaken = earlier.some(({ act: name }) => name === 'late_success' || name === 'stray');
  return isTaken || !DECLINED.test(sourceOf(drawing)) || dice.chance(0.15);
}

/** Whether the payment waits for its payer, as far as the earlier steps tell. */
export function waitsForPayer(drawing: Drawing): boolean {
  return sourceOf(drawing) === 'tok_action' && !drawing.earlier.some(({ act: name }) => ENDS.has(name));
}

/** What is said of an act. */
export interface DescribeTools {
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
  /** The acts that follow it, for example the end of a dispute, and those that it needs, shortly before it. */
  readonly leadsTo?: (drawing: Drawing, step: Step & Given) => readonly Draft[];
  /** Of an act about nothing: it happens at about the time of such a step. @default of any */
  readonly near?: (step: Step) => boolean;
  /** @returns how it ended: `done`, `done elsewhere` on another object, `nothing` when there was none, the refusal, or the status of an answer */
  readonly play: (scene: Scene, step: Step & Given) => Promise<string>;
  readonly describe: (step: Step & Given, tools: DescribeTools) => string;
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
