/** Runs `npm test`, or the script that is named, beside a busy loop on each core: no test may depend on how fast a machine is. */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { Command } from 'commander';
import { runNpmScript } from './npm-script.ts';

/** At normal priority, so that it takes half of a core from whatever else wants it. It ends with this process. */
const BUSY_LOOP = `
process.once('disconnect', () => process.exit());
(function work() {
  const untilMs = Date.now() + 100;
  while (Date.now() < untilMs);
  setImmediate(work);
})();`;

const [script = 'test'] = new Command('npm run test:busy --')
  .description('Runs a script while another program keeps every core busy.')
  .argument('[script]', 'the script of package.json; without it, test')
  .parse().args;
const loops = Array.from({ length: availableParallelism() }, () =>
  spawn(process.execPath, ['--eval', BUSY_LOOP], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
);
console.log(`${loops.length} busy loops run beside "npm run ${script}"`);
try {
  process.exitCode = await runNpmScript(script);
} finally {
  for (const loop of loops) loop.kill();
}
