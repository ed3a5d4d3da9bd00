/**
 * Runs the emulator and sees to it that nothing outlives its purpose: all that it started, the Lambdas' workers among them, is
 * one process group, and the group is ended when this process is told to end, when the emulator ends, or when the pipe
 * to whoever started it breaks (which it does even when that process is killed outright). After the word "detach" on
 * the pipe it goes on alone.
 *
 *   node keeper.ts <log file> <command> <arguments…>
 */
import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';

const GRACE_MS = 5_000;
const [logFile = '', command = '', ...parameters] = process.argv.slice(2);
const log = openSync(logFile, 'a');
const emulator = spawn(command, parameters, { stdio: ['ignore', log, log] });

let ending = false;
let detached = false;

function end(): void {
  if (ending) return;
  ending = true;
  // The emulator saves its state when it is asked to end; its workers end with the group.
  emulator.kill('SIGTERM');
  setTimeout(endGroup, GRACE_MS).unref();
}

function endGroup(): void {
  try {
    process.kill(-process.pid, 'SIGKILL');
  } catch {
    emulator.kill('SIGKILL');
    process.exit(1);
  }
}

emulator.on('exit', endGroup);
emulator.on('error', endGroup);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, end);
process.stdin.on('data', (word: Buffer) => {
  if (word.toString('utf8').trim() === 'detach') detached = true;
});
process.stdin.on('end', endUnlessDetached);
process.stdin.on('error', endUnlessDetached);

function endUnlessDetached(): void {
  if (!detached) end();
}
