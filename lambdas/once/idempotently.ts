import { POWERTOOLS_IDEMPOTENCY_DISABLED } from '../kernel/contract/environment.ts';
import type { Variables } from '../kernel/platform/variables.ts';
import { idempotentRunner } from './idempotent-runner.ts';
import type { OperationRunner } from './use/operation-runner.ts';

/** What a function does once, however often it is asked to. */
export interface UnitOfWork {
  /** One of these takes effect once. */
  readonly unit: string;
  /** What tells that a unit was done before. It is written with the effect, or is the effect: no write is made for it alone. */
  readonly record: string;
}

/**
 * Wraps the handler of a Lambda function in the idempotency utility:
 *
 *     export const handler = idempotently({ unit, record }, (runner) => paymentsApi({ runner, … }));
 *
 * The runner is Powertools' `makeIdempotent` with our persistence layer. A function gets it here and nowhere else, and runs
 * each unit of its work through it: an event may hold many units, and each is claimed, done and committed by itself.
 *
 * @throws Error when idempotency is switched off in the environment: the function does not start
 */
export function idempotently<Handler>(_work: UnitOfWork, build: (runner: OperationRunner) => Handler): Handler {
  refuseIfIdempotencyDisabled(process.env);
  return build(idempotentRunner);
}

/** @throws Error when Powertools would run every unit of work without idempotency */
function refuseIfIdempotencyDisabled(environment: Variables): void {
  if (environment[POWERTOOLS_IDEMPOTENCY_DISABLED] === undefined) return;
  throw new Error(`${POWERTOOLS_IDEMPOTENCY_DISABLED} is set: remove it, this function never runs without idempotency`);
}
