import {
  IdempotencyConfig,
  IdempotencyItemAlreadyExistsError,
  IdempotencyPersistenceLayerError,
  IdempotencyRecordStatus,
  makeIdempotent,
} from '@aws-lambda-powertools/idempotency';
import { BasePersistenceLayer, IdempotencyRecord } from '@aws-lambda-powertools/idempotency/persistence';
import type { OperationId } from '../kernel/ids.ts';
import { invariant } from '../kernel/invariant.ts';
import type { EffectSteps, OperationRunner, OperationSteps } from './use/operation-runner.ts';

/**
 * Runs an operation inside the Powertools idempotency utility, with a persistence layer of our own, made anew for every
 * run: a shared one keeps the first configuration that it saw. The key is the wrapped function's only argument, so no
 * event is looked at, hashed or changed.
 */
export const idempotentRunner: OperationRunner = {
  async run<Work, Outcome>(operationId: OperationId, steps: OperationSteps<Work, Outcome>): Promise<Outcome> {
    const layer = new OperationLayer(operationId, steps);
    const execute = (_key: OperationId): Promise<Work> => steps.execute();
    const run = makeIdempotent(execute, { persistenceStore: layer, config: new IdempotencyConfig({}) });
    try {
      await run(operationId);
    } catch (error: unknown) {
      const cause: unknown = error instanceof IdempotencyPersistenceLayerError ? error.cause : error;
      if (!(cause instanceof ClaimRefused)) throw cause;
    }
    return layer.outcome();
  },

  async record<Work, Outcome>(operationId: OperationId, steps: EffectSteps<Work, Outcome>): Promise<Outcome> {
    return idempotentRunner.run(operationId, {
      claim: async () => {
        const found = await steps.find();
        return found === undefined ? { kind: 'claimed' } : { kind: 'refused', outcome: found };
      },
      execute: () => steps.prepare(),
      commit: (work) => steps.commit(work),
      // Nothing was claimed: what fails before the commit leaves nothing behind.
      release: async () => undefined,
    });
  },
};

/** Tells Powertools that the function must not run. Carries nothing: the layer keeps the outcome. */
class ClaimRefused extends Error {
  override readonly name = 'ClaimRefused';
}

class OperationLayer<Work, Outcome> extends BasePersistenceLayer {
  readonly #operationId: OperationId;
  readonly #steps: OperationSteps<Work, Outcome>;
  #outcome: { readonly value: Outcome } | undefined;

  constructor(operationId: OperationId, steps: OperationSteps<Work, Outcome>) {
    super();
    this.#operationId = operationId;
    this.#steps = steps;
  }

  outcome(): Outcome {
    invariant(this.#outcome !== undefined, 'a run ends with an outcome or an error');
    return this.#outcome.value;
  }

  /** The operation id is a digest already, derived from all that makes the operation one. */
  override getHashedIdempotencyKey(): string {
    return this.#operationId;
  }

  /** The lease is the claim's own affair; without a remaining time Powertools would warn on every run. */
  override async saveInProgress(key: OperationId): Promise<void> {
    await super.saveInProgress(key, 1);
  }

  protected async _putRecord(): Promise<void> {
    const step = await this.#steps.claim();
    if (step.kind === 'claimed') return;
    this.#outcome = { value: step.outcome };
    if (step.kind === 'refused') throw new ClaimRefused();
    throw new IdempotencyItemAlreadyExistsError(
      'the operation has its answer',
      // No expiry: it was judged by the claim, on its own clock.
      new IdempotencyRecord({
        idempotencyKey: this.#operationId,
        status: IdempotencyRecordStatus.COMPLETED,
        responseData: step.answer.body,
      }),
    );
  }

  protected async _updateRecord(record: IdempotencyRecord): Promise<void> {
    this.#outcome = { value: await this.#steps.commit(record.responseData as Work) };
  }

  protected async _deleteRecord(): Promise<void> {
    await this.#steps.release();
  }

  protected async _getRecord(): Promise<IdempotencyRecord> {
    throw new Error('the claim carries the existing record: it is never read a second time');
  }
}
