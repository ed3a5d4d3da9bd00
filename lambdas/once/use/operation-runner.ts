import type { Answer } from '../../kernel/answer.ts';
import type { OperationId } from '../../kernel/ids.ts';
import type { CompletedRecord } from '../domain/idempotency.ts';

/** Entries may disappear at any time. No method throws. */
export interface ReplayCache {
  find(operationId: OperationId): Promise<CompletedRecord | undefined>;
  /** Caches a record that was read from the store because `find` did not return it. */
  put(record: CompletedRecord): void;
  /** Caches the record that the caller owns and has just committed. */
  committed(record: CompletedRecord): Promise<void>;
}

/** Used for effects that are safe but costly to repeat. */
export interface OnceInProcess<Outcome> {
  find(operationId: OperationId): Outcome | undefined;
  keep(operationId: OperationId, outcome: Outcome): void;
}

export type ClaimStep<Held, Outcome> =
  | { readonly kind: 'claimed'; readonly held: Held }
  | { readonly kind: 'completed'; readonly outcome: Outcome; readonly answer: Answer }
  | { readonly kind: 'refused'; readonly outcome: Outcome };

/** The steps are in execution order. */
export interface OperationSteps<Held, Work, Outcome> {
  claim(): Promise<ClaimStep<Held, Outcome>>;
  execute(held: Held): Promise<Work>;
  commit(work: Work, held: Held): Promise<Outcome>;
  /**
   * Called after `execute` has thrown. Lets the next attempt begin before the lease ends, if this is safe. Must not
   * throw.
   *
   * @default nothing is released, and the claim lasts until its lease ends
   */
  release?(held: Held): Promise<void>;
}

/** The steps are in execution order. There is no claim, because the record and the effect are committed together. */
export interface EffectSteps<Work, Outcome> {
  find(): Promise<Outcome | undefined>;
  prepare(): Promise<Work>;
  commit(work: Work): Promise<Outcome>;
}

/** Two runs share no state, so that one idempotency key cannot affect another. */
export interface OperationRunner {
  run<Held, Work, Outcome>(operationId: OperationId, steps: OperationSteps<Held, Work, Outcome>): Promise<Outcome>;
  record<Work, Outcome>(operationId: OperationId, steps: EffectSteps<Work, Outcome>): Promise<Outcome>;
}
