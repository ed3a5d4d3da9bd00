/**
 * Implements `npm run prove`, the complete run: all checks, all tests with complete enumerations, the deployed drills,
 * and the simulator with fresh seeds. A failed part does not stop the other parts. An interrupted run continues with
 * the remaining parts, unless the tree has changed.
 */
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Command } from 'commander';
import pMap from 'p-map';
import { synthesizeForLocalAws } from '../../local/cdk.ts';
import { PROJECT } from '../../local/directories.ts';
import { ensurePython } from '../../local/python-environment.ts';
import { COSTS, costliestFiles } from '../support/costs.ts';
import { ASSEMBLY } from '../support/global-setup.ts';
import { unitFiles } from './entries.ts';
import { commandOf, PROGRESS_REPORTER, type Step, StepRun } from './steps.ts';
import { sliceOfTree } from './tree-slice.ts';

/** Duration of the simulator run with each authority, in minutes. */
const SIMULATOR_MINUTES = 20;
/** Estimated duration of a complete run on two cores, in minutes. */
const WHOLE_MINUTES = 110;
/** A run that continues after an interruption skips these parts. */
const STATE = join(PROJECT, '.payonce', 'cache', 'prove.json');

interface Proof {
  /** Derived from the content of the tree; 0 if the content is unknown. */
  readonly tree: number;
  readonly seed: string;
  readonly passed: readonly string[];
}

const { list, again } = new Command('npm run prove --')
  .description('Runs all checks, all tests with complete enumerations, the drills, and the simulator with fresh seeds.')
  .option('--list', 'print the parts without running them', false)
  .option('--again', 'also run the parts that have already passed on this tree', false)
  .parse()
  .opts<{ readonly list: boolean; readonly again: boolean }>();

let proof = loadProof(await sliceOfTree());
const checks = ['lint', 'types', 'boundaries', 'dead', 'words', 'format', 'synth'].map(
  (name): Step => ({ name, script: [name] }),
);
const rooms = [...unitFiles().keys()].map(
  (room): Step => ({ name: `room ${room}`, script: ['test:unit', `entries/${room}\\.test\\.js$`, PROGRESS_REPORTER] }),
);
const simulate = (name: string, ...options: readonly string[]): Step => ({
  name,
  script: ['simulate', ...options, '--seed', proof.seed, '--minutes', String(SIMULATOR_MINUTES)],
});
const simulators = [simulate('simulator'), simulate('simulator on PostgreSQL', '--authority', 'postgres')];
/**
 * The tests play only a slice of the histories, because `stores` plays the histories of payments and of changes
 * completely.
 */
const contract: Step = { name: 'HTTP contract on PostgreSQL', script: ['test:contract', PROGRESS_REPORTER] };
/** Longest first, so that no long part starts last. */
const computing = [...simulators, contract, ...rooms, ...checks].toSorted(
  (left, right) => secondsOf(right) - secondsOf(left),
);
/** Each drill has a separate local AWS, because the schedules of its stacks keep running until that AWS ends. */
const drills = globSync('test/**/*.drill.test.ts', { cwd: PROJECT })
  .toSorted()
  .map((file): Step => ({ name: `drill ${basename(file, '.drill.test.ts')}`, script: ['test:drills', file] }));
const suites = ['deployed', 'stores'].map((name): Step => ({ name, script: [`test:${name}`, PROGRESS_REPORTER] }));
/** The deployed tests, except those in `orders` and `docs`, on stacks whose authority is PostgreSQL. */
const ofPostgres: Step = {
  name: 'deployed on PostgreSQL',
  script: [
    'test:postgres',
    ...['authority', 'callbacks', 'client', 'console', 'events', 'jobs', 'payments', 'webhooks'].map(
      (room) => `test/${room}/`,
    ),
    // The last option, because Jest takes every word after it as a further reporter.
    PROGRESS_REPORTER,
  ],
};
const demo: Step = { name: 'demo on PostgreSQL', script: ['demo', '--authority', 'postgres'] };
const onLocalAws = [...drills, ...suites, ofPostgres, demo];
/**
 * Two lanes of parts that mostly wait. The drills run one after another, because they use the same ports. The demo is
 * in their lane, because it uses the same folder as the drills of `npm start`.
 */
const lanesOfAws = [
  [...drills, demo],
  [...suites, ofPostgres],
];
const parts = [...computing, ...onLocalAws].filter(({ name }) => !proof.passed.includes(name));

if (list) for (const { name, script } of parts) console.log(`${name}: ${commandOf(script)}`);
else await prove();

async function prove(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'payonce-proof-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const costs = join(directory, 'costs.jsonl');
  const left = parts.length;
  const all = computing.length + onLocalAws.length;
  const share = left === all ? '' : `; ${all - left} of ${all} parts have passed on this tree`;
  console.log(`${left} parts, about ${Math.ceil((WHOLE_MINUTES * left) / all)} minutes on two cores${share}.`);
  console.log(`PAYONCE_SEED=${proof.seed} repeats the histories of the simulator.`);
  const run = new StepRun({ PAYONCE_PROVE: '1', PAYONCE_TOGETHER: '1', [COSTS]: costs });
  const assembly = join(directory, 'assembly');
  const deploying = onLocalAws.filter((part) => parts.includes(part));
  await run.work('Python environment', ensurePython);
  if (deploying.length > 0) await run.work('assembly', () => synthesizeForLocalAws(assembly));
  const ofDatabase = join(directory, 'assembly-postgres');
  if (deploying.includes(ofPostgres))
    await run.work('assembly with PostgreSQL', () =>
      synthesizeForLocalAws(ofDatabase, { authority: 'postgres', withRules: true }),
    );
  let hasChanged = false;
  const play = async (part: Step): Promise<void> => {
    if (!(await run.run({ ...part, environment: { [ASSEMBLY]: part === ofPostgres ? ofDatabase : assembly } }))) return;
    // If the sources changed while the part ran, its result applies to neither version of the sources.
    if ((await sliceOfTree()) === proof.tree) recordPassed(part.name);
    else hasChanged = true;
  };
  await Promise.all([
    ...lanesOfAws.map((lane) =>
      pMap(
        lane.filter((part) => deploying.includes(part)),
        play,
        { concurrency: 1 },
      ),
    ),
    pMap(
      computing.filter((part) => parts.includes(part)),
      play,
      { concurrency: availableParallelism() },
    ),
  ]);
  console.log(`\n${costliestFiles(costs, 20).join('\n')}`);
  run.summary();
  if (hasChanged) console.error('The sources changed during the run: repeat it.');
  process.exitCode = run.hasFailed || hasChanged ? 1 : 0;
  if (process.exitCode === 0) rmSync(STATE, { force: true });
}

function loadProof(tree: number): Proof {
  const fresh = {
    tree,
    seed: process.env['PAYONCE_SEED'] ?? String(1_000_000 + Math.floor(Date.now() / 1_000)),
    passed: [],
  };
  if (again) return fresh;
  try {
    const before = JSON.parse(readFileSync(STATE, 'utf8')) as Proof;
    const given = process.env['PAYONCE_SEED'];
    // Without a known content of the tree, no earlier result applies.
    if (tree === 0 || before.tree !== tree) return fresh;
    if (given === undefined || given === before.seed) return before;
    return { ...before, seed: given, passed: before.passed.filter((name) => !name.startsWith('simulator')) };
  } catch {
    return fresh;
  }
}

function recordPassed(name: string): void {
  proof = { ...proof, passed: [...proof.passed, name] };
  mkdirSync(dirname(STATE), { recursive: true });
  writeFileSync(STATE, JSON.stringify(proof));
}

function secondsOf({ name }: Step): number {
  if (name === contract.name) return 600;
  if (name.startsWith('simulator')) return 60 * SIMULATOR_MINUTES;
  return /^room (?:orders|payments|world|small-rooms|archive|jobs)/.test(name) ? 60 : 1;
}
