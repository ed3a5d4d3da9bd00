import type { Answer } from '../../kernel/answer.ts';
import type { OperationId } from '../../kernel/ids.ts';
import type { CompletedRecord } from '../domain/idempotency.ts';

/** Completed records only, in this process, so that a warm replay costs no call. */
export interface ReplayCache {
  get(operationId: OperationId): CompletedRecord | undefined;
  put(record: CompletedRecord): void;
}

/** What was done in this process, for effects of which a second one is harmless, and only costs. */
export interface OnceInProcess<Outcome> {
  find(operationId: OperationId): Outcome | undefined;
  keep(operationId: OperationId, outcome: Outcome): void;
  forget(operationId: OperationId): void;
}

/** What a claim came to: ours to do, already done, or not ours. */
export type ClaimStep<Outcome> =
  | { readonly kind: 'claimed' }
  /** A stored answer is replayed. */
  | { readonly kind: 'completed'; readonly outcome: Outcome; readonly answer: Answer }
  | { readonly kind: 'refused'; readonly outcome: Outcome };

/** One operation, in the order in which it is run. */
export interface OperationSteps<Work, Outcome> {
  claim(): Promise<ClaimStep<Outcome>>;
  execute(): Promise<Work>;
  commit(work: Work): Promise<Outcome>;
  /** After `execute` threw; must not throw itself. */
  release(): Promise<void>;
}

/** An effect of our own, in the order in which it is run: no claim, because its record and the effect commit together. */
export interface EffectSteps<Work, Outcome> {
  /** What an earlier run came to. */
  find(): Promise<Outcome | undefined>;
  prepare(): Promise<Work>;
  commit(work: Work): Promise<Outcome>;
}

/** Runs one operation so that it takes effect once. One run, one instance of everything: nothing is shared between two keys. */
export interface OperationRunner {
  run<Work, Outcome>(operationId: OperationId, steps: OperationSteps<Work, Outcome>): Promise<Outcome>;
  /** Commit-only. */
  record<Work, Outcome>(operationId: OperationId, steps: EffectSteps<Work, Outcome>): Promise<Outcome>;
}
