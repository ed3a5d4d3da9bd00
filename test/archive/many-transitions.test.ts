import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { whole } from '../support/slice.ts';

/** Without limits, garbage would accumulate until the machine's memory is used up. */
const HEAP = ['--max-old-space-size=128', '--max-semi-space-size=8'];

test('verification compares 250,000 transitions with their archive in less than 300 MB of memory', async () => {
  const transitions = whole(250_000, { slice: 2_000 });
  const script = join(import.meta.dirname, 'many-transitions-process.ts');

  const { stdout } = await promisify(execFile)(process.execPath, [...HEAP, script, String(transitions)]);

  const { counts, kinds, peakMegabytes } = JSON.parse(stdout) as {
    readonly counts: object;
    readonly kinds: readonly string[];
    readonly peakMegabytes: number;
  };
  expect(counts).toEqual({ rows: transitions, lines: transitions, chains: transitions / 2 });
  expect(kinds).toEqual(['chain_broken', 'row_differs']);
  expect(peakMegabytes).toBeLessThan(300);
}, 1_800_000); // Stops a process that hangs.
