import { POWERTOOLS_IDEMPOTENCY_DISABLED, TRACING } from '../kernel/contract/environment.ts';
import { systemInstruments } from '../kernel/platform/instruments.ts';
import { countLongWaits } from '../kernel/platform/long-waits.ts';
import { systemClock } from '../kernel/platform/platform.ts';
import type { Variables } from '../kernel/platform/variables.ts';
import { idempotentRunner } from './idempotent-runner.ts';
import type { OperationRunner } from './use/operation-runner.ts';

export interface UnitOfWork {
  /** Describes the unit, for example `an event`. One invocation of the function may process several units. */
  readonly unit: string;
  /**
   * Describes the record that proves that a unit was processed: the effect itself, a record in one transaction with the
   * effect, or a claim that is completed after a call to another system.
   */
  readonly record: string;
}

/**
 * Wraps the handler of a Lambda function in the idempotency utility:
 *
 *     export const handler = idempotently({ unit, record }, (runner) => paymentsApi({ runner, … }));
 *
 * The runner is Powertools' `makeIdempotent` with a custom persistence layer. Only this function provides the runner,
 * and each unit of work must run through it. An event may contain several units; each is claimed, executed and
 * committed separately.
 *
 * @throws Error when the environment disables idempotency; the function then does not start
 */
export function idempotently<Handler>(_work: UnitOfWork, build: (runner: OperationRunner) => Handler): Handler {
  refuseIfIdempotencyDisabled(process.env);
  return watched(build(process.env[TRACING] === undefined ? idempotentRunner : lazilyTraced));
}

function watched<Handler>(handler: Handler): Handler {
  if (handler instanceof Promise) return handler.then(watched) as Handler;
  if (typeof handler !== 'function') return handler;
  const handle = handler as unknown as (event: unknown, ...rest: readonly unknown[]) => unknown;
  const counted = async (event: unknown, ...rest: readonly unknown[]): Promise<unknown> => {
    countLongWaits({ clock: systemClock, instruments: systemInstruments }, event);
    return handle(event, ...rest);
  };
  return counted as Handler;
}

/** A function without tracing never loads the tracing code. */
const lazilyTraced: OperationRunner = {
  run: async (operationId, steps) => (await traced()).run(operationId, steps),
  record: async (operationId, steps) => (await traced()).record(operationId, steps),
};

async function traced(): Promise<OperationRunner> {
  const { tracedRunner } = await import('./traced-runner.ts');
  return tracedRunner(idempotentRunner);
}

function refuseIfIdempotencyDisabled(environment: Variables): void {
  if (environment[POWERTOOLS_IDEMPOTENCY_DISABLED] === undefined) return;
  throw new Error(
    `${POWERTOOLS_IDEMPOTENCY_DISABLED} is set: remove it, because this function never runs without idempotency`,
  );
}
