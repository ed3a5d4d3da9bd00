import { expect, test } from '@jest/globals';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { countLongWaits } from '../../lambdas/kernel/platform/long-waits.ts';
import { idempotently } from '../../lambdas/once/idempotently.ts';
import { catchWrittenLines } from '../support/written-lines.ts';

const MINUTE_MS = 60_000;
const NOW_MS = Date.UTC(2026, 0, 1);
const lines = catchWrittenLines();

const batchOf = (...agesMs: readonly number[]) => ({
  Records: agesMs.map((ageMs) => ({ attributes: { SentTimestamp: String(NOW_MS - ageMs) } })),
});
const count = (event: unknown): void =>
  countLongWaits({ clock: { nowMs: () => NOW_MS }, instruments: systemInstruments }, event);

test('messages that waited for half an hour are counted in one metric for all functions', () => {
  count(batchOf(0, 30 * MINUTE_MS, 6 * 60 * MINUTE_MS, 29 * MINUTE_MS));
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ service: 'alarms', messages_wait: 2 }]);
});

test.each([
  ['messages that arrive in time', batchOf(0, 29 * MINUTE_MS)],
  ['a Stream batch', { Records: [{ dynamodb: { ApproximateCreationDateTime: 1 } }] }],
  ['a request', { httpMethod: 'GET', headers: {} }],
  ['nothing', undefined],
])('the count of long waits ignores %s', (_what, event) => {
  count(event);
  expect(lines).toEqual([]);
});

test('a wrapped function counts long waits first and then processes the messages, because a message may crash the function', async () => {
  const work = { unit: 'a message', record: 'none' };
  const handler = await idempotently(work, async () => async (event: unknown): Promise<unknown> => {
    expect(lines).toHaveLength(1);
    throw new Error(JSON.stringify(event));
  });
  await expect(handler(batchOf(0))).rejects.toThrow('SentTimestamp');
});
