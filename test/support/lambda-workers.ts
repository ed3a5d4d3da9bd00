import { runningProcesses } from '../../local/processes.ts';

/**
 * The processes that run a function on the local AWS. Each handles one invocation at a time, and can be killed as Lambda's
 * can.
 */
export function workersOf(functionName: string): readonly number[] {
  return runningProcesses()
    .filter(({ commandLine }) => commandLine.includes(`ministack-lambda-${functionName}-`))
    .filter(({ commandLine }) => commandLine.includes('_worker.js'))
    .map(({ pid }) => pid);
}
