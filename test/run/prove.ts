/**
 * Runs every test with its enumerations whole, and the simulator with fresh seeds. `npm test` runs the same code on a slice of the
 * longest. A seed is repeated by `PAYONCE_SEED`.
 */
import { runNpmScript } from './npm-script.ts';

/** So long the simulator plays. Minutes. */
const MINUTES = 20;
/** Seeds are far from those of the slice. */
const seed = process.env['PAYONCE_SEED'] ?? String(1_000_000 + Math.floor(Date.now() / 1_000));

const scripts = [
  ['test:unit', []],
  ['test:aws', []],
  ['simulate', ['--seed', seed, '--minutes', String(MINUTES)]],
] as const;

process.stdout.write(`PAYONCE_SEED=${seed}\n`);
for (const [script, values] of scripts) {
  process.exitCode = await runNpmScript(script, { PAYONCE_PROVE: '1' }, values);
  if (process.exitCode !== 0) break;
}
