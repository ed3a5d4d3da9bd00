import { type Act, type Arguments, act } from './act.ts';
import { duration } from './world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

interface UnknownCharges extends Arguments {
  readonly books: 'sandbox' | 'second' | 'live';
  readonly forMs: number;
}

/** Acts after which an object can be open at the processor. */
const OPENING: ReadonlySet<string> = new Set(['pay', 'stray', 'foreign_refund', 'dispute', 'refund', 'late_success']);

/**
 * The processor responds that a charge does not exist, although it exists: the processor's data lags, or the processor
 * reads the books of a different account.
 */
const unknownCharges = act<UnknownCharges>({
  name: 'unknown_charges',
  actor: 'world',
  feature: 'unknown_charges',
  about: 'nothing',
  weight: 20,
  delay: ['minutes', 'hours', 'days'],
  near: ({ act: name }) => OPENING.has(name),
  draw: ({ dice, has }) => ({
    books:
      has('modes') && dice.chance(0.5) ? 'live' : has('second_processor') && dice.chance(0.5) ? 'second' : 'sandbox',
    forMs: dice.pick([5 * MINUTE_MS, 70 * MINUTE_MS, 5 * HOUR_MS, 20 * HOUR_MS]),
  }),
  play: async ({ system }, { id, books, forMs }) => {
    system.mishap(`charges of ${books}`, false);
    system.at(system.nowMs + forMs, `step ${id} ends`, () => system.mishap(`charges of ${books}`, true));
    return 'done';
  },
  describe: ({ books, forMs }) => `for ${duration(forMs)} the processor of ${books} does not know its charges`,
});

export const UNKNOWN_CHARGES_ACTS: readonly Act[] = [unknownCharges];
