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
 * Each run has a new layer, because a shared layer keeps its first configuration. The operation id is the only argument
 * of the wrapped function, so Powertools does not inspect, hash or change any event.
 */
export const idempotentRunner: OperationRunner = {
  async run<Held, Work, Outcome>(
    operationId: OperationId,
    steps: OperationSteps<Held, Work, Outcome>,
  ): Promise<Outcome> {
    const layer = new OperationLayer(operationId, steps);
    const execute = (_key: OperationId): Promise<Work> => steps.execute(layer.held());
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
    // Nothing is written before the commit, so there is no claim to release.
    return idempotentRunner.run<undefined, Work, Outcome>(operationId, {
      claim: async () => {
        const found = await steps.find();
        return found === undefined ? { kind: 'claimed', held: undefined } : { kind: 'refused', outcome: found };
      },
      execute: () => steps.prepare(),
      commit: (work) => steps.commit(work),
    });
  },
};

/** Makes Powertools skip the function. The layer contains the outcome of the refused claim. */
class ClaimRefused extends Error {
  override readonly name = 'ClaimRefused';
}

class OperationLayer<Held, Work, Outcome> extends BasePersistenceLayer {
  readonly #operationId: OperationId;
  readonly #steps: OperationSteps<Held, Work, Outcome>;
  #held: { readonly value: Held } | undefined;
  #outcome: { readonly value: Outcome } | undefined;

  constructor(operationId: OperationId, steps: OperationSteps<Held, Work, Outcome>) {
    super();
    this.#operationId = operationId;
    this.#steps = steps;
  }

  held(): Held {
    invariant(this.#held !== undefined, 'the operation is not claimed');
    return this.#held.value;
  }

  outcome(): Outcome {
    invariant(this.#outcome !== undefined, 'the run ended without an outcome or an error');
    return this.#outcome.value;
  }

  /** The operation id is already a digest of everything that identifies the operation. */
  override getHashedIdempotencyKey(): string {
    return this.#operationId;
  }

  /**
   * The `claim` step sets the lease, not Powertools. The remaining time of 1 ms only prevents a warning that Powertools
   * would otherwise log for every run.
   */
  override async saveInProgress(key: OperationId): Promise<void> {
    await super.saveInProgress(key, 1);
  }

  protected async _putRecord(): Promise<void> {
    const step = await this.#steps.claim();
    if (step.kind === 'claimed') {
      this.#held = { value: step.held };
      return;
    }
    this.#outcome = { value: step.outcome };
    if (step.kind === 'refused') throw new ClaimRefused();
    throw new IdempotencyItemAlreadyExistsError(
      'the operation already has a response',
      // The record is passed without its expiry: the claim has already compared the expiry with the injected clock.
      new IdempotencyRecord({
        idempotencyKey: this.#operationId,
        status: IdempotencyRecordStatus.COMPLETED,
        responseData: step.answer.body,
      }),
    );
  }

  protected async _updateRecord(record: IdempotencyRecord): Promise<void> {
    this.#outcome = { value: await this.#steps.commit(record.responseData as Work, this.held()) };
  }

  protected async _deleteRecord(): Promise<void> {
    await this.#steps.release?.(this.held());
  }

  protected async _getRecord(): Promise<IdempotencyRecord> {
    throw new Error('Powertools tried to read a record; only the claim reads it');
  }
}
