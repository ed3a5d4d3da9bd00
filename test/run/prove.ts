/** Runs every test with its enumerations whole. `npm test` runs the same code on a slice of the longest. */
import { runNpmScript } from './npm-script.ts';

for (const script of ['test:unit', 'test:aws']) {
  process.exitCode = await runNpmScript(script, { PAYONCE_PROVE: '1' });
  if (process.exitCode !== 0) break;
}
