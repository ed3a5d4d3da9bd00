/**
 * Runs every test with its enumerations whole, and the simulator with fresh seeds. `npm test` runs the same code on a slice of the
 * longest. A part that fails does not keep the others from running. `PAYONCE_SEED` repeats a seed.
 */
import { Command } from 'commander';
import { runNpmScript } from './npm-script.ts';

/** Time of the simulator. Minutes. */
const MINUTES = 20;
const { list } = new Command('npm run prove --')
  .description('Runs all tests with their complete enumerations, and the simulator with fresh seeds.')
  .option('--list', 'print the commands and run nothing', false)
  .parse()
  .opts<{ readonly list: boolean }>();
/** Seeds are far from those of the slice. */
const seed = process.env['PAYONCE_SEED'] ?? String(1_000_000 + Math.floor(Date.now() / 1_000));

const scripts = [
  ['test:unit', []],
  ['test:aws', []],
  ['simulate', ['--seed', seed, '--minutes', String(MINUTES)]],
] as const;

const ended: string[] = [];
for (const [script, values] of scripts) {
  console.log(['npm run', script, '--', ...values].join(' '));
  if (list) continue;
  const begunMs = performance.now();
  const code = await runNpmScript(script, { PAYONCE_PROVE: '1' }, values);
  if (code !== 0) process.exitCode = code;
  ended.push(
    `${script} ${code === 0 ? 'passed' : 'failed'} after ${Math.round((performance.now() - begunMs) / 60_000)} minutes`,
  );
}
for (const line of ended) console.log(line);
