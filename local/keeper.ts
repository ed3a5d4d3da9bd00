/**
 * Runs a command and sees to it that nothing of it outlives its purpose: all that it starts, the Lambdas' workers among
 * them, is one process group, and the group is ended when this process is told to end, when the command ends, or when the pipe
 * to whoever started it breaks (which it does even when that process is killed outright). After the word "detach" on
 * the pipe it goes on alone. Its exit code is the command's, when that ended by itself.
 *
 *   node keeper.ts <directory that it works for> <command> <arguments…>
 */
import { spawn } from 'node:child_process';
import { runningProcesses, signalProcess } from './processes.ts';

/** The emulator saves its state when it is told to end, which takes the longer the more it holds. Milliseconds. */
const GRACE_MS = 20_000;
/** The directory is there for whoever looks at the list of processes. */
const [, command = '', ...parameters] = process.argv.slice(2);
const kept = spawn(command, parameters, { stdio: ['ignore', 'inherit', 'inherit'] });

let ending = false;
let detached = false;

function end(): void {
  if (ending) return;
  ending = true;
  kept.kill('SIGTERM');
  setTimeout(leave, GRACE_MS, 1).unref();
}

/** Takes whoever is left in the group along. */
function leave(code: number): void {
  const others = runningProcesses().filter(({ pid, group }) => group === process.pid && pid !== process.pid);
  for (const { pid } of others) signalProcess(pid, 'SIGKILL');
  process.exit(code);
}

kept.on('exit', (code) => leave(code ?? 1));
kept.on('error', (error) => {
  console.error(error.message);
  leave(1);
});
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, end);
process.stdin.on('data', (word: Buffer) => {
  if (word.toString('utf8').trim() === 'detach') detached = true;
});
process.stdin.on('end', endUnlessDetached);
process.stdin.on('error', endUnlessDetached);

function endUnlessDetached(): void {
  if (!detached) end();
}
