import type { Example } from './examples.ts';

/** What the routes of jobs really answer, for the API's documents: the tests ask for each and compare. */

const accepted = {
  id: 'close-days:2026-03-01T12:00:00Z',
  object: 'job_run',
  job: 'close-days',
  scheduled_for: '2026-03-01T12:00:00Z',
  status: 'accepted',
  accepted_at: '2026-03-01T12:00:00Z',
  started_at: null,
  ended_at: null,
  duration: null,
  done: 0,
  left: 0,
  failed: 0,
  set_aside: 0,
  reason: null,
};

const succeeded = {
  ...accepted,
  status: 'succeeded',
  started_at: '2026-03-01T12:00:02Z',
  ended_at: '2026-03-01T12:00:05Z',
  duration: 2.5,
  done: 12,
  left: 1,
};

export const startRunExamples = {
  now: { summary: 'For now', value: {} },
  time: { summary: 'For a time that was missed', value: { scheduled_for: '2026-03-01T12:00:00Z' } },
} satisfies Record<string, Example>;

export const acceptedRunExamples = {
  accepted: { summary: 'Accepted', value: accepted },
} satisfies Record<string, Example>;

export const runExamples = {
  succeeded: { summary: 'It has ended', value: succeeded },
} satisfies Record<string, Example>;

export const runListExamples = {
  one: { summary: 'One run', value: { object: 'list', data: [succeeded], has_more: false } },
} satisfies Record<string, Example>;

export const jobListExamples = {
  nightly: {
    summary: 'One of them',
    value: {
      object: 'list',
      data: [
        {
          id: 'close-days',
          object: 'job',
          why: 'Adds up the days that are over, so that a balance reads a row for a day instead of its entries.',
          schedule: 'cron(20 1 * * ? *)',
          time_zone: 'UTC',
          overlap: 'forbid',
          last_run: succeeded,
          next_run: '2026-03-02T01:20:00Z',
        },
      ],
      has_more: false,
    },
  },
} satisfies Record<string, Example>;
