import fc, { type RunDetails } from 'fast-check';
import { sliceOfRun } from './slice.ts';

/** Counts each generated input as a case of the file's budget. */
function report<Drawn>(details: RunDetails<Drawn>): void {
  if (details.failed) throw new Error(fc.defaultReportMessage(details), { cause: details.errorInstance });
  globalThis.spendCases?.(details.numRuns);
}

// Runs of the same slice generate the same inputs, so that a failure can be reproduced.
fc.configureGlobal({ seed: sliceOfRun(), reporter: report });

export { fc };
