import type { Mutant } from './mutant.ts';

/** Planted faults in the archiver. */
export const ARCHIVE_MUTANTS: readonly Mutant[] = [
  {
    name: 'archiver-passes-over-a-failed-batch',
    fault: 'A batch that the archive did not take is not archived.',
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
    fault: 'An object that the archive may have is taken for one that it has.',
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
    fault: 'The line of an outcome lacks the attribute of the index, so that it differs from its row.',
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
