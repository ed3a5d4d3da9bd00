import { afterEach, expect, jest, test } from '@jest/globals';
import { Command } from 'commander';
import { Session } from '../../cli/session.ts';

afterEach(() => {
  jest.restoreAllMocks();
});

test('progress is printed at most every ten seconds if the output is not a terminal', async () => {
  let nowMs = 0;
  jest.spyOn(Date, 'now').mockImplementation(() => nowMs);
  const printed: string[] = [];
  const print = (line: string): number => printed.push(line);
  const session = new Session(new Command(), { print, isTerminal: false, freshKey: () => 'key' });
  const result = await session.during('Verifying', async (report) => {
    for (; nowMs <= 20_000; nowMs += 1_000) report(`${nowMs / 1000} of 20`);
    return 'done';
  });
  expect([result, ...printed]).toEqual(['done', '… 0 of 20', '… 10 of 20', '… 20 of 20']);
});
