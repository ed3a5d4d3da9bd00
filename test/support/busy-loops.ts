import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';

/**
 * Runs at normal priority, so that it takes half of a core from other work, and ends with the process that started it.
 */
const BUSY_LOOP = `
process.once('disconnect', () => process.exit());
(function work() {
  const untilMs = Date.now() + 100;
  while (Date.now() < untilMs);
  setImmediate(work);
})();`;

export function startBusyLoops(): { readonly count: number; stop(): void } {
  const loops = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ['--eval', BUSY_LOOP], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
  );
  return {
    count: loops.length,
    stop: () => {
      for (const loop of loops) loop.kill();
    },
  };
}
