/**
 * Runs `npm test`, or the given script, while a busy loop runs on each core, because no test may depend on the speed of
 * a machine.
 */
import { Command } from 'commander';
import { startBusyLoops } from '../support/busy-loops.ts';
import { runNpmScript } from './npm-script.ts';

const [script = 'test'] = new Command('npm run test:busy --')
  .description('Runs a script while another program keeps every core busy.')
  .argument('[script]', 'script of package.json; default: test')
  .parse().args;
const loops = startBusyLoops();
console.log(`${loops.count} busy loops run in parallel with "npm run ${script}"`);
try {
  process.exitCode = await runNpmScript(script);
} finally {
  loops.stop();
}
