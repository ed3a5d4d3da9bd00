import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, test } from '@jest/globals';
import { kill } from '../../demo/side.ts';

const begun: ChildProcess[] = [];
afterEach(() => {
  for (const child of begun.splice(0)) child.kill('SIGKILL');
});

/** The process looks like a worker of a function, and has its own process group. */
async function worker(functionName: string): Promise<ChildProcess> {
  const child = spawn(
    process.execPath,
    [
      '-e',
      'process.stdout.write("ready"); setInterval(() => undefined, 1_000)',
      `ministack-lambda-${functionName}-1/_worker.js`,
    ],
    { detached: true, stdio: ['ignore', 'pipe', 'ignore'] },
  );
  begun.push(child);
  if (child.stdout !== null) await once(child.stdout, 'data');
  return child;
}

test('killing a function kills none of its processes on another local AWS of the machine', async () => {
  const [mine, sameNameElsewhere] = await Promise.all([worker('Payments'), worker('Payments')]);
  const ended = once(mine, 'exit');
  expect(kill('Payments', mine.pid ?? 0)).toBe(1);
  expect(await ended).toEqual([null, 'SIGKILL']);
  expect(kill('Payments', sameNameElsewhere.pid ?? 0)).toBe(1);
});

test('killing a function kills no processes of another function on the same local AWS', async () => {
  const payments = await worker('Payments');
  expect(kill('Shop', payments.pid ?? 0)).toBe(0);
});
