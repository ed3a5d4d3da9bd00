import { beforeEach, describe, expect, test } from '@jest/globals';
import { ownerToken, type PaymentId, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { personOf } from '../../lambdas/operators/domain/approval.ts';
import { ChangedPayment } from '../payments/provoked-changes.ts';
import { Api, dataOf, type Reply } from '../world/api.ts';

const HOUR_MS = 3_600_000;
const APPROVALS = { aboveMinor: { EUR: 1000 }, lifetimeMs: 72 * HOUR_MS };
const as = (key: string) => ({ headers: { Authorization: `Bearer ${key}` } });
const BEN = as('ok_benbenbenbenbenbenbenben00');
const CARL = as('ok_carlcarlcarlcarlcarlcarl00');

let api: Api;
let payment: PaymentId;

function withPersons(made: Api): Api {
  made.registerOperator('ok_benbenbenbenbenbenbenben00', { operator: 'Ben Example', role: 'approver' });
  made.registerOperator('ok_carlcarlcarlcarlcarlcarl00', { operator: 'Carl Example', role: 'owner' });
  return made;
}

beforeEach(async () => {
  api = withPersons(new Api({ approvals: APPROVALS }));
  payment = await api.paid('k-1', { amount: 1500 });
});

const transitions = async () => dataOf(await api.get(`/v1/payments/${payment}/transitions`));
const ask = (key = 'c', body: object = { payment, reverses: 2 }, asked = {}) => api.correct(key, { ...body }, asked);
const idOf = (reply: Reply) => String(reply.body['id']);
const leg = (account: string, direction: string, amount: number) => ({ account, direction, amount });
const added = (amount: number) => ({
  payment,
  postings: [leg('refunds', 'debit', amount), leg('fees', 'credit', amount)],
});

describe('a correction above the limit', () => {
  test('waits for approval, previews its effect in the response, and posts nothing', async () => {
    const asked = await ask();
    expect([asked.status, asked.body]).toEqual([
      202,
      {
        id: expect.stringMatching(/^apr_[0-9a-z]+_[a-z2-7]{26}$/),
        object: 'approval',
        status: 'pending_approval',
        tenant: 'ten_desk',
        mode: 'test',
        payment,
        request: { type: 'correction', reverses: 2 },
        amount: 1500,
        currency: 'EUR',
        reason: 'Booked twice',
        effect: {
          id: expect.stringMatching(/^cor_/),
          type: 'ledger.corrected',
          payment_status: 'succeeded',
          postings: [
            { account: 'processor_clearing', direction: 'credit', amount: 1500, currency: 'EUR' },
            { account: 'merchant_payable', direction: 'debit', amount: 1500, currency: 'EUR' },
          ],
        },
        requested_by: { operator: 'Ada Example', identity: expect.stringMatching(/^key_/) },
        decided_by: null,
        decided: null,
        verdict_reason: null,
        created: api.clock.nowMs() / 1000,
        expires: api.clock.nowMs() / 1000 + 72 * 3600,
      },
    ]);
    expect(await transitions()).toHaveLength(2);
    expect((await api.get(`/v1/admin/approvals/${idOf(asked)}`)).body).toEqual(asked.body);
    const { body } = await api.get('/v1/admin/approvals');
    expect(body).toMatchObject({ data: [asked.body], approval_above: { EUR: 1000 } });
  });

  test('is posted once when another person approves it, and names both persons', async () => {
    const asked = await ask();
    const approved = await api.approve(idOf(asked), BEN);
    expect([approved.status, approved.body]).toMatchObject([
      200,
      {
        id: idOf(asked),
        status: 'approved',
        requested_by: { operator: 'Ada Example' },
        decided_by: { operator: 'Ben Example' },
      },
    ]);
    api.clock.advance(HOUR_MS);
    for (const again of [BEN, CARL]) expect((await api.approve(idOf(asked), again)).text).toBe(approved.text);
    expect((await api.reject(idOf(asked), CARL)).body).toMatchObject({ code: 'approval_ended' });
    expect((await api.get(`/v1/admin/approvals/${idOf(asked)}`)).body).toEqual(approved.body);

    const [correction, ...others] = (await transitions()).filter(({ type }) => type === 'ledger.corrected');
    expect(others).toEqual([]);
    expect(correction).toMatchObject({ caused_by: { type: 'operator', operator: 'Ben Example' } });
    const timeline = dataOf(await api.get(`/v1/admin/payments/${payment}/timeline`));
    expect(timeline.flatMap(({ type, requested_by: by }) => (by === undefined ? [] : [[type, by]]))).toEqual([
      ['ledger.corrected', 'Ada Example'],
    ]);
    const effect = asked.body['effect'] as { readonly id: string };
    expect((await api.get(`/v1/corrections/${effect.id}`)).body).toMatchObject({
      operator: 'Ada Example',
      reason: 'Booked twice',
    });
    const log = dataOf(await api.get('/v1/admin/activity?tenant=ten_desk&mode=test'));
    expect(log).toMatchObject([
      {
        action: 'correction.made',
        caused_by: { operator: 'Ben Example' },
        about: [effect.id, payment],
        details: { approval: idOf(asked), asked_by: 'Ada Example' },
      },
      {
        action: 'approval.requested',
        caused_by: { operator: 'Ada Example' },
        about: [idOf(asked), effect.id, payment],
      },
    ]);
  });

  test('returns the same response for its idempotency key before and after the approval', async () => {
    const asked = await ask();
    const again = await ask();
    expect([again.status, again.text, again.headers['Idempotency-Replayed']]).toEqual([202, asked.text, 'true']);
    await api.approve(idOf(asked), BEN);
    expect((await ask()).text).toBe(asked.text);
    expect((await ask('c', { payment, reverses: 2, reason: 'Another' })).status).toBe(422);
    expect((await ask('c', { payment, reverses: 1 })).status).toBe(422);
    expect(dataOf(await api.get('/v1/admin/approvals'))).toHaveLength(1);
    expect(await transitions()).toHaveLength(3);
  });

  test('cannot be approved or rejected by the requester, regardless of the API key used', async () => {
    api.registerOperator('ok_adaadaadaadaadaadaada0000', { operator: ' ada example', role: 'owner' });
    const id = idOf(await ask());
    for (const own of [{}, as('ok_adaadaadaadaadaadaada0000')]) {
      expect((await api.approve(id, own)).body).toMatchObject({ status: 403, code: 'own_approval' });
      expect((await api.reject(id, own)).body).toMatchObject({ status: 403, code: 'own_approval' });
    }
    const viaProvider = api.with({
      identify: async () => ({ name: 'Ada Example', role: 'owner', identity: 'auth0|1', person: 'auth0|1' }),
    });
    expect((await viaProvider.approve(id)).body).toMatchObject({ code: 'own_approval' });
    expect(await transitions()).toHaveLength(2);
  });

  test.each([
    ['two spaces', 'Ada  Example'],
    ['an invisible character', 'Ada\u200b Example'],
    ['a soft hyphen', 'Ada Exam\u00adple'],
  ])(
    'cannot be approved by the requester with another API key whose operator name contains %s',
    async (_how, operator) => {
      api.registerOperator('ok_adaadaadaadaadaadaada0001', { operator, role: 'owner' });
      const id = idOf(await ask());
      const reply = await api.approve(id, as('ok_adaadaadaadaadaadaada0001'));
      expect(reply.body).toMatchObject({ status: 403, code: 'own_approval' });
    },
  );

  test('has no effect after it was rejected', async () => {
    const id = idOf(await ask());
    const rejected = await api.reject(id, BEN);
    expect([rejected.status, rejected.body['status']]).toEqual([200, 'rejected']);
    expect((await api.reject(id, CARL)).text).toBe(rejected.text);
    expect((await api.approve(id, CARL)).body).toMatchObject({ code: 'approval_ended' });
    expect(await transitions()).toHaveLength(2);
    const [entry] = dataOf(await api.get('/v1/admin/activity?tenant=ten_desk&mode=test'));
    expect(entry).toMatchObject({ action: 'approval.rejected', details: { asked_by: 'Ada Example' } });
  });

  test('keeps the reason of its rejection in the activity log, and shows it to the requester', async () => {
    const id = idOf(await ask());
    const because = (reason: unknown) => ({
      headers: { ...BEN.headers, 'Content-Type': 'application/json' },
      event: { body: JSON.stringify({ reason }) },
    });
    for (const refused of ['because', '', null])
      expect((await api.reject(id, because(refused))).body).toMatchObject({ status: 400, param: 'reason' });
    expect((await api.approve(id, because('wrong_amount'))).body).toMatchObject({ status: 400, param: 'reason' });
    const rejected = await api.reject(id, because('wrong_amount'));
    expect([rejected.status, rejected.body['verdict_reason']]).toEqual([200, 'wrong_amount']);
    expect((await api.reject(id, because('not_needed'))).text).toBe(rejected.text);
    expect((await api.get(`/v1/admin/approvals/${id}`)).body).toEqual(rejected.body);
    const [entry] = dataOf(await api.get('/v1/admin/activity?tenant=ten_desk&mode=test'));
    expect(entry).toMatchObject({
      action: 'approval.rejected',
      details: { asked_by: 'Ada Example', reason: 'wrong_amount' },
    });
  });

  test('expires, and can be neither approved nor rejected in its last minute', async () => {
    const id = idOf(await ask());
    api.clock.advance(72 * HOUR_MS - 60_001);
    const late = idOf(await ask('c-2', added(1001)));
    expect((await api.approve(id, BEN)).status).toBe(200);
    api.clock.advance(1);
    api.clock.advance(72 * HOUR_MS - 60_000);
    expect((await api.get(`/v1/admin/approvals/${late}`)).body).toMatchObject({ status: 'pending_approval' });
    for (const verdict of ['approve', 'reject'] as const)
      expect((await api.approve(late, BEN, verdict)).body).toMatchObject({ status: 409, code: 'approval_ended' });
    api.clock.advance(60_000);
    expect((await api.get(`/v1/admin/approvals/${late}`)).body).toMatchObject({ status: 'expired' });
    expect(await transitions()).toHaveLength(3);
  });

  test('is checked again when it is approved, because the payment may have changed', async () => {
    const first = idOf(await ask('c-1'));
    const second = idOf(await ask('c-2'));
    await api.approve(first, BEN);
    expect((await api.approve(second, BEN)).body).toMatchObject({ code: 'already_reversed' });
    expect((await api.get(`/v1/admin/approvals/${second}`)).body).toMatchObject({ status: 'pending_approval' });

    const held = await api.paid('k-2', { capture: 'manual' });
    const outdated = idOf(await ask('c-3', { ...added(1001), payment: held }));
    await api.change(`${held}/capture`, 'x', {});
    expect((await api.approve(outdated, BEN)).body).toMatchObject({ code: 'approval_outdated' });
    expect((await api.reject(outdated, BEN)).status).toBe(200);
  });

  test('cannot be approved, and shows no reason, after its payment and reason were erased', async () => {
    const asked = await ask();
    const shown = { reason: null, details_erased: true };
    await api.store.erase(payment);
    expect((await api.approve(idOf(asked), BEN)).body).toMatchObject({ code: 'approval_outdated' });
    expect((await ask()).body).toMatchObject(shown);
    expect((await api.reject(idOf(asked), BEN)).body).toMatchObject({ status: 'rejected', ...shown });
  });
});

describe('the approval limit', () => {
  test('applies to amounts above the limit, and to the sum of all corrections of a payment', async () => {
    const needsApproval = async (body: ReturnType<typeof added>) =>
      (await ask('dry', { ...body, dry_run: true })).body['needs_approval'];
    expect([await needsApproval(added(1000)), await needsApproval(added(1001))]).toEqual([false, true]);
    expect((await ask('c-1', added(600))).status).toBe(201);
    expect((await ask('c-2', added(400))).status).toBe(201);
    const more = await ask('c-3', added(1));
    expect([more.status, more.body['amount']]).toEqual([202, 1001]);
    expect(await needsApproval(added(1))).toBe(true);
  });

  test.each([
    [{ '*': 5000 }, 201],
    [{ USD: 5000 }, 202],
    [{ EUR: 1500, '*': 0 }, 201],
  ])('set to %j leads to status %s for a correction of 15.00 EUR', async (aboveMinor, status) => {
    const other = api.with({ approvals: { ...APPROVALS, aboveMinor } });
    expect((await other.correct('c', { payment, reverses: 2 })).status).toBe(status);
  });

  test.each([
    [{ EUR: 5000, USD: 899 }, 202, 900],
    [{ EUR: 5000, USD: 900 }, 201, undefined],
    [{ EUR: 5000 }, 202, 900],
    [{ EUR: 0, USD: 900 }, 201, undefined],
  ])(
    'applies in the currency of the postings: with %j, a correction of 9.00 USD for a EUR payment returns %s',
    async (aboveMinor, status, amount) => {
      const stray = { kind: 'foreign_charge', status: 'captured', chargeId: 'ch_9', currency: 'USD' } as const;
      await api.world.record(payment, { ...stray, amountMinor: 900 });
      const other = withPersons(api.with({ approvals: { ...APPROVALS, aboveMinor } }));
      const dry = await other.correct('dry', { payment, reverses: 3, dry_run: true });
      const asked = await other.correct('c', { payment, reverses: 3 });
      expect([dry.body['needs_approval'], asked.status, asked.body['amount']]).toEqual([
        status === 202,
        status,
        amount,
      ]);
      if (status === 201) return;
      expect(asked.body).toMatchObject({ currency: 'USD' });
      expect((await other.approve(idOf(asked), BEN)).body).toMatchObject({ status: 'approved', currency: 'USD' });
    },
  );

  test('applies to the sum of all corrections of a payment in each currency', async () => {
    const stray = { kind: 'foreign_charge', status: 'captured', chargeId: 'ch_9', currency: 'USD' } as const;
    await api.world.record(payment, { ...stray, amountMinor: 900 });
    const other = api.with({ approvals: { ...APPROVALS, aboveMinor: { EUR: 1000, USD: 1000 } } });
    expect((await other.correct('c-1', { payment, reverses: 3 })).status).toBe(201);
    expect((await other.correct('c-2', added(1000))).status).toBe(201);
    expect((await other.correct('c-3', added(1))).body).toMatchObject({ amount: 1001, currency: 'EUR' });
  });

  test('applies to decisions even without postings, and the approval of a decision starts a check of the processor’s books', async () => {
    const reviewed = await ChangedPayment.of({ source: 'tok_async', amount: 1500 });
    await reviewed.inside.correct(reviewed.chargeId, { status: 'succeeded', amount_captured: 600 });
    await reviewed.learn();
    const desk = withPersons(reviewed.ledger.with({ approvals: APPROVALS }));
    const decide = (key: string, body: object) =>
      desk.write(`/v1/admin/payments/${reviewed.id}/resolve`, key, { reason: 'Seen', ...body });
    const failed = await decide('d-1', { outcome: 'failed' });
    expect([failed.status, failed.body]).toMatchObject([
      202,
      {
        amount: 1500,
        request: { type: 'decision', outcome: 'failed' },
        effect: { type: 'payment.failed', postings: [] },
      },
    ]);
    const succeeded = await decide('d-2', { outcome: 'succeeded', amount: 600 });
    expect(succeeded.body).toMatchObject({ effect: { type: 'payment.completed', postings: [{ amount: 600 }, {}] } });
    expect((await desk.approve(idOf(succeeded), BEN)).body).toMatchObject({ status: 'approved' });
    expect((await desk.approve(idOf(failed), BEN)).body).toMatchObject({ code: 'payment_not_in_review' });
    expect(await desk.store.inquiries()).toContainEqual(
      expect.objectContaining({ paymentId: reviewed.id, waitsFor: 'books' }),
    );
    expect((await desk.get(`/v1/payments/${reviewed.id}`)).body).toMatchObject({
      status: 'succeeded',
      amount_captured: 600,
    });
  });
});

test('the row of an approval refuses a second verdict even if the verdict is recorded under a different operation id', async () => {
  const approval = await api.store.readApproval(idOf(await ask()));
  invariant(approval !== undefined, 'the approval does not exist');
  const outcomes = [];
  for (const owner of ['first', 'second']) {
    const atMs = api.clock.nowMs();
    const verdict = { verdict: 'rejected' as const, by: personOf({ ...approval.askedBy, name: owner }), atMs };
    const { kind } = await api.store.recordEffect({
      record: {
        operationId: storedOperationId(`apr_${owner}`),
        paymentId: payment,
        owner: ownerToken(owner),
        recordedAtMs: atMs,
      },
      transitions: [],
      ended: { approval, end: verdict },
    });
    outcomes.push(kind);
  }
  expect(outcomes).toEqual(['recorded', 'transition_exists']);
  expect((await api.store.readApproval(approval.id))?.end?.by.name).toBe('first');
});

test('the list of approvals is paginated, newest first', async () => {
  const ids = [];
  for (let count = 0; count < 5; count += 1) {
    ids.unshift(idOf(await ask(`c-${count}`)));
    api.clock.advance(1);
  }
  const first = await api.get('/v1/admin/approvals?limit=3');
  expect([dataOf(first).map(({ id }) => id), first.body['has_more']]).toEqual([ids.slice(0, 3), true]);
  const rest = await api.get(`/v1/admin/approvals?limit=3&starting_after=${ids[2]}`);
  expect([dataOf(rest).map(({ id }) => id), rest.body['has_more']]).toEqual([ids.slice(3), false]);
  expect((await api.get('/v1/admin/approvals?starting_after=x')).body).toMatchObject({ param: 'starting_after' });
  expect((await api.get('/v1/admin/approvals/apr_1_a')).status).toBe(404);
});
