/**
 * Runs `npm test`, or the given script, while a busy loop runs on each core, because no test may depend on the speed of
 * a machine.
 */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { Command } from 'commander';
import { runNpmScript } from './npm-script.ts';

/** Runs at normal priority, so that it competes for half of a core. Ends with this process. */
const BUSY_LOOP = `
process.once('disconnect', () => process.exit());
(function work() {
  const untilMs = Date.now() + 100;
  while (Date.now() < untilMs);
  setImmediate(work);
})();`;

const [script = 'test'] = new Command('npm run test:busy --')
  .description('Runs a script while another program keeps every core busy.')
  .argument('[script]', 'script of package.json; default: test')
  .parse().args;
const loops = Array.from({ length: availableParallelism() }, () =>
  spawn(process.execPath, ['--eval', BUSY_LOOP], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
);
console.log(`${loops.length} busy loops run in parallel with "npm run ${script}"`);
try {
  process.exitCode = await runNpmScript(script);
} finally {
  for (const loop of loops) loop.kill();
}
