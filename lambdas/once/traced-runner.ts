import { withSpan } from '../kernel/platform/x-ray.ts';
import type { EffectSteps, OperationRunner, OperationSteps } from './use/operation-runner.ts';

/** For an effect, `find` is recorded as the claim, and `prepare` as the call. */
export function tracedRunner(runner: OperationRunner): OperationRunner {
  return {
    run: <Held, Work, Outcome>(
      operation: Parameters<OperationRunner['run']>[0],
      steps: OperationSteps<Held, Work, Outcome>,
    ) =>
      runner.run<Held, Work, Outcome>(operation, {
        claim: () => withSpan({ name: 'claim', operation }, () => steps.claim()),
        execute: (held) => withSpan({ name: 'call', operation }, () => steps.execute(held)),
        commit: (work, held) => withSpan({ name: 'commit', operation }, () => steps.commit(work, held)),
        // Name each step: spread syntax would skip class methods, because they are not own properties.
        ...(steps.release === undefined ? {} : { release: async (held: Held) => steps.release?.(held) }),
      }),
    record: <Work, Outcome>(operation: Parameters<OperationRunner['record']>[0], steps: EffectSteps<Work, Outcome>) =>
      runner.record<Work, Outcome>(operation, {
        find: () => withSpan({ name: 'claim', operation }, () => steps.find()),
        prepare: () => withSpan({ name: 'call', operation }, () => steps.prepare()),
        commit: (work) => withSpan({ name: 'commit', operation }, () => steps.commit(work)),
      }),
  };
}
