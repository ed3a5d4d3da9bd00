import type { Mutant } from './mutant.ts';

export const ARCHIVE_MUTANTS: readonly Mutant[] = [
  {
    name: 'archiver-passes-over-a-failed-batch',
    fault: 'A batch that the archive did not accept is skipped instead of retried.',
    edits: [
      {
        file: 'lambdas/archive/use/archive-lines.ts',
        find: 'await objects.put(object);',
        replace: 'await objects.put(object).catch(report);',
      },
    ],
  },
  {
    name: 'archiver-trusts-a-timeout',
    fault: 'An object that may be in the archive is treated as archived.',
    edits: [
      {
        file: 'lambdas/archive/store/s3-archive.ts',
        find: "if (error instanceof S3ServiceException && error.name === 'PreconditionFailed') return 'there';",
        replace: "if (!(error instanceof S3ServiceException) || error.name === 'PreconditionFailed') return 'there';",
      },
    ],
  },
  {
    name: 'archived-line-without-index',
    fault: 'The archived line of an outcome lacks the index attribute, so the line differs from its row.',
    edits: [
      {
        file: 'lambdas/archive/store/stream-lines.ts',
        find: "if (eventName === 'INSERT') return item && { ...place, change: eventName, item };",
        replace:
          "if (eventName === 'INSERT') return item && { ...place, change: eventName, item: Object.fromEntries(Object.entries(item).filter(([name]) => name !== 'outcomeBucket')) };",
      },
    ],
  },
];
