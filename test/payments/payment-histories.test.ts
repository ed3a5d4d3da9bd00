/** Tests the guarantee "one charge". */
import { describe, expect, test } from '@jest/globals';
import type { Answer } from '../../lambdas/kernel/answer.ts';
import { AmbiguousError } from '../../lambdas/kernel/faults.ts';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import type { ProcessorAbilities } from '../../lambdas/payments/domain/settlement.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { type SurveyOptions, surveyFaults, violatedGuarantees } from '../support/fault-histories.ts';
import type { Actor } from '../support/fault-plan.ts';
import { PORT_ERRORS } from '../support/faulty-ports.ts';
import { whole } from '../support/slice.ts';
import { paymentRequest } from './payment-fixtures.ts';
import {
  everyRace,
  type MakeWorld,
  type Mutation,
  PaymentWorld,
  paymentStory,
  type Race,
  type Seen,
} from './payment-story.ts';

interface Variant {
  readonly source?: string;
  readonly abilities?: ProcessorAbilities;
  readonly mutation?: Mutation;
}

const engine =
  ({ source = 'tok_ok', ...variant }: Variant = {}): MakeWorld =>
  (plan) => ({ world: new PaymentWorld({ plan, ...variant }), request: paymentRequest('history', { source }) });

/** The calls of a payment are claim, charge and commit. */
const RACES = everyRace(3);
const survey = (make: MakeWorld, options: SurveyOptions<Race>) =>
  surveyFaults(paymentStory(make), { races: RACES, ...options });

/** A typical handler without protection: the response, the charge and the posting are three separate writes. */
class NaiveWorld extends PaymentWorld {
  readonly #answers = new Map<string, Answer>();
  readonly #postings: string[] = [];
  #attempts = 0;

  protected override async handle(actor: Actor, request: CreatePayment): Promise<Seen> {
    const { paymentId: key, amountMinor, currency, source, capture } = request;
    const seen = await actor.call('findAnswer', PORT_ERRORS, async () => this.#answers.get(key));
    if (seen !== undefined) return { kind: 'answered', answer: seen };

    this.#attempts += 1;
    const operationId = storedOperationId(`attempt-${this.#attempts}`);
    const order = { operationId, paymentId: key, amountMinor, currency, source, capture };
    const outcome = await this.toolsOf(actor).processor.charge(order, { timeoutMs: 8_000 });
    if (outcome.kind === 'declined' || outcome.kind === 'rejected') return { kind: 'refused', reason: outcome.kind };

    const answer = { status: 201, headers: {}, body: JSON.stringify({ id: key, charge: outcome.chargeId }) };
    await actor.call('post', PORT_ERRORS, async () => this.#postings.push(key));
    await actor.call('saveAnswer', PORT_ERRORS, async () => this.#answers.set(key, answer));
    return { kind: 'answered', answer };
  }

  protected override async more(): Promise<readonly string[]> {
    return [];
  }

  protected override async postingSets(request: CreatePayment): Promise<number> {
    return this.#postings.filter((key) => key === request.paymentId).length;
  }
}

const KEPT_A_DAY = 24 * 60 * 60_000;

describe('the guarantees of a payment and its retry', () => {
  // Single faults with a processor that accepts the charge are covered by the histories with pairs of faults.
  test('hold with one fault at any call if the processor fails once, does not respond or sends a malformed response', async () => {
    for (const source of ['tok_flaky', 'tok_malformed', 'tok_timeout_charged', 'tok_timeout_not_charged']) {
      const { histories, findings } = await survey(engine({ source }), { faults: 1, oneOf: [3, 13] });
      expect(findings.slice(0, 3)).toEqual([]);
      expect(histories).toBeGreaterThan(whole(150, { slice: 5 }));
    }
  });

  test('hold with one fault at any call, for a processor without a look-up and for one with a delayed look-up', async () => {
    const none: ProcessorAbilities = { lookup: { kind: 'none' }, keyRetentionMs: KEPT_A_DAY };
    const late: ProcessorAbilities = { lookup: { kind: 'eventual', maxLagMs: 60_000 }, keyRetentionMs: KEPT_A_DAY };
    for (const abilities of [none, late]) {
      const { findings } = await survey(engine({ abilities }), { faults: 1, oneOf: [3, 13] });
      expect(findings.slice(0, 3)).toEqual([]);
    }
  });

  test('hold under every pair of faults at any two calls', async () => {
    const { histories, findings } = await survey(engine(), { faults: 2, oneOf: [1, 17, 11] });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(4_000, { slice: 25 }));
  });

  test('hold under every combination of three faults without a rival', async () => {
    const { histories, findings } = await survey(engine(), { faults: 3, races: [{}], oneOf: [1, 3, 7, 4] });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(1_000, { slice: 15 }));
  });
});

describe('the fault histories of a payment', () => {
  const broken = async (mutation: Mutation, until: string): Promise<readonly string[]> =>
    violatedGuarantees(await survey(engine({ mutation }), { faults: 1, until }));

  test('detect a handler that checks whether the key was used, and then charges without a claim', async () => {
    const naive: MakeWorld = (plan) => ({ world: new NaiveWorld({ plan }), request: paymentRequest('history') });
    expect(violatedGuarantees(await survey(naive, { faults: 1, oneOf: 13 }))).toEqual(
      expect.arrayContaining(['I1', 'I2', 'I3', 'I4']),
    );
  });

  test('detect a handler that sends every attempt under a new processor key', async () => {
    let attempts = 0;
    const freshKeys = (processor: Processor): Processor => ({
      ...processor,
      charge: (order, limit) => {
        attempts += 1;
        return processor.charge({ ...order, operationId: storedOperationId(`attempt-${attempts}`) }, limit);
      },
    });
    expect(await broken({ processor: freshKeys }, 'I1')).toContain('I1');
  });

  test('detect a handler that treats a timeout as a decline', async () => {
    const hasty = (processor: Processor): Processor => ({
      ...processor,
      charge: async (order, limit) => {
        try {
          return await processor.charge(order, limit);
        } catch (error) {
          if (!(error instanceof AmbiguousError)) throw error;
          return { kind: 'declined', failure: { code: 'timeout', message: 'the charge timed out' } };
        }
      },
    });
    expect(await broken({ processor: hasty }, 'I4')).toContain('I4');
  });

  test('detect a response that is saved separately from its effect', async () => {
    const apart = (store: PaymentStore): PaymentStore => ({
      ...store,
      commit: async ({ record, expects, transition }) => {
        const saved = await store.commit({ record, expects });
        if (saved.kind !== 'committed' || transition === undefined) return saved;
        await store.claim({
          record: {
            ...record,
            status: 'INPROGRESS',
            operationId: storedOperationId(`post-${record.owner}`),
            leaseExpiresAtMs: 0,
            released: false,
          },
          pending: transition,
        });
        return saved;
      },
    });
    expect(await broken({ store: apart }, 'I4')).toContain('I4');
  });

  test('detect a write without a fence and without a check of its sequence number', async () => {
    const unfenced = (store: PaymentStore): PaymentStore => ({
      ...store,
      commit: async (commit) => {
        const outcome = await store.commit(commit);
        if (outcome.kind === 'committed' || commit.transition === undefined) return outcome;
        const history = await store.readPayment(commit.record.paymentId);
        const sequence = (history?.newest.sequence ?? 0) + 1;
        const operationId = storedOperationId(`forced-${commit.record.owner}`);
        const record = {
          ...commit.record,
          status: 'INPROGRESS' as const,
          operationId,
          leaseExpiresAtMs: 0,
          released: false,
        };
        await store.claim({ record, pending: { ...commit.transition, sequence } });
        return { kind: 'committed' };
      },
    });
    expect(await broken({ store: unfenced }, 'I2')).toContain('I2');
  });
});
