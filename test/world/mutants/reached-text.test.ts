import { execFileSync } from 'node:child_process';
import { expect, test } from '@jest/globals';

/**
 * Each number in `rounds` is the number of calls in one round. Returns for each round whether the mutant that edits
 * this function was reported.
 */
function reachedAfter(rounds: readonly number[]): unknown {
  const script = `
    import { ReachedText } from './test/world/mutants/reached-text.ts';
    const text = new ReachedText();
    const { isOfAnotherPayment } = await import('./lambdas/payments/domain/processor-charge.ts');
    const reached = ${JSON.stringify(rounds)}.map((times) => {
      for (let call = 0; call < times; call += 1) isOfAnotherPayment({}, undefined);
      return text.take().includes('edited-charge-is-a-stray');
    });
    console.log(JSON.stringify(reached));
  `;
  const output = execFileSync(process.execPath, ['--input-type=module-typescript', '--eval', script], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return JSON.parse(output);
}

test('the code that a mutant edits is reported in each round that runs it, however often earlier rounds ran it', () => {
  expect(reachedAfter([1, 100_000, 100_000, 1, 0])).toEqual([true, true, true, true, false]);
});
