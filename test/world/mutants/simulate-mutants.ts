/**
 * Plants each fault, and reports how many histories it took to violate an oracle:
 *
 *     node test/world/mutants/simulate-mutants.ts --seed 1 --histories 2000
 *
 * `payonce simulate --mutants` runs this file.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { PROFILES } from '../simulator/profiles.ts';
import { findInStories, findMutants, medianOf } from './find-mutants.ts';
import { writeHunt, writeStoryFinding } from './hunt-rows.ts';
import { MUTANTS } from './mutants.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    histories: { type: 'string', default: '2000' },
    /** Number of series of histories. The report shows the median over the series. */
    rows: { type: 'string', default: '5' },
    /** Separated by commas. */
    only: { type: 'string' },
    /** Separated by commas. */
    profile: { type: 'string' },
    processes: { type: 'string', default: String(availableParallelism()) },
    stories: { type: 'boolean', default: false },
    /** For docs/proof/planted-faults.md. */
    write: { type: 'boolean', default: false },
  },
});
/** Distance between the first seeds of two series of histories. */
const SEEDS_OF_A_ROW = 1_000_000;

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const knownOf = (what: string, given: string | undefined, known: readonly string[]): readonly string[] => {
  const names = given?.split(',') ?? known;
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length === 0) return names;
  process.stderr.write(`Unknown ${what}: ${unknown.join(', ')}. Known ${what}: ${known.join(', ')}.\n`);
  process.exit(2);
};

const most = Number(values.histories);
// By default, leave out calm histories: they have no failures, so they reveal few planted faults.
const profiles = knownOf(
  'profiles',
  values.profile,
  Object.keys(PROFILES).filter((name) => name !== 'calm'),
);
const only = knownOf(
  'mutants',
  values.only,
  MUTANTS.map(({ name }) => name),
);
if (values.stories) {
  const findings = await findInStories(only, (found) => {
    if (values.write) writeStoryFinding(found);
    say(`${found.mutant}: ${found.story === undefined ? 'no story reveals it' : `${found.story}: ${found.oracle}`}`);
  });
  const unseen = findings.filter(({ story }) => story === undefined);
  say(`\n${findings.length} faults planted; ${unseen.length} not revealed by any story`);
  process.exit();
}
say('| fault | finding | histories (median) | all rows | reached in | found by |');
say('|---|---|---|---|---|---|');
const hunts = await findMutants({
  seeds: Array.from({ length: Number(values.rows) }, (_, row) => Number(values.seed) + row * SEEDS_OF_A_ROW),
  most,
  profiles,
  only,
  atOnce: Number(values.processes),
  onEnded: (hunt) => {
    if (values.write) writeHunt(hunt, { most, profiles });
    const all = hunt.histories.map((count) => count ?? 'never').join(', ');
    const { mutant, finding = '', reached, oracle = '', profile } = hunt;
    const by = profile === undefined ? oracle : `${oracle} (${profile})`;
    say(`| ${mutant} | ${finding} | ${medianOf(hunt) ?? 'not found'} | ${all} | ${reached} | ${by} |`);
  },
});
const survivors = hunts.filter((hunt) => medianOf(hunt) === undefined);
say(`\n${hunts.length} faults planted, ${survivors.length} not found`);
if (survivors.length > 0) process.exitCode = 1;
