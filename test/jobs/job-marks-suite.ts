import { beforeEach, describe, expect, test } from '@jest/globals';
import type { JobMarks } from '../../lambdas/jobs/use/job-marks.ts';

export function describeJobMarks(name: string, make: () => Promise<JobMarks>): void {
  let marks: JobMarks;
  let made = 0;
  let job: string;
  beforeEach(async () => {
    marks = await make();
    made += 1;
    job = `job-${process.pid}-${made}`;
  });

  describe(`the marks in the ${name} job-mark store`, () => {
    test('do not exist at first, and can each be created only once', async () => {
      expect(await marks.readMark(job)).toBeUndefined();
      expect(await marks.moveMark(job, undefined, '60000')).toBe(true);
      expect(await marks.moveMark(job, undefined, '120000')).toBe(false);
      expect(await marks.readMark(job)).toBe('60000');
      expect(await marks.readMark(`${job}-other`)).toBeUndefined();
    });

    test('are moved only if the writer passes their current value', async () => {
      await marks.moveMark(job, undefined, '60000');
      expect(await marks.moveMark(job, '120000', '180000')).toBe(false);
      expect(await marks.moveMark(job, '60000', '120000')).toBe(true);
      expect(await marks.moveMark(job, '60000', '120000')).toBe(false);
      expect(await marks.readMark(job)).toBe('120000');
    });

    test('are moved by exactly one of many concurrent writers', async () => {
      const moved = await Promise.all([1, 2, 3, 4].map((to) => marks.moveMark(job, undefined, `${to}`)));
      expect(moved.filter(Boolean)).toHaveLength(1);
    });
  });
}
