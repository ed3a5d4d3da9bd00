import { dirname } from 'node:path';
import { runningProcesses, signalProcess } from '../../local/processes.ts';

/** Others may run on this machine: what is below its directory is this run's. */
function isOfThisRun(commandLine: string): boolean {
  return commandLine.includes(dirname(process.env['PAYONCE_TEST_LOCAL_JSON'] ?? '/nowhere/else'));
}

/** A worker of any function of a stack, chosen by `pick`, 0 to 1, ends at once. @returns whether there was one */
export function killWorker(stack: string, pick: number): boolean {
  const workers = workersOf(stack);
  const chosen = workers[Math.floor(pick * workers.length)];
  if (chosen !== undefined) signalProcess(chosen, 'SIGKILL');
  return chosen !== undefined;
}

/**
 * The processes that run a function, or all functions of a stack, on the local AWS. Each handles one invocation at a time, and can be killed as Lambda's
 * can.
 */
export function workersOf(functionName: string): readonly number[] {
  return runningProcesses()
    .filter(({ commandLine }) => commandLine.includes(`ministack-lambda-${functionName}-`))
    .filter(({ commandLine }) => commandLine.includes('_worker.js') && isOfThisRun(commandLine))
    .map(({ pid }) => pid);
}
