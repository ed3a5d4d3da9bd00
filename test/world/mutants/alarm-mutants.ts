import type { Mutant } from './mutant.ts';

/** Planted faults in the metrics that alarms watch. */
export const ALARM_MUTANTS: readonly Mutant[] = [
  {
    name: 'mismatches-counted-as-none',
    fault: 'The comparison of the books reports no mismatches, even after it has confirmed some.',
    edits: [
      {
        file: 'lambdas/reconciliation/http/books-telemetry.ts',
        find: 'BooksMetric.mismatches, MetricUnit.Count, confirmed',
        replace: 'BooksMetric.mismatches, MetricUnit.Count, 0 * confirmed',
      },
    ],
  },
  {
    name: 'oldest-unknown-is-new',
    fault: 'The oldest unknown outcome is always reported as new.',
    edits: [
      {
        file: 'lambdas/resolving/use/observed-work.ts',
        find: '[BacklogMetric.oldestUnknown]: oldest',
        replace: '[BacklogMetric.oldestUnknown]: 0 * oldest',
      },
    ],
  },
  {
    name: 'waiting-messages-without-alarm',
    fault: 'Messages that have been retried for a long time are counted in a metric that no alarm watches.',
    edits: [
      {
        file: 'lambdas/kernel/platform/long-waits.ts',
        find: "const METRIC: AlarmMetric = 'messages_wait';",
        replace: "const METRIC = 'messages_wait_unreported' as AlarmMetric;",
      },
    ],
  },
  {
    name: 'given-up-orphan-without-alarm',
    fault: 'A callback that matched no payment for a day is discarded without an alarm.',
    edits: [
      {
        file: 'lambdas/resolving/use/retry-orphans.ts',
        find: 'if (now.isForeign !== true) alarm',
        replace: 'if (now.isForeign === true) alarm',
      },
    ],
  },
  {
    name: 'stuck-hold-without-alarm',
    fault: 'A hold that cannot be voided raises no alarm.',
    needs: ['trouble'],
    edits: [
      {
        file: 'lambdas/resolving/use/expire-authorizations.ts',
        find: "    else if ((await marked(tools, entry, 'undecidable', keep)) !== 'undecidable') return ONE_LEFT;\n",
        replace: "    else if ((await marked(tools, entry, 'undecidable', keep)) !== 'finished') return ONE_LEFT;\n",
      },
    ],
  },
  {
    name: 'orphan-given-up-after-an-hour',
    fault: 'A callback that matched no payment is discarded after an hour instead of a day.',
    edits: [
      {
        file: 'lambdas/resolving/use/retry-orphans.ts',
        find: 'const RETRY_FOR_MS = 24 * 60 * 60_000;',
        replace: 'const RETRY_FOR_MS = 60 * 60_000;',
      },
    ],
  },
];
