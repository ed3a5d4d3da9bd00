/**
 * Ends all processes of a command when the command or the parent ends, even if the parent is killed: the pipe to the
 * parent then closes. The command and everything that it starts, including the Lambda workers, form one process group.
 * After the keeper has read the word "detach" from the pipe, it ignores the end of the parent.
 *
 *   node keeper.ts <directory> <command> <arguments…>
 */
import { spawn } from 'node:child_process';
import { runningProcesses, signalProcess } from './processes.ts';

/**
 * Time that the group has to end after a termination signal, in milliseconds. If the emulator is killed before it has
 * saved its state, changes since its previous save are lost.
 */
const GRACE_MS = 60_000;
/** The first argument, the directory, only identifies the process in the process list. */
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
process.stdin.on('data', (input: Buffer) => {
  if (input.toString('utf8').trim() === 'detach') detached = true;
});
process.stdin.on('end', endUnlessDetached);
process.stdin.on('error', endUnlessDetached);

function endUnlessDetached(): void {
  if (!detached) end();
}
