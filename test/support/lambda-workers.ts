import { execFileSync } from 'node:child_process';

/**
 * The processes that run a function on the local AWS. Each handles one invocation at a time, and can be killed as Lambda's
 * can.
 */
export function workersOf(functionName: string): readonly number[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' }).split('\n');
  return lines
    .filter((line) => line.includes(`ministack-lambda-${functionName}-`) && line.includes('_worker.js'))
    .map((line) => Number.parseInt(line.trim(), 10));
}
