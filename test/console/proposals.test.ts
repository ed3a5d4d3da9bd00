import { describe, expect, test } from '@jest/globals';
import type { Schemas } from '../../console/api.ts';
import {
  type Approval,
  type Change,
  DECIDABLE_AFTER_SECONDS,
  MAX_REFUNDS,
  openApprovals,
  type Proposal,
  proposalFor,
  refusalOfCharge,
  refusalOfDecision,
  refusalOfReview,
  refusalOfRun,
  reversible,
  strayCharges,
  waitingRequests,
} from '../../console/proposals.ts';
import { differenceStep, dismissedRun } from '../../console/screens/outcomes.ts';
import { AmbiguousError } from '../../lambdas/kernel/faults.ts';
import { type PaymentId, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { MAX_REFUNDS as ACCEPTED_REFUNDS } from '../../lambdas/payments/domain/change.ts';
import { OUTCOME_KNOWN_WITHIN_MS } from '../../lambdas/payments/domain/settlement.ts';
import { abilitiesWithout } from '../../lambdas/processors/sandbox/sandbox-abilities.ts';
import { paymentInReview } from '../payments/provoked-changes.ts';
import { Api, dataOf, type Reply } from '../world/api.ts';
import { World } from '../world/world.ts';

type Transition = Extract<Schemas['Timeline']['data'][number], { kind: 'transition' }>;

const KINDS = { refund: 'refunds', capture: 'capture', cancel: 'cancel' } as const;
const SAID = { reason: 'Asked by phone' };
const silent = () => Promise.reject(new AmbiguousError('processor_timeout', 'no answer'));
const unanswered = (api: Api) => api.with({ processor: { ...api.processor, change: silent, findChange: silent } });

async function proposal(api: Api, id: string, kind: keyof typeof KINDS) {
  const payment = (await api.get(`/v1/payments/${id}`)).body as unknown as Schemas['Payment'];
  const changes: Change[] = [];
  for (const part of ['captures', 'cancellations', 'refunds'])
    changes.push(...(dataOf(await api.get(`/v1/payments/${id}/${part}`)) as unknown as readonly Change[]));
  const timeline = (await api.get(`/v1/admin/payments/${id}/timeline`)).body as unknown as Schemas['Timeline'];
  return proposalFor(kind, payment, changes, timeline.processor_abilities);
}

function act(api: Api, id: string, kind: keyof typeof KINDS, amount?: number): Promise<Reply> {
  const body = amount === undefined ? SAID : { ...SAID, amount };
  return api.write(`/v1/admin/payments/${id}/${KINDS[kind]}`, `${kind}-${amount}`, body);
}

async function transitionsOf(api: Api, id: string): Promise<readonly Transition[]> {
  const entries = dataOf(await api.get(`/v1/admin/payments/${id}/timeline`));
  return entries.filter(({ kind }) => kind === 'transition') as unknown as readonly Transition[];
}

/** A captured amount, earlier refunds, a pending refund, and the state and amount of a dispute. */
const WITHHELD = [0, 300].flatMap((refunded) =>
  [0, 200].flatMap((pending) =>
    [
      ['none', 0],
      ['open', 400],
      ['won', 400],
      ['lost', 500],
      ['lost', 1000],
    ].flatMap(([dispute, disputed]) =>
      [1000, 900].map((captured) => [captured, refunded, pending, String(dispute), Number(disputed)] as const),
    ),
  ),
);

test.each(WITHHELD)(
  'the API accepts the proposed refund, and no more: captured %i, refunded %i, pending %i, dispute %s of %i',
  async (captured, refunded, pending, dispute, disputed) => {
    const api = new Api();
    const id = await api.paid('k', { capture: 'manual' });
    await api.change(`${id}/capture`, 'capture', { amount: captured });
    const { inside } = api.processor;
    const charge = String(inside.all[0]?.chargeId);
    if (refunded > 0) {
      await api.change(`${id}/refunds`, 'earlier', { amount: refunded });
      // The refund of 100 fails at the bank later, so this amount is available again.
      await inside.endRefund(await inside.refund(charge, 100), 'failed');
    }
    if (pending > 0) await unanswered(api).change(`${id}/refunds`, 'pending', { amount: pending });
    if (disputed > 0) {
      const opened = await inside.dispute(charge, Math.min(disputed, captured));
      if (dispute !== 'open') await inside.closeDispute(opened, dispute === 'won' ? 'won' : 'lost');
    }
    await api.world.learn(id);
    const { amount, because } = await proposal(api, id, 'refund');
    const refusal = { code: 'amount_exceeds_left', amount_left: amount };
    expect((await act(api, id, 'refund', amount + 1)).body).toMatchObject(refusal);
    const accepted = await act(api, id, 'refund', amount === 0 ? undefined : amount);
    expect(because === undefined ? accepted.status : accepted.body).toEqual(
      because === undefined ? 201 : expect.objectContaining(refusal),
    );
    expect(because === undefined).toBe(amount > 0);
  },
);

const STATES: Readonly<Record<string, (api: Api) => Promise<PaymentId>>> = {
  'an authorized payment': (api) => api.paid('k', { capture: 'manual' }),
  'a payment whose capture has no outcome': async (api) => {
    const id = await api.paid('k', { capture: 'manual' });
    await unanswered(api).change(`${id}/capture`, 'c');
    return id;
  },
  'a payment whose cancellation has no outcome': async (api) => {
    const id = await api.paid('k', { capture: 'manual' });
    await unanswered(api).change(`${id}/cancel`, 'c');
    return id;
  },
  'a payment whose capture failed': async (api) => {
    const id = await api.paid('k', { capture: 'manual' });
    await api.processor.inside.failNextChange(1, 'tok_declined');
    await api.change(`${id}/capture`, 'c');
    return id;
  },
  'a payment that waits for its payer': (api) => api.paid('k', { source: 'tok_action' }),
  'a payment without an outcome': (api) => api.paid('k', { source: 'tok_async' }),
  'a succeeded payment': (api) => api.paid('k'),
  'a failed payment': (api) => api.paid('k', { source: 'tok_declined' }),
  'a canceled payment': async (api) => {
    const id = await api.paid('k', { capture: 'manual' });
    await api.change(`${id}/cancel`, 'c');
    return id;
  },
  'a payment in review': async (api) => {
    const id = await api.paid('k', { source: 'tok_async' });
    const { inside } = api.processor;
    await inside.correct(String(inside.all[0]?.chargeId), { status: 'succeeded', amount_captured: 600 });
    await api.world.learn(id);
    return id;
  },
};

test.each(
  Object.entries(STATES).flatMap(([name, make]) =>
    (['refund', 'capture', 'cancel'] as const).map((kind) => [kind, name, make] as const),
  ),
)('the console proposes a %s exactly if the API accepts it: %s', async (kind, _name, make) => {
  const api = new Api();
  const id = await make(api);
  const { amount, because } = await proposal(api, id, kind);
  const { status } = await act(api, id, kind, because !== undefined || kind === 'cancel' ? undefined : amount);
  expect([because === undefined, status]).toEqual([status < 300, status]);
});

describe.each([
  ['', [10, 1000], [10, 1000]],
  ['partial-refunds', [1000], [10, 1000]],
  ['refunds', [], [10, 1000]],
  ['partial-captures', [10, 1000], [1000]],
] as const)(
  'for a processor without the abilities “%s”, the API accepts the proposed amounts only',
  (without, refunds, captures) => {
    const lacking = () => new Api({}, new World({ abilities: abilitiesWithout(without) }));

    const offered = ({ amount, because, isWhole }: Proposal): readonly number[] =>
      because !== undefined ? [] : isWhole === true ? [amount] : [10, amount];

    test.each([
      ['refund', refunds, undefined],
      ['capture', captures, 'manual'],
    ] as const)('%s', async (kind, amounts, capture) => {
      const made = async (amount: number) => {
        const api = lacking();
        return act(api, await api.paid('k', capture === undefined ? {} : { capture }), kind, amount);
      };
      const api = lacking();
      const id = await api.paid('k', capture === undefined ? {} : { capture });
      expect(offered(await proposal(api, id, kind))).toEqual(amounts);
      for (const amount of [10, 1000])
        expect((await made(amount)).status < 300).toBe(new Set<number>(amounts).has(amount));
    });
  },
);

test('without partial refunds, no refund is proposed if a part of the money was already refunded', async () => {
  const api = new Api();
  const id = await api.paid('k');
  await api.change(`${id}/refunds`, 'r', { amount: 100 });
  const lacking = api.with({ processor: { ...api.processor, abilities: abilitiesWithout('partial-refunds') } });
  expect((await proposal(lacking, id, 'refund')).because).toContain('refunds only the whole captured amount');
  expect((await act(lacking, id, 'refund', 900)).status).toBe(400);
});

test('no change is proposed if the deployment does not use the processor of the payment', async () => {
  const api = new Api();
  const id = await api.paid('k');
  const without = api.with({ processor: 'no_processor_configured' });
  expect((await proposal(without, id, 'refund')).because).toContain('does not use the processor');
});

test('a decision about a refund is offered from the time at which the API accepts it', async () => {
  expect(DECIDABLE_AFTER_SECONDS * 1000).toBe(OUTCOME_KNOWN_WITHIN_MS);
  const api = new Api();
  const id = await api.paid('k');
  await unanswered(api).change(`${id}/refunds`, 'r', { amount: 100 });
  const [refund] = dataOf(await api.get(`/v1/payments/${id}/refunds`)) as unknown as readonly Schemas['Refund'][];
  if (refund === undefined) throw new Error('there is no refund');
  const decide = () =>
    api.write(`/v1/admin/payments/${id}/resolve`, `d-${api.clock.nowMs()}`, {
      outcome: 'failed',
      change: refund.id,
      reason: 'Not on the statement',
      dry_run: true,
    });
  const offer = () => refusalOfDecision(refund, 'succeeded', api.clock.nowMs());
  expect(offer()).toMatch(/^Payonce still looks up the outcome\. You can decide the refund from .*\d/);
  expect((await decide()).body).toMatchObject({ decidable_from: refund.created + DECIDABLE_AFTER_SECONDS });
  api.clock.advance((DECIDABLE_AFTER_SECONDS + 1) * 1000);
  expect([offer(), (await decide()).status]).toEqual([undefined, 200]);
});

test('for a payment that is not in review, the console refers to the decision about its pending change', () => {
  const pending = { object: 'refund', status: 'pending' } as unknown as Change;
  expect(refusalOfReview('needs_review', [pending])).toBeUndefined();
  expect(refusalOfReview('succeeded')).toBe('The status is “succeeded”. Only a payment in review can be decided.');
  expect(refusalOfReview('succeeded', [pending])).toContain('use “Decide refund” below');
});

test('a run of another service’s job is not offered, and the text of its dismissal does not promise a later run', () => {
  expect(refusalOfRun(null)).toBeUndefined();
  expect(refusalOfRun('shop')).toContain('Ask the team of shop to run it.');
  expect(dismissedRun('resolve', 'resolve')).toContain('The next run of resolve does the missed work.');
  expect(dismissedRun('shop nightly', null)).toContain('Payonce does not request this run again.');
});

test('a pending refund of an unexpected charge does not reduce the refundable amount of the payment’s own charge', async () => {
  const api = new Api();
  const id = await api.paid('k');
  const stray = { chargeId: 'ch_9', amountMinor: 700, currency: 'EUR' };
  await api.world.record(id, { kind: 'foreign_charge', status: 'captured', ...stray });
  const refundId = `rtn_${id.slice('pay_'.length)}${'a'.repeat(26)}`;
  const createdAtMs = api.clock.nowMs();
  await api.world.record(id, { kind: 'refund', refundId, ...stray, status: 'pending', createdAtMs });
  expect(await proposal(api, id, 'refund')).toEqual({ amount: 1000 });
  expect((await act(api, id, 'refund', 1000)).status).toBe(201);
});

test('no refund is proposed if the payment already has the maximum number of refunds', () => {
  expect(MAX_REFUNDS).toBe(ACCEPTED_REFUNDS);
  const payment = { status: 'succeeded', amount_captured: 1000, processor: { charge_id: 'ch_1' } };
  const refund = { object: 'refund', status: 'failed', charge_id: 'ch_1', amount: 1 };
  const many = (count: number) =>
    proposalFor(
      'refund',
      { amount_refunded: 0, amount_disputed: 0, ...payment } as unknown as Schemas['Payment'],
      Array.from({ length: count }, () => refund as unknown as Change),
      { partial_captures: true, refunds: true, partial_refunds: true },
    ).because;
  expect([many(MAX_REFUNDS - 1), many(MAX_REFUNDS)]).toEqual([undefined, expect.stringContaining('500')]);
});

test('the console offers exactly the charges for which the API accepts a decision', async () => {
  const payment = await paymentInReview();
  const { id, inside, ledger } = payment;
  const named = { paymentId: id as PaymentId, operationId: storedOperationId('by-hand') };
  await inside.charge({ ...named, amountMinor: 1000 });
  await inside.charge({ ...named, amountMinor: 1001 });
  const { chargeId: ofDollars } = await inside.charge({ ...named, amountMinor: 900 });
  await inside.correct(ofDollars, { currency: 'USD' });
  const { chargeId: stray } = await inside.charge({ ...named, amountMinor: 500 });
  const found = { kind: 'foreign_charge', chargeId: stray, status: 'captured', currency: 'EUR' } as const;
  await ledger.world.record(id as PaymentId, { ...found, amountMinor: 500 });
  const strays = strayCharges(await transitionsOf(ledger, id));
  const shown = (await ledger.get(`/v1/payments/${id}`)).body as unknown as Schemas['Payment'];
  const charges = dataOf(await ledger.get(`/v1/payments/${id}/charges`)) as unknown as readonly Schemas['Charge'][];
  const decided = await Promise.all(
    charges.map(({ id: charge_id, amount_captured: amount }) =>
      payment.decide('d', { outcome: 'succeeded', charge_id, amount, dry_run: true, reason: 'Seen' }),
    ),
  );
  const isChosen = charges.map((charge) => refusalOfCharge(charge, shown, strays) === undefined);
  expect(isChosen).toEqual(decided.map(({ status }) => status === 200));
  expect(isChosen.filter((is) => is)).toHaveLength(2);
});

test('a correction is proposed for each set of postings that the API can reverse', async () => {
  const api = new Api();
  const id = await api.paid('k');
  await api.change(`${id}/refunds`, 'r', { amount: 100 });
  await api.correct('first', { payment: id, reverses: 2 });
  const transitions = await transitionsOf(api, id);
  const accepted: Transition['sequence'][] = [];
  for (const { sequence } of transitions) {
    const reply = await api.correct('dry', { payment: id, reverses: sequence, dry_run: true });
    if (reply.status === 200) accepted.push(sequence);
  }
  expect(reversible(transitions).map(({ sequence }) => sequence)).toEqual(accepted);
  expect(accepted).not.toContain(2);
});

test('a refund that waits for approval reserves nothing at the API, so the console shows it until it expires', async () => {
  const api = new Api({ approvals: { aboveMinor: { EUR: 300 }, lifetimeMs: 3_600_000 } });
  const [id, other] = [await api.paid('k', { amount: 1000 }), await api.paid('other', { amount: 1000 })];
  await act(api, id, 'refund', 400);
  await act(api, other, 'refund', 500);
  const approvals = dataOf(await api.get('/v1/admin/approvals')) as unknown as readonly Approval[];
  const open = openApprovals(approvals, id);
  expect(open.map(({ payment }) => payment)).toEqual([id]);
  expect(waitingRequests('refund', open)).toEqual({
    sum: 400,
    text: 'A refund of 4.00 EUR already waits for approval.',
  });
  expect(waitingRequests('capture', open)).toEqual({ sum: 0, text: '' });
  expect((await proposal(api, id, 'refund')).amount).toBe(1000);
  api.clock.advance(3_600_000);
  const later = dataOf(await api.get('/v1/admin/approvals')) as unknown as readonly Approval[];
  expect(openApprovals(later, id)).toEqual([]);
});

test('a mismatch of a payment in review is resolved by a decision, and any other mismatch by a correction or an annotation', () => {
  expect([differenceStep('needs_review'), differenceStep('succeeded'), differenceStep(null)]).toEqual([
    'Decide',
    'Correct or annotate',
    'Correct or annotate',
  ]);
});
