import { dirname } from 'node:path';
import { runningProcesses, signalProcess } from '../../local/processes.ts';

/**
 * Reports whether a process belongs to this run, by the run's directory in its command line. Other runs may exist on
 * this machine.
 */
function isOfThisRun(commandLine: string): boolean {
  return commandLine.includes(dirname(process.env['PAYONCE_TEST_LOCAL_JSON'] ?? '/nowhere/else'));
}

/**
 * Kills one worker of any function of a stack.
 * @param pick position of the worker among all workers, from 0 to 1
 * @returns whether there was a worker
 */
export function killWorker(stack: string, pick: number): boolean {
  const workers = workersOf(stack);
  const chosen = workers[Math.floor(pick * workers.length)];
  if (chosen !== undefined) signalProcess(chosen, 'SIGKILL');
  return chosen !== undefined;
}

/**
 * Returns the processes that run a function, or all functions of a stack, on the local AWS. Each process handles one
 * invocation at a time, and can be killed as a Lambda process can.
 */
export function workersOf(functionName: string): readonly number[] {
  return runningProcesses()
    .filter(({ commandLine }) => commandLine.includes(`ministack-lambda-${functionName}-`))
    .filter(({ commandLine }) => commandLine.includes('_worker.js') && isOfThisRun(commandLine))
    .map(({ pid }) => pid);
}
