import { POWERTOOLS_IDEMPOTENCY_DISABLED, TRACING } from '../kernel/contract/environment.ts';
import type { Variables } from '../kernel/platform/variables.ts';
import { idempotentRunner } from './idempotent-runner.ts';
import type { OperationRunner } from './use/operation-runner.ts';

/** The unit of work of a function, which takes effect once. */
export interface UnitOfWork {
  /** The unit. A function may process several units for one event. */
  readonly unit: string;
  /** The record that shows that a unit was done. It is written with the effect, or is the effect; it is never a separate write. */
  readonly record: string;
}

/**
 * Wraps the handler of a Lambda function in the idempotency utility:
 *
 *     export const handler = idempotently({ unit, record }, (runner) => paymentsApi({ runner, … }));
 *
 * The runner is Powertools' `makeIdempotent` with a custom persistence layer. A function gets the runner only here, and runs
 * each unit of work through it. An event may contain several units; each is claimed, executed and committed separately.
 *
 * @throws Error when the environment disables idempotency; the function then does not start
 */
export function idempotently<Handler>(_work: UnitOfWork, build: (runner: OperationRunner) => Handler): Handler {
  refuseIfIdempotencyDisabled(process.env);
  return build(process.env[TRACING] === undefined ? idempotentRunner : lazilyTraced);
}

/** Loads the code of spans with the first operation: a function that records none does not. */
const lazilyTraced: OperationRunner = {
  run: async (operationId, steps) => (await traced()).run(operationId, steps),
  record: async (operationId, steps) => (await traced()).record(operationId, steps),
};

async function traced(): Promise<OperationRunner> {
  const { tracedRunner } = await import('./traced-runner.ts');
  return tracedRunner(idempotentRunner);
}

/** @throws Error when Powertools would run every unit of work without idempotency */
function refuseIfIdempotencyDisabled(environment: Variables): void {
  if (environment[POWERTOOLS_IDEMPOTENCY_DISABLED] === undefined) return;
  throw new Error(`${POWERTOOLS_IDEMPOTENCY_DISABLED} is set: remove it, this function never runs without idempotency`);
}
