import { describe, expect, test } from '@jest/globals';
import {
  acceptedRun,
  isEnded,
  isOverdue,
  type JobRun,
  nextAttempt,
  runIdOf,
  withFailure,
  withoutRunningAttempt,
  withPageDone,
  withPageStarted,
  withSkippedItem,
  workerLivesMs,
} from '../../lambdas/jobs/domain/job-run.ts';

const T0 = Date.UTC(2026, 2, 1, 12);
const MINUTE = 60_000;
const fresh = acceptedRun('resolve', T0, T0 + 300);
const NONE = { done: 0, left: 0, failed: 0 };

/** Returns the kind of each attempt if the worker crashes at every attempt. */
function deaths(run: JobRun, times: number): readonly string[] {
  const seen: string[] = [];
  let now = run;
  for (let time = 0; time < times; time += 1) {
    seen.push(nextAttempt(now));
    now = withPageStarted(now, T0);
  }
  return seen;
}

function dead(run: JobRun, times: number): JobRun {
  return times === 0 ? run : dead(withPageStarted(run, T0), times - 1);
}

describe('a run', () => {
  test('is identified by the second for which it is scheduled, whenever it is requested', () => {
    expect(runIdOf('resolve', T0 + 999)).toBe('resolve:2026-03-01T12:00:00Z');
    expect(acceptedRun('resolve', T0 + 999, T0 + 70_000).runId).toBe(fresh.runId);
  });

  test('begins once, and counts every attempt', () => {
    const first = withPageStarted(fresh, T0 + 1_000);
    expect(first).toMatchObject({ status: 'running', startedAtMs: T0 + 1_000, attempts: 1, version: 2 });
    expect(withPageStarted(first, T0 + MINUTE)).toMatchObject({ startedAtMs: T0 + 1_000, attempts: 2, version: 3 });
  });

  test('continues from the cursor and keeps its counts', () => {
    const one = withPageDone(
      withPageStarted(fresh, T0),
      { counts: { done: 3, left: 1, failed: 1 }, items: 5, cursor: 'e' },
      T0,
    );
    expect(one).not.toHaveProperty('begunAtMs');
    expect(one).toMatchObject({ cursor: 'e', done: 3, left: 1, failed: 1, attempts: 0, status: 'running', version: 3 });
    const two = withPageDone(
      withPageStarted(one, T0),
      { counts: { done: 2, left: 0, failed: 0 }, items: 2 },
      T0 + MINUTE,
    );
    expect(two).toMatchObject({ done: 5, left: 1, failed: 1, status: 'succeeded', endedAtMs: T0 + MINUTE, version: 5 });
    expect(two).not.toHaveProperty('cursor');
    expect(isEnded(two)).toBe(true);
  });

  test('keeps the names of the first failed items, and counts all of them', () => {
    const failures = ['a', 'b'.repeat(300)];
    const page = { counts: { ...NONE, failed: 2 }, items: 2, failures };
    const one = withPageDone(withPageStarted(fresh, T0), { ...page, cursor: 'b' }, T0);
    expect(one).toMatchObject({ failed: 2, failedItems: ['a', 'b'.repeat(200)] });
    const names = Array.from({ length: 50 }, (_, index) => String(index));
    const rest = { counts: { ...NONE, failed: 50 }, items: 50, failures: names };
    const two = withPageDone(withPageStarted(one, T0), rest, T0);
    expect(two.failedItems).toEqual([...(one.failedItems ?? []), ...names.slice(0, 18)]);
    expect(two.failed).toBe(52);
  });

  test('records the reason when it fails', () => {
    const failed = withFailure(withPageStarted(fresh, T0), 'overdue', T0 + MINUTE);
    expect(failed).toMatchObject({ status: 'failed', reason: 'overdue', endedAtMs: T0 + MINUTE, version: 3 });
    expect(isEnded(failed)).toBe(true);
  });

  test('is overdue a fixed time after its start, or after its acceptance if it has not started', () => {
    expect(isOverdue(fresh, 60, T0 + 300 + MINUTE)).toBe(false);
    expect(isOverdue(fresh, 60, T0 + 301 + MINUTE)).toBe(true);
    const begun = withPageStarted(fresh, T0 + 2 * MINUTE);
    expect(isOverdue(begun, 60, T0 + 3 * MINUTE)).toBe(false);
    expect(isOverdue(begun, 60, T0 + 3 * MINUTE + 1)).toBe(true);
  });
});

test('a worker that may have been alive when another worker took over is not counted as crashed', () => {
  const begun = withPageStarted(fresh, T0);
  expect(workerLivesMs(fresh, T0)).toBe(0);
  expect(workerLivesMs(begun, T0 + 30_000)).toBe(60_000);
  expect(withoutRunningAttempt(begun, T0 + 89_999).attempts).toBe(0);
  expect(withoutRunningAttempt(begun, T0 + 90_000).attempts).toBe(1);
  let run = fresh;
  for (let time = 0; time < 50; time += 1)
    run = withPageStarted(withoutRunningAttempt(run, T0 + time * 1_000), T0 + time * 1_000);
  expect(run.attempts).toBe(1);
});

describe('a page that crashes its workers', () => {
  test('is attempted twice as a whole, then three times item by item; two attempts then try to skip the item, and finally the run fails', () => {
    expect(deaths(fresh, 9)).toEqual([
      'whole_page',
      'whole_page',
      'one_item',
      'one_item',
      'one_item',
      'pass_over',
      'pass_over',
      'give_up',
      'give_up',
    ]);
  });

  test('is processed item by item up to the last suspect item; each worker processes one suspect item', () => {
    let run = dead(fresh, 3);
    for (let item = 1; item < 60; item += 1) {
      run = withPageDone(run, { counts: { ...NONE, done: 1 }, items: 1, cursor: `${item}` }, T0);
      expect(nextAttempt(run)).toBe('one_item');
      run = withPageStarted(run, T0);
    }
    expect(deaths(run, 3)).toEqual(['one_item', 'one_item', 'pass_over']);
  });

  test('is no longer suspect after all its items are processed', () => {
    let run = dead(fresh, 3);
    for (let item = 1; item <= 100; item += 1) {
      run = withPageStarted(withPageDone(run, { counts: { ...NONE, done: 1 }, items: 1, cursor: `${item}` }, T0), T0);
    }
    expect(run).not.toHaveProperty('oneByOne');
    expect(run).toMatchObject({ done: 100, attempts: 1 });
  });

  test('is followed by a whole page after an item is skipped', () => {
    const run = withSkippedItem(dead(fresh, 6), { name: 'pay_1', cursor: 'b' }, T0);
    expect(run).toMatchObject({ cursor: 'b', failed: 1, skipped: ['pay_1'], attempts: 0, status: 'running' });
    expect(nextAttempt(run)).toBe('whole_page');
  });

  test('ends the run when the skipped item was the last one', () => {
    expect(withSkippedItem(dead(fresh, 6), { name: 'pay_1' }, T0)).toMatchObject({ status: 'succeeded', failed: 1 });
  });

  test('adds only the first skipped items to the list of names, but all of them to the count', () => {
    let run = fresh;
    for (let item = 0; item < 50; item += 1)
      run = withSkippedItem(run, { name: 'n'.repeat(1_000), cursor: `${item}` }, T0);
    expect(run.failed).toBe(50);
    expect(run.skipped).toHaveLength(20);
    expect(run.skipped[0]).toHaveLength(200);
  });
});
