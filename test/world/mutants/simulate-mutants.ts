/**
 * Plants each fault, and tells how many histories it took until an oracle was violated:
 *
 *     node test/world/mutants/simulate-mutants.ts --seed 1 --histories 2000
 *
 * `payonce simulate --mutants` runs this file.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { findMutants, medianOf } from './find-mutants.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    histories: { type: 'string', default: '2000' },
    /** Rows of histories; the median of them is told. */
    rows: { type: 'string', default: '5' },
    /** Names, separated by commas. */
    only: { type: 'string' },
    /** Profiles, separated by commas. */
    profiles: { type: 'string' },
    /** Mutants that are hunted at the same time. */
    'at-once': { type: 'string', default: String(availableParallelism()) },
  },
});
/** Rows of histories have seeds of their own. */
const SEEDS_OF_A_ROW = 1_000_000;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

say('| fault | finding | histories (median) | all rows | reached in | found by |');
say('|---|---|---|---|---|---|');
const hunts = await findMutants({
  seeds: Array.from({ length: Number(values.rows) }, (_, row) => Number(values.seed) + row * SEEDS_OF_A_ROW),
  most: Number(values.histories),
  atOnce: Number(values['at-once']),
  ...(values.only === undefined ? {} : { only: values.only.split(',') }),
  ...(values.profiles === undefined ? {} : { profiles: values.profiles.split(',') }),
  told: (hunt) => {
    const all = hunt.histories.map((count) => count ?? 'never').join(', ');
    say(
      `| ${hunt.mutant} | ${hunt.finding ?? ''} | ${medianOf(hunt) ?? 'not found'} | ${all} | ${hunt.reached} | ${hunt.oracle ?? ''} |`,
    );
  },
});
const survivors = hunts.filter((hunt) => medianOf(hunt) === undefined);
say(`\n${hunts.length} faults planted, ${survivors.length} not found`);
if (survivors.length > 0) process.exitCode = 1;
