import { beforeEach, describe, expect, test } from '@jest/globals';
import { type DeadLetters, storeOnce } from '../../lambdas/outbound/use/dead-letters.ts';
import { deadLetter, keyOf } from './dead-letter-fixtures.ts';

describe('a process that repeatedly gives up on one call', () => {
  let put: string[];
  let isAway: boolean;
  let deadLetters: DeadLetters;

  beforeEach(() => {
    put = [];
    isAway = false;
    deadLetters = storeOnce({
      put: async (one) => {
        if (isAway) throw new Error('away');
        put.push(keyOf(one));
      },
    });
  });

  test('stores only one dead letter for that call, and one for each other call', async () => {
    for (const key of ['k-1', 'k-2', 'k-1', 'k-1']) await deadLetters.put(deadLetter(key));
    expect(put).toEqual(['k-1', 'k-2']);
  });

  test('stores the dead letter on a retry after the queue was unavailable', async () => {
    isAway = true;
    await expect(deadLetters.put(deadLetter('k-1'))).rejects.toThrow('away');
    isAway = false;
    await deadLetters.put(deadLetter('k-1'));
    expect(put).toEqual(['k-1']);
  });

  test('remembers only the last thousand dead letters', async () => {
    for (let made = 0; made <= 1_000; made += 1) await deadLetters.put(deadLetter(`k-${made}`));
    await deadLetters.put(deadLetter('k-1000'));
    await deadLetters.put(deadLetter('k-0'));
    expect(put).toHaveLength(1_002);
  });
});
