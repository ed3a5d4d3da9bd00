import type { Act, Arguments, Delay, Draft, Drawing, Subject } from './acts/act.ts';
import { ACTS, actNamed } from './acts/all-acts.ts';
import type { History, Step } from './contract.ts';
import { chanceOf, FEATURES, type Feature, profileNamed } from './profiles.ts';
import { Dice } from './random.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** The longest delay exceeds the retention of a payment’s idempotency key. */
const DELAYS_MS: Readonly<Record<Delay, readonly [number, number]>> = {
  instant: [1, 500],
  seconds: [SECOND_MS, 90 * SECOND_MS],
  minutes: [MINUTE_MS, 90 * MINUTE_MS],
  hours: [HOUR_MS, 30 * HOUR_MS],
  days: [DAY_MS, 9 * DAY_MS],
};

/**
 * Maximum number of acts without a subject, for example outages. Each is placed near the time of an act with a subject.
 */
const MAX_SURROUNDINGS = 4;
/**
 * Limit of the number of steps that follow one act, and of the number of steps about one subject. At the limit, no
 * further steps are drawn.
 */
const MAX_FOLLOWERS = 12;
/** Maximum number of attempts to draw an act that fits the subject. */
const MAX_DRAWS = 6;

/** @throws Error for an unknown profile */
export function generate(seed: number, profileName: string): History {
  const profile = profileNamed(profileName);
  const dice = new Dice(seed, profileName);
  const on = new Set(FEATURES.filter((feature) => dice.named(feature).chance(chanceOf(profile, feature))));
  const writer = new Writer(dice, on);
  writer.begin();
  const subjects = dice.whole(...profile.subjects);
  for (let subject = 1; subject <= subjects; subject += 1)
    writer.subject(dice.named(`subject ${subject}`), profile.acts, subject);
  writer.surround(dice.named('surroundings'));
  return { seed, profile: profileName, steps: writer.steps(), muted: [] };
}

/** Step ids follow the order of writing, not of time. */
class Writer {
  readonly #dice: Dice;
  readonly #on: ReadonlySet<Feature>;
  readonly #steps: Step[] = [];

  constructor(dice: Dice, on: ReadonlySet<Feature>) {
    this.#dice = dice;
    this.#on = on;
  }

  /** In order of time. */
  steps(): readonly Step[] {
    return this.#steps.toSorted((one, other) => one.atMs - other.atMs || one.id - other.id);
  }

  begin(): void {
    this.#draw(actNamed('faults'), this.#drawing(this.#dice.named('faults'), undefined, []), 0);
    this.#draw(actNamed('habits'), this.#drawing(this.#dice.named('habits'), undefined, []), 0);
    if (this.#has('approvals') || this.#has('mail_cap'))
      this.#draw(actNamed('limits'), this.#drawing(this.#dice.named('limits'), undefined, []), 0);
    if (this.#has('fewer_abilities'))
      this.#draw(actNamed('abilities'), this.#drawing(this.#dice.named('abilities'), undefined, []), 0);
    if (!this.#has('second_processor') && !this.#has('cron')) return;
    this.#draw(actNamed('deploy'), this.#drawing(this.#dice.named('deploy'), undefined, []), 0);
  }

  subject(dice: Dice, [least, most]: readonly [number, number], number: number): void {
    const makers = ACTS.filter((act) => act.makes !== undefined && this.#isOn(act));
    // The first subject is never an endpoint, because an endpoint without payments receives no events.
    const maker = dice.weighted(makers, ({ makes }) => (makes !== 'endpoint' ? 2 : number === 1 ? 0 : 1));
    const root = this.#draw(maker, this.#drawing(dice, undefined, []), MINUTE_MS + wait(dice, maker.delay));
    if (root === undefined || maker.makes === undefined) return;
    const earlier = [root, ...this.#follow(maker, this.#drawing(dice, root, [root]), root)];
    const acts = this.#actsAbout(maker.makes);
    const count = acts.length === 0 ? 0 : dice.whole(least, most);
    for (let act = 1; act <= count && earlier.length <= MAX_FOLLOWERS; act += 1) {
      const ofAct = dice.named(`act ${act}`);
      const step = this.#drawFitting(acts, this.#drawing(ofAct, root, earlier));
      if (step !== undefined) earlier.push(...step);
    }
  }

  surround(dice: Dice): void {
    const acts = this.#actsAbout('nothing').filter(({ makes }) => makes === undefined);
    const all = this.#steps.filter(({ atMs }) => atMs > 0);
    if (acts.length === 0 || all.length === 0) return;
    const count = dice.whole(0, MAX_SURROUNDINGS);
    for (let number = 1; number <= count; number += 1) {
      const ofAct = dice.named(`act ${number}`);
      const act = ofAct.weighted(acts, ({ weight }) => weight);
      const waitMs = wait(ofAct, act.delay) * (ofAct.chance(0.5) ? -1 : 1);
      const near = all.filter((step) => act.near?.(step) ?? true);
      const anchor = ofAct.pick(near.length === 0 ? all : near);
      const drawing = this.#drawing(ofAct, undefined, all);
      const given = act.draw(drawing);
      if (given === undefined) continue;
      // A lasting act usually begins before the act that it surrounds.
      const lasts = Number(given['forMs'] ?? 0);
      const beginsMs = lasts > 1 && ofAct.chance(0.6) ? -ofAct.magnitude(1, lasts) : waitMs;
      const draft = { act: act.name, delay: act.delay, given };
      this.#follow(act, drawing, this.#write(draft, drawing, Math.max(1, anchor.atMs + beginsMs)));
    }
  }

  #drawFitting(acts: readonly Act[], drawing: Drawing): readonly Step[] | undefined {
    const { dice, earlier, root } = drawing;
    for (let attempt = 1; attempt <= MAX_DRAWS; attempt += 1) {
      const act = dice.weighted(acts, ({ weight }) => weight);
      const after = dice.chance(0.7) ? earlier.at(-1) : root;
      const step = this.#draw(act, drawing, (after?.atMs ?? 0) + wait(dice, act.delay));
      if (step !== undefined) return [step, ...this.#follow(act, drawing, step)];
    }
    return undefined;
  }

  #follow(act: Act, drawing: Drawing, step: Step, more: readonly Draft[] = []): readonly Step[] {
    const steps: Step[] = [];
    for (const draft of [...(act.leadsTo?.(drawing, step) ?? []), ...more]) {
      const known = { ...drawing, earlier: [...drawing.earlier, step, ...steps] };
      const atMs = (draft.fromMs ?? step.atMs) + wait(drawing.dice, draft.delay);
      const next = this.#write(draft, known, Math.max(1, atMs));
      steps.push(next, ...this.#follow(actNamed(draft.act), known, next, draft.leadsTo?.(next)));
      if (steps.length >= MAX_FOLLOWERS) break;
    }
    return steps;
  }

  #draw(act: Act, drawing: Drawing, atMs: number): Step | undefined {
    const given = act.draw(drawing);
    return given === undefined ? undefined : this.#write({ act: act.name, delay: act.delay, given }, drawing, atMs);
  }

  #write({ act, given, isBefore }: Draft, { root }: Drawing, atMs: number): Step {
    const about: Arguments = root === undefined || isBefore ? {} : { of: root.id };
    const { of = about['of'] } = given;
    // This step must follow the step `of`, which it is about. That step was drawn earlier, but its time can be later
    // than `atMs`.
    const afterMs = this.#steps.find(({ id }) => id === of)?.atMs ?? -1;
    const step: Step = {
      id: this.#steps.length + 1,
      atMs: Math.max(atMs, afterMs + 1),
      actor: actNamed(act).actor,
      act,
      ...about,
      ...given,
    };
    this.#steps.push(step);
    return step;
  }

  #actsAbout(subject: Subject): readonly Act[] {
    const isAbout = (about: Subject): boolean => about === subject || (subject === 'order' && about === 'payment');
    return ACTS.filter((act) => isAbout(act.about) && act.weight > 0 && this.#isOn(act));
  }

  #isOn({ feature }: Act): boolean {
    return feature === undefined || this.#has(feature);
  }

  #has(feature: Feature): boolean {
    return this.#on.has(feature);
  }

  #drawing(dice: Dice, root: Step | undefined, earlier: readonly Step[]): Drawing {
    return { dice, has: (feature) => this.#has(feature), root, earlier };
  }
}

function wait(dice: Dice, delay: readonly Delay[]): number {
  return dice.magnitude(...DELAYS_MS[dice.pick(delay)]);
}
