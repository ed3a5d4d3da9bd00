import { dirname } from 'node:path';
import { runningProcesses, signalProcess } from '../../local/processes.ts';

/** The command line of each process of this run contains the directory of the run. */
function isOfThisRun(commandLine: string): boolean {
  return commandLine.includes(dirname(process.env['PAYONCE_TEST_LOCAL_JSON'] ?? '/nowhere/else'));
}

/**
 * @param pick position in the list of workers as a fraction of its length: at least 0, less than 1
 * @returns false if the stack has no worker
 */
export function killWorker(stack: string, pick: number): boolean {
  const workers = workersOf(stack);
  const chosen = workers[Math.floor(pick * workers.length)];
  if (chosen !== undefined) signalProcess(chosen, 'SIGKILL');
  return chosen !== undefined;
}

/**
 * Returns the process ids of a function, or of all functions of a stack. Each process handles one invocation at a time.
 */
export function workersOf(functionName: string): readonly number[] {
  return runningProcesses()
    .filter(({ commandLine }) => commandLine.includes(`ministack-lambda-${functionName}-`))
    .filter(({ commandLine }) => commandLine.includes('_worker.js') && isOfThisRun(commandLine))
    .map(({ pid }) => pid);
}
