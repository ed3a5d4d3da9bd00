import { describe, expect, test } from '@jest/globals';
import { isTimeZone, nextScheduled, readSchedule, type Schedule } from '../../lambdas/jobs/schedules.ts';

function schedule(text: string, timeZone?: string): Schedule {
  const read = readSchedule(text, timeZone);
  if (read.kind === 'invalid') throw new Error(read.reason);
  return read.schedule;
}

/** Returns fewer times if the schedule ends. */
function times(text: string, from: string, count: number, timeZone?: string): readonly string[] {
  const read = schedule(text, timeZone);
  const found: string[] = [];
  let nowMs = Date.parse(from);
  for (let index = 0; index < count; index += 1) {
    const nextMs = nextScheduled(read, nowMs);
    if (nextMs === undefined) break;
    found.push(new Date(nextMs).toISOString().replace(':00.000Z', 'Z'));
    nowMs = nextMs;
  }
  return found;
}

/** The expected times are from the EventBridge Scheduler user guide, "Schedule types", and the calendar of 2026. */
describe('a schedule', () => {
  test.each<readonly [string, readonly string[]]>([
    ['cron(15 2 * * ? *)', ['2026-01-01T02:15Z', '2026-01-02T02:15Z']],
    ['cron(0/15 * * * ? *)', ['2026-01-01T00:15Z', '2026-01-01T00:30Z']],
    ['cron(5,35/10 12 * * ? *)', ['2026-01-01T12:05Z', '2026-01-01T12:35Z', '2026-01-01T12:45Z']],
    ['cron(0 */6 * * ? *)', ['2026-01-01T06:00Z', '2026-01-01T12:00Z']],
    ['cron(0 8 1 * ? *)', ['2026-01-01T08:00Z', '2026-02-01T08:00Z']],
    ['cron(0 8 L * ? *)', ['2026-01-31T08:00Z', '2026-02-28T08:00Z']],
    ['cron(0 8 LW * ? *)', ['2026-01-30T08:00Z', '2026-02-27T08:00Z']],
    ['cron(0 8 15W * ? *)', ['2026-01-15T08:00Z', '2026-02-16T08:00Z']],
    ['cron(0 18 ? * MON-FRI *)', ['2026-01-01T18:00Z', '2026-01-02T18:00Z', '2026-01-05T18:00Z']],
    ['cron(0 18 ? * 2-6 *)', ['2026-01-01T18:00Z', '2026-01-02T18:00Z', '2026-01-05T18:00Z']],
    ['cron(0 18 ? * 1 *)', ['2026-01-04T18:00Z', '2026-01-11T18:00Z']],
    ['cron(0 18 ? * SUN,7 *)', ['2026-01-03T18:00Z', '2026-01-04T18:00Z']],
    ['cron(0 18 ? * L *)', ['2026-01-03T18:00Z', '2026-01-10T18:00Z']],
    ['cron(15 10 ? * 6L 2026-2027)', ['2026-01-30T10:15Z', '2026-02-27T10:15Z']],
    ['cron(15 10 ? * 3#2 *)', ['2026-01-13T10:15Z', '2026-02-10T10:15Z']],
    ['cron(0 0 1 JAN,JUL ? *)', ['2026-07-01T00:00Z', '2027-01-01T00:00Z']],
    ['cron(0 0 29 2 ? *)', ['2028-02-29T00:00Z', '2032-02-29T00:00Z']],
    ['cron(0 0 2 1 ? 2026)', ['2026-01-02T00:00Z']],
    ['cron(0 0 1 1 ? 2028/2)', ['2028-01-01T00:00Z', '2030-01-01T00:00Z']],
  ])('%s fires at the expected times', (text, expected) => {
    expect(times(text, '2026-01-01T00:00:00Z', expected.length)).toEqual(expected);
  });

  test('never fires again after its end', () => {
    expect(times('cron(0 0 2 1 ? 2026)', '2026-01-02T00:00:00Z', 1)).toEqual([]);
  });

  test.each([
    ['at(2026-01-01T00:00:00)', 'must be rate('],
    ['rate(0 minutes)', 'must be rate('],
    ['rate(-1 minutes)', 'must be rate('],
    ['rate(1.5 hours)', 'must be rate('],
    ['rate(5 seconds)', 'must be rate('],
    ['rate(1 minutes)', 'must say 1 minute'],
    ['rate(5 minute)', 'must say 5 minutes'],
    ['rate(2 day)', 'must say 2 days'],
    ['cron(15 2 * * ?)', 'must have 6 fields'],
    ['cron(15  2 * * ? *)', 'must have 6 fields'],
    ['cron(0 15 2 * * ? *)', 'must have 6 fields'],
    ['cron(15 2 * * * *)', 'must have ? as either the day of month or the day of week'],
    ['cron(15 2 ? * ? *)', 'must have ? as either the day of month or the day of week'],
    ['cron(60 2 * * ? *)', 'Invalid value for minute: 60'],
    ['cron(0 24 * * ? *)', 'Invalid value for hour: 24'],
    ['cron(a 2 * * ? *)', 'must have a valid minutes field: 0 to 59'],
    ['cron(? 2 * * ? *)', 'must have a valid minutes field'],
    ['cron(0 2 0 * ? *)', 'must be valid: CronPattern: '],
    ['cron(0 2 32 * ? *)', 'must be valid: CronPattern: '],
    ['cron(0 2 L-3 * ? *)', 'must have a valid day of month field'],
    ['cron(0 2 * 13 ? *)', 'must be valid: CronPattern: '],
    ['cron(0 2 * FOO ? *)', 'must be valid: CronPattern: '],
    ['cron(0 2 ? * 0 *)', 'must have a valid day of week field: 1 to 7, 1 being Sunday'],
    ['cron(0 2 ? * 8 *)', 'must have a valid day of week field'],
    ['cron(0 2 ? * FOO *)', 'must be valid: CronPattern: '],
    ['cron(0 2 ? * 2#6 *)', 'must have a valid day of week field'],
    ['cron(0 2 ? * FRI-MON *)', 'must be valid: CronPattern: '],
    ['cron(0 2 * * ? 1969)', 'must have a valid year field: 1970 to 2199'],
    ['cron(0 2 * * ? 2200)', 'must have a valid year field'],
    ['cron(0 2 30 2 ? *)', 'must fire at least once'],
    ['cron(0 2 30 FEB ? 2026)', 'must fire at least once'],
  ])('%s is refused, and the error says what is allowed', (text, reason) => {
    expect(readSchedule(text)).toMatchObject({ kind: 'invalid', reason: expect.stringContaining(reason) });
  });
});

describe('on a day when clocks are set forward,', () => {
  test('a local time that does not exist is skipped', () => {
    expect(times('cron(30 2 * * ? *)', '2026-03-28T00:00:00Z', 3, 'Europe/Berlin')).toEqual([
      '2026-03-28T01:30Z',
      '2026-03-30T00:30Z',
      '2026-03-31T00:30Z',
    ]);
    expect(times('cron(30 2 * * ? *)', '2026-03-07T12:00:00Z', 1, 'America/New_York')).toEqual(['2026-03-09T06:30Z']);
    // A change of only half an hour: from 02:00 to 02:30.
    expect(times('cron(0,45 2 * * ? *)', '2026-10-02T16:00:00Z', 3, 'Australia/Lord_Howe')).toEqual([
      '2026-10-02T16:15Z',
      '2026-10-03T15:45Z',
      '2026-10-04T15:00Z',
    ]);
  });

  test('the times before and after the gap fire once each', () => {
    expect(times('cron(0/30 * * * ? *)', '2026-03-29T00:00:00Z', 4, 'Europe/Berlin')).toEqual([
      '2026-03-29T00:30Z',
      '2026-03-29T01:00Z',
      '2026-03-29T01:30Z',
      '2026-03-29T02:00Z',
    ]);
  });

  test('a yearly time inside the gap fires in the next year', () => {
    expect(times('cron(30 2 29 3 ? *)', '2026-03-01T00:00:00Z', 1, 'Europe/Berlin')).toEqual(['2027-03-29T00:30Z']);
  });
});

describe('on a day when clocks are set back,', () => {
  test('a local time that occurs twice fires once', () => {
    expect(times('cron(30 2 * * ? *)', '2026-10-24T12:00:00Z', 2, 'Europe/Berlin')).toEqual([
      '2026-10-25T00:30Z',
      '2026-10-26T01:30Z',
    ]);
    expect(times('cron(30 1 * * ? *)', '2026-10-31T12:00:00Z', 2, 'America/New_York')).toEqual([
      '2026-11-01T05:30Z',
      '2026-11-02T06:30Z',
    ]);
  });

  test.each(['2026-10-25T00:31:00Z', '2026-10-25T01:00:00Z', '2026-10-25T01:15:00Z', '2026-10-25T01:29:59Z'])(
    'a repeated local time does not fire at its second occurrence (from %s)',
    (from) => {
      expect(times('cron(30 2 * * ? *)', from, 1, 'Europe/Berlin')).toEqual(['2026-10-26T01:30Z']);
    },
  );

  test('an hourly schedule skips the repeated hour', () => {
    expect(times('cron(0 * * * ? *)', '2026-10-24T23:00:00Z', 3, 'Europe/Berlin')).toEqual([
      '2026-10-25T00:00Z',
      '2026-10-25T02:00Z',
      '2026-10-25T03:00Z',
    ]);
    expect(times('cron(0/30 * * * ? *)', '2026-10-25T01:10:00Z', 2, 'Europe/Berlin')).toEqual([
      '2026-10-25T02:00Z',
      '2026-10-25T02:30Z',
    ]);
  });
});

describe('a rate', () => {
  const at = (text: string) => Date.parse(text);
  const next = (nowMs: number, lastMs?: number) => {
    const nextMs = nextScheduled(schedule('rate(5 minutes)'), nowMs, lastMs);
    return nextMs === undefined ? undefined : new Date(nextMs).toISOString();
  };

  test('is counted from its last firing', () => {
    expect(next(at('2026-01-01T00:03:40Z'), at('2026-01-01T00:02:00Z'))).toBe('2026-01-01T00:07:00.000Z');
  });

  test('keeps its phase when firings were missed', () => {
    expect(next(at('2026-01-01T03:00:00Z'), at('2026-01-01T00:02:00Z'))).toBe('2026-01-01T03:02:00.000Z');
    expect(next(at('2026-01-01T00:07:00Z'), at('2026-01-01T00:02:00Z'))).toBe('2026-01-01T00:12:00.000Z');
  });

  test('has no next time before the first run', () => {
    expect(next(at('2026-01-01T00:00:00Z'))).toBeUndefined();
  });

  test('treats each day as 24 hours, even if clocks change', () => {
    const nextMs = nextScheduled(schedule('rate(1 day)'), at('2026-03-28T12:00:00Z'), at('2026-03-28T12:00:00Z'));
    expect(nextMs).toBe(at('2026-03-29T12:00:00Z'));
  });
});

test.each([
  ['UTC', true],
  ['Europe/Berlin', true],
  ['Asia/Kolkata', true],
  ['Etc/GMT+3', true],
  ['America/Port_of_Spain', true],
  ['Europe/Nowhere', false],
  ['europe/berlin', false],
  ['+01:00', false],
  ['', false],
])('isTimeZone(%s) returns %s', (name, is) => {
  expect(isTimeZone(name)).toBe(is);
});
