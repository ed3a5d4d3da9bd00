import { rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Command, Option } from 'commander';
import { wrapMarkdown } from '../docs/generate/wrap.ts';
import { AUTHORITIES, type Authority } from '../lambdas/authority/contract.ts';
import { defined } from '../lambdas/kernel/defined.ts';
import { makeDirectory, PAYONCE_DIRECTORY } from '../local/directories.ts';
import { authorityOf, type LocalAws, startLocalAws } from '../local/local-aws.ts';
import { StateFile } from '../local/state-file.ts';
import { page } from './page.ts';
import { Runner } from './runner.ts';
import { SCENARIOS } from './scenarios.ts';
import { exitCode, type Finding, plainTable } from './verdict.ts';

const PAGE = resolve(import.meta.dirname, '..', 'docs', 'start', 'demo.md');
/** It differs from the default port and from the ports of tests and benchmarks. If it is taken, another is used. */
const DEMO_PORT = 14_866;

const { write, authority } = new Command('npm run demo --')
  .description('Causes the same failures at a naive payment handler and at Payonce, and counts the results.')
  .option('--write', 'write docs/start/demo.md from this run', false)
  .addOption(
    new Option('--authority <name>', 'the system of record; the default is the one of "npm start"').choices(
      AUTHORITIES,
    ),
  )
  .parse()
  .opts<{ readonly write: boolean; readonly authority?: Authority }>();

/** The directory is kept after a failure, because it contains the logs. */
const directory = join(PAYONCE_DIRECTORY, 'demo');
rmSync(directory, { recursive: true, force: true });
makeDirectory(directory);
const findings = await onLocalAws(demonstrate);
rmSync(directory, { recursive: true, force: true });
console.log(`\nCounts are charges (or refunds) / postings / events / effects.\n\n${plainTable(findings)}\n`);
if (write) writeFileSync(PAGE, wrapMarkdown(page(findings)));
process.exitCode = exitCode(findings);
console.log(process.exitCode === 0 ? 'Payonce: exactly once in every scenario.' : 'Payonce was NOT exactly once.');

function progress(text: string): void {
  console.log(`… ${text}`);
}

async function onLocalAws<Result>(use: (aws: LocalAws) => Promise<Result>): Promise<Result> {
  const running = await new StateFile(PAYONCE_DIRECTORY).running();
  if (running !== undefined && (authority ?? authorityOf(running)) === authorityOf(running)) return use(running);
  progress('starting a local AWS for this run');
  const { aws, emulator } = await startLocalAws({
    directory,
    port: DEMO_PORT,
    persist: false,
    ...defined({ authority }),
    report: (step, detail) => {
      if (step !== '') progress(detail === undefined ? step : `${step}: ${detail}`);
    },
  });
  try {
    return await use(aws);
  } finally {
    await emulator.stop();
  }
}

async function demonstrate(aws: LocalAws): Promise<readonly Finding[]> {
  const begunMs = performance.now();
  const runner = new Runner(aws, join(directory, 'demo'));
  const watch = { step: progress };
  await runner.deploy(watch);
  try {
    return await runner.run(SCENARIOS, watch);
  } finally {
    progress(`done after ${Math.round((performance.now() - begunMs) / 1_000)} s; removing the naive shop`);
    await runner.end();
  }
}
