/**
 * Plays random histories. For each violated oracle, describes one violating history in sentences:
 *
 *     node test/world/simulator/simulate.ts --profile everything --seed 1 --histories 100
 *
 * `payonce simulate` runs this file.
 */
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { POSTGRES_URL } from '../../support/postgres.ts';
import { startServer } from '../../support/server-process.ts';
import type { History } from './contract.ts';
import {
  addReached,
  countCells,
  nothingReached,
  reachedBy,
  reachedUnreachableCells,
  reportReached,
} from './coverage.ts';
import { describeHistory } from './describe-history.ts';
import { generate } from './generate.ts';
import { play } from './play.ts';
import { SimulatedPostgres } from './postgres.ts';
import { PROFILES } from './profiles.ts';
import { type Shown, shrink } from './shrink.ts';

const MAX_SHRINKING_RUNS = 150;
const PROGRESS_MS = 10_000;
const REACHED = new URL('../../../docs/proof/reached.json', import.meta.url);
/** Keep stack traces short, because injected faults create many Error objects. */
Error.stackTraceLimit = 8;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    histories: { type: 'string', default: '100' },
    minutes: { type: 'string' },
    profile: { type: 'string' },
    /** System of record for payments: dynamodb or postgres. */
    authority: { type: 'string', default: 'dynamodb' },
    whole: { type: 'boolean', default: false },
    /** Includes items that were never reached. */
    reached: { type: 'boolean', default: false },
    /** Writes the coverage for docs/proof/planted-faults.md. */
    write: { type: 'boolean', default: false },
  },
});
if (values.profile !== undefined && !Object.hasOwn(PROFILES, values.profile)) {
  process.stderr.write(`Unknown profile ${values.profile}. Known profiles: ${Object.keys(PROFILES).join(', ')}.\n`);
  process.exit(2);
}
if (!['dynamodb', 'postgres'].includes(values.authority)) {
  process.stderr.write(`Unknown authority ${values.authority}. Known: dynamodb, postgres.\n`);
  process.exit(2);
}
const postgres = values.authority === 'postgres' ? await startPostgres() : undefined;
const profiles = values.profile === undefined ? Object.keys(PROFILES) : [values.profile];
const firstSeed = Number(values.seed);
const most = values.minutes === undefined ? Number(values.histories) : Number.POSITIVE_INFINITY;
const untilMs =
  values.minutes === undefined ? Number.POSITIVE_INFINITY : performance.now() + Number(values.minutes) * 60_000;

const cells = countCells();
const reached = nothingReached();
/** By oracle. */
const found = new Map<string, { readonly history: History; times: number }>();
const startedMs = performance.now();
let reportedMs = startedMs;
let histories = 0;
let gates = 0;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** An error of the simulator itself is returned as a violated oracle. */
async function violated(
  history: History,
): Promise<{ readonly oracles: readonly string[]; readonly faults: readonly string[] }> {
  try {
    const { system, violations, ends } = await play(history, postgres);
    gates += system.simulation.gates;
    const now = reachedBy(system, history, { cells, ends });
    addReached(reached, now);
    return {
      oracles: [...new Set([...violations, ...reachedUnreachableCells(now)].map(({ oracle }) => oracle))],
      faults: system.faults.map(({ name }) => name),
    };
  } catch (error) {
    return { oracles: [`the simulator fails: ${(error as Error).message.split('\n')[0]}`], faults: [] };
  }
}

async function printShortest(oracle: string, history: History): Promise<void> {
  const run = async (shorter: History): Promise<Shown> => {
    const { oracles, faults } = await violated(shorter);
    return { violates: oracles.includes(oracle), faults };
  };
  const shortest = values.whole ? history : (await shrink(history, run, MAX_SHRINKING_RUNS)).history;
  say(`\n${oracle}\n${describeHistory(shortest)}`);
  const shown = await play(shortest, postgres).catch(() => undefined);
  for (const { what, about } of shown?.violations.filter((each) => each.oracle === oracle).slice(0, 3) ?? [])
    say(`  → ${what}${about === undefined ? '' : ` (${about})`}`);
  for (const { name, kind, label, of } of shown?.system.faults.slice(0, 10) ?? [])
    say(`  fault ${kind} at ${label} of ${of} (${name})`);
  say(`  ${JSON.stringify(shortest)}`);
}

/** The server stops when this program ends. */
async function startPostgres(): Promise<SimulatedPostgres> {
  const { server, url } = await startServer('postgres-server.ts');
  process.env[POSTGRES_URL] = url;
  server.unref();
  server.channel?.unref();
  return SimulatedPostgres.create();
}

while (histories < most && performance.now() < untilMs) {
  const seed = firstSeed + histories;
  const profile = profiles[histories % profiles.length] ?? 'everything';
  const history = generate(seed, profile);
  const { oracles } = await violated(history);
  histories += 1;
  for (const oracle of oracles) {
    say(`seed ${seed} of profile ${profile}: ${oracle}`);
    const known = found.get(oracle);
    if (known === undefined) found.set(oracle, { history, times: 1 });
    else known.times += 1;
  }
  if (performance.now() - reportedMs < PROGRESS_MS) continue;
  reportedMs = performance.now();
  const perSecond = histories / ((reportedMs - startedMs) / 1_000);
  say(`${histories} histories, ${perSecond.toFixed(1)} per second, ${found.size} oracles violated`);
}

const cpuMs = process.cpuUsage().user / 1_000;
say(
  `${histories} histories; on average ${Math.round(cpuMs / histories)} ms of CPU and ${Math.round(gates / histories)} calls for each, ` +
    `on one of ${availableParallelism()} cores`,
);
if (values.reached) for (const line of reportReached(reached)) say(line);
if (values.write) writeFileSync(REACHED, `${JSON.stringify(reached, null, 2)}\n`);
for (const [oracle, { history, times }] of found) {
  say(`\n${times} of ${histories} histories violate this oracle:`);
  await printShortest(oracle, history);
}
await postgres?.close();
if (found.size > 0) process.exitCode = 1;
