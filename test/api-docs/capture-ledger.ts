import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { readChain } from '../../lambdas/payments/use/payment-chain.ts';
import { compareBooks } from '../../lambdas/reconciliation/domain/compare-books.ts';
import { recordComparison } from '../../lambdas/reconciliation/use/mismatch-view.ts';
import { auditedArchive } from '../archive/audited-archive.ts';
import { MemoryMessages } from '../operators/memory-messages.ts';
import { unmatchedCallback } from '../operators/unmatched-callback.ts';
import { ChangedPayment, NO_CHARGE_FOUND, paymentInReview } from '../payments/provoked-changes.ts';
import { comparedPayment } from '../reconciliation/mismatch-fixtures.ts';
import { Api, dataOf, type Reply } from '../world/api.ts';
import type { CapturedExamples } from './captured-examples.ts';
import { keyOfTenant, waitingApproval } from './provoked-problems.ts';

export async function captureLedger(examples: CapturedExamples): Promise<void> {
  const harness = new Api();
  await harness.paid('k');
  const entries = await harness.get('/v1/ledger/entries');
  examples.answer('listLedgerEntries', 'payment', 'A captured payment', entries);
  const entry = await harness.get(`/v1/ledger/entries/${String(dataOf(entries)[0]?.['id'])}`);
  examples.answer('getLedgerEntry', 'debit', 'An entry of a captured payment', entry);

  const books = new Api();
  const paid = await books.paid('k');
  const { inside } = books.processor;
  const [charge] = inside.all;
  invariant(charge !== undefined, 'the payment has no charge');
  await inside.correct(charge.chargeId, { fee: 59 });
  await inside.refund(charge.chargeId, 400);
  await books.world.learn(paid);
  const balances = await books.get('/v1/balances');
  examples.answer('listBalances', 'merchant', '10.00 captured, 4.00 refunded, a fee of 0.59', balances);
  const volumes = await books.get('/v1/reports/volume?from=2026-03-01&to=2026-03-01');
  examples.answer('getVolumes', 'day', '10.00 captured, 4.00 refunded', volumes);
}

export async function captureExports(examples: CapturedExamples): Promise<void> {
  const api = new Api();
  await api.paid('k', { reference: 'order-4711' });
  const body = examples.declared('createExport', 'entries');
  const made = await api.write('/v1/exports', 'e', body);
  examples.answer('createExport', 'entries', 'Accepted', made);
  const shown = await api.get(`/v1/exports/${String(made.body['id'])}`);
  examples.answer('getExport', 'completed', 'A completed export', shown);
  examples.answer('listExports', 'one', 'One export', await api.get('/v1/exports'));
}

export async function captureCorrections(examples: CapturedExamples): Promise<void> {
  const why = { reason: 'Booked twice by hand' };
  const reversed = new Api();
  const reversal = examples.request('createCorrection', 'reversal', 'Reverse a set of postings', {
    payment: await reversed.paid('k'),
    ...why,
    reverses: 2,
  });
  const dry = examples.request('createCorrection', 'dry_run', 'Show what a reversal would post', {
    ...reversal,
    dry_run: true,
  });
  examples.answer('createCorrection', 'dry_run', 'Nothing was posted', await reversed.correct('c', dry));
  const made = await reversed.correct('c', reversal);
  examples.answer('createCorrection', 'reversal', 'Postings were reversed', made);
  const shown = await reversed.get(`/v1/corrections/${String(made.body['id'])}`);
  examples.answer('getCorrection', 'reversal', 'Postings were reversed', shown);
  const list = await reversed.get(`/v1/corrections?payment=${reversal.payment}`);
  examples.answer('listCorrectionsOfPayment', 'one', 'One correction', list);
  const activity = await reversed.get('/v1/admin/activity?tenant=ten_desk&mode=test');
  examples.answer('listActivity', 'correction', 'A correction was made', activity);
  const [entry] = dataOf(activity);
  const shownEntry = await reversed.get(`/v1/admin/activity/${String(entry?.['id'])}?tenant=ten_desk&mode=test`);
  examples.answer('getActivity', 'correction', 'A correction was made', shownEntry);
  const adjusted = new Api();
  examples.answer('getMe', 'owner', 'An owner', await reversed.get('/v1/admin/me'));
  const timeline = await reversed.get(`/v1/admin/payments/${reversal.payment}/timeline`);
  examples.answer('getTimeline', 'corrected', 'A payment with a correction', timeline);
  const postings = examples.request('createCorrection', 'postings', 'Add a set of postings', {
    payment: await adjusted.paid('k'),
    ...why,
    postings: [
      { account: 'corrections', direction: 'debit', amount: 150 },
      { account: 'fees', direction: 'credit', amount: 150 },
    ],
  });
  examples.answer('createCorrection', 'postings', 'Postings were added', await adjusted.correct('c', postings));
}

export async function captureAnnotations(examples: CapturedExamples): Promise<void> {
  const api = new Api();
  const payment = await api.paid('k');
  const body = examples.declared('annotatePayment', 'transition');
  const made = await api.annotate(payment, 'a', body);
  examples.answer('annotatePayment', 'transition', 'A transition was annotated', made);
  const shown = await api.get(`/v1/annotations/${String(made.body['id'])}`);
  examples.answer('getAnnotation', 'transition', 'Of a transition', shown);
  const list = await api.get(`/v1/annotations?payment=${payment}`);
  examples.answer('listAnnotationsOfPayment', 'one', 'One annotation', list);
}

export async function captureDecisions(examples: CapturedExamples): Promise<void> {
  for (const [name, summary] of [
    ['dry_run', 'Nothing was recorded'],
    ['failed', 'The payment has failed'],
    ['succeeded', 'The payment has succeeded'],
  ] as const) {
    const body = examples.declared('resolvePayment', name);
    const payment = await ChangedPayment.of({ source: 'tok_async' });
    await payment.inside.correct(payment.chargeId, { status: 'succeeded', amount_captured: 999 });
    await payment.learn();
    examples.answer('resolvePayment', name, summary, await payment.decide('d', body));
    if (name === 'dry_run') continue;
    const list = await payment.ledger.get(`/v1/decisions?payment=${payment.id}`);
    examples.answer('listDecisionsOfPayment', name, summary, list);
    const shown = await payment.ledger.get(`/v1/decisions/${String(dataOf(list)[0]?.['id'])}`);
    examples.answer('getDecision', name, summary, shown);
  }
}

/** Two comparisons an hour apart confirm the mismatch. */
export async function captureMismatches(examples: CapturedExamples): Promise<void> {
  const harness = new Api();
  const { store, processor, clock } = harness;
  const nowMs = clock.nowMs();
  const paymentId = await harness.paid('k');
  const chain = await readChain(store, paymentId);
  const [charge] = processor.charges(paymentId);
  invariant(chain !== undefined && charge !== undefined, 'the payment or its charge is missing');
  const charges = [charge, { ...charge, chargeId: 'ch_2', capturedMinor: 250 }];
  const { transitions, state } = chain;
  const [mismatch] = compareBooks(charges, { paymentId, paymentStatus: state.payment.status, transitions });
  const compare = (atMs: number) =>
    recordComparison(
      { views: harness.views, digest: systemDigest },
      comparedPayment('k', { subject: paymentId }),
      mismatch,
      atMs,
    );

  const id = await harness.storeOperatorKey('ok_captured-for-the-api-documents', {
    operator: 'Bob Example',
    role: 'approver',
  });
  examples.answer('listKeys', 'operators', 'The keys of operators', await harness.get('/v1/admin/keys'));
  const revoked = await harness.revoke(id, examples.declared('revokeKey', 'revoke'));
  examples.answer('revokeKey', 'revoked', 'The key is revoked', revoked);
  const none = await harness.get('/v1/admin/mismatches');
  await compare(nowMs);
  await compare(nowMs + 3_600_000);
  const open = examples.answer('listMismatches', 'open', 'An open mismatch', await harness.get('/v1/admin/mismatches'));
  const shown = await harness.get(`/v1/admin/mismatches/${String(dataOf(open)[0]?.['id'])}`);
  examples.answer('getMismatch', 'open', 'An open mismatch', shown);
  examples.answer('listMismatches', 'none', 'The books agree', none);
}

export async function captureApprovals(examples: CapturedExamples): Promise<void> {
  const { api, asked, waiting, ben } = await waitingApproval();
  examples.answer('createCorrection', 'waits', 'A second person must approve it', asked);
  examples.answer('listApprovals', 'waiting', 'One waits', await api.get('/v1/admin/approvals'));
  examples.answer('approveRequest', 'approved', 'The correction was posted', await api.approve(waiting, ben));
  examples.answer('getApproval', 'approved', 'It was approved', await api.get(`/v1/admin/approvals/${waiting}`));
  const reviewed = await ChangedPayment.of({ source: 'tok_async' });
  await reviewed.inside.correct(reviewed.chargeId, { status: 'succeeded', amount_captured: 999 });
  await reviewed.learn();
  const decided = await reviewed.ledger
    .with({ approvals: { aboveMinor: { EUR: 500 }, lifetimeMs: 72 * 3_600_000 } })
    .write(`/v1/admin/payments/${reviewed.id}/resolve`, 'd', NO_CHARGE_FOUND);
  examples.answer('resolvePayment', 'waits', 'A second person must approve it', decided);
  const other = await waitingApproval();
  const body = JSON.stringify(examples.declared('rejectRequest', 'reject'));
  const headers = { ...other.ben.headers, 'Content-Type': 'application/json' };
  const rejected = await other.api.reject(other.waiting, { headers, event: { body } });
  examples.answer('rejectRequest', 'rejected', 'Nothing was posted', rejected);
}

export async function captureOperatorChanges(examples: CapturedExamples): Promise<void> {
  for (const [operation, step, name, body, done] of [
    ['refundForTenant', 'refunds', 'part', {}, 'The amount was refunded'],
    ['captureForTenant', 'capture', 'part', { capture: 'manual' }, 'The amount was captured'],
    ['cancelForTenant', 'cancel', 'all', { capture: 'manual' }, 'The payment was canceled'],
  ] as const) {
    const api = new Api();
    const sent = examples.declared(operation, name);
    const change = async (by: Api) =>
      by.write(`/v1/admin/payments/${await api.paid(`k-${by === api}`, body)}/${step}`, 'c', sent);
    examples.answer(operation, name, done, await change(api));
    const limited = api.with({ approvals: { aboveMinor: { EUR: 1 }, lifetimeMs: 72 * 3_600_000 } });
    examples.answer(operation, 'waits', 'A second person must approve it', await change(limited));
  }
}

export async function captureKeys(examples: CapturedExamples): Promise<void> {
  const { api, made, id } = await keyOfTenant(examples.declared('createKey', 'key'));
  // Tenant ids are random, so the example shows a fixed id.
  const tenant = 'ten_k3jx5aqhz4m2nrb7';
  const shown = (reply: Reply) => ({
    status: reply.status,
    body: { ...reply.body, tenant, id: 'key_k3jx5aqhz4m2nrb7', hint: 'x7Qs' },
  });
  examples.answer('createKey', 'key', 'The key was created', shown(made));
  const roll = examples.declared('rollKey', 'roll');
  examples.answer(
    'rollKey',
    'rolled',
    'A new key was created',
    shown(await api.write(`/v1/admin/keys/${id}/roll`, 'r', roll)),
  );
}

export async function captureLimits(examples: CapturedExamples): Promise<void> {
  const { api, tenant } = await keyOfTenant();
  const limit = examples.declared('setLimit', 'raise');
  // Tenant ids are random, so the example shows a fixed id.
  const { tenant: named } = limit;
  const raised = await api.write('/v1/admin/limits', 'l', { ...limit, tenant });
  examples.answer('setLimit', 'raised', 'The tenant has a limit of its own', {
    ...raised,
    body: { ...raised.body, tenant: named },
  });
  const listed = await api.get(`/v1/admin/limits?tenant=${tenant}`);
  const data = dataOf(listed).map((each) => ({ ...each, tenant: named }));
  examples.answer('listLimits', 'raised', 'One limit differs from the default', {
    ...listed,
    body: { ...listed.body, data },
  });
}

export async function captureOperatorLists(examples: CapturedExamples): Promise<void> {
  const { api, body } = await keyOfTenant();
  await api.pay('held', { capture: 'manual' });
  api.clock.advance(3_600_000);
  const tenants = await api.get('/v1/admin/tenants');
  const [tenant] = dataOf(tenants);
  // Tenant ids are random, so the example shows a fixed id.
  invariant(tenant?.['id'] === body.tenant, 'the tenant is not in the list');
  const shown = {
    ...tenants,
    body: { ...tenants.body, data: [{ ...tenant, id: 'ten_k3jx5aqhz4m2nrb7', created: 1_772_366_400 }] },
  };
  examples.answer('listTenants', 'one', 'One tenant', shown);
  examples.answer('listQueues', 'held', 'An authorization waits for its capture', await api.get('/v1/admin/queues'));
  const entries = await api.get('/v1/admin/queues/holds');
  examples.answer('listQueueEntries', 'holds', 'An authorization waits for its capture', entries);

  const messages = new MemoryMessages(api.clock);
  messages.arrive('Webhooks-Tasks-DeadLetters', { id: 'letter' });
  api.clock.advance(60_000);
  const all = examples.declared('redriveQueue', 'all');
  const path = '/v1/admin/queues/Webhooks-Tasks-DeadLetters/redrive';
  const redriven = await api.with({ messages }).write(path, 'again', all);
  examples.answer('redriveQueue', 'webhooks', 'A webhook message was put back into its queue', redriven);
  const one = examples.declared('redriveQueue', 'one');
  messages.arrive('Webhooks-Tasks-DeadLetters', { id: String(one['entry']) });
  const redrivenAlone = await api.with({ messages }).write(path, 'one', one);
  examples.answer('redriveQueue', 'one', 'One message was put back into its queue', redrivenAlone);
  const done = examples.declared('dismissMessage', 'done');
  messages.arrive('Webhooks-Tasks-DeadLetters', { id: String(done['entry']) });
  const dismissed = await api.with({ messages }).write(path.replace(/redrive$/, 'dismiss'), 'dismissed', done);
  examples.answer('dismissMessage', 'done', 'The message was dismissed', dismissed);
  messages.arrive('Jobs-Missed', { id: 'missed', part: 'resolve', job: 'resolve' });
  api.clock.advance(1_000);
  const together = examples.declared('dismissMessage', 'all');
  const missed = await api.with({ messages }).write('/v1/admin/queues/Jobs-Missed/dismiss', 'all', together);
  examples.answer('dismissMessage', 'all', 'The missed job runs were dismissed', missed);
}

export async function captureDismissal(examples: CapturedExamples): Promise<void> {
  const api = new Api();
  const callback = await unmatchedCallback(api, 'stray');
  const path = `/v1/admin/callbacks/${callback}/dismiss`;
  const body = examples.declared('dismissCallback', 'nothing_due');
  examples.answer('dismissCallback', 'dismissed', 'The callback was dismissed', await api.write(path, 'd', body));
}

export async function captureAttention(examples: CapturedExamples): Promise<void> {
  const { ledger } = await paymentInReview();
  const messages = new MemoryMessages(ledger.clock);
  messages.arrive('Webhooks-Tasks-DeadLetters', { id: 'letter' });
  ledger.clock.advance(60_000);
  const waiting = await ledger.with({ messages }).get('/v1/admin/attention');
  examples.answer('listAttention', 'waiting', 'A payment in review, and an unprocessed message', waiting);
  const reviews = await ledger.get('/v1/admin/payments?status=needs_review');
  examples.answer('searchPayments', 'in_review', 'Payments in review, of all tenants', reviews);
}

export async function captureAudit(examples: CapturedExamples): Promise<void> {
  const finding = { kind: 'row_missing', chain: 'PAY#pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp', sort: 'T#000002' };
  const archive = await auditedArchive(finding);
  const path = '/v1/admin/audit';
  examples.answer('getAudit', 'verified', 'Two nights and three parts', await new Api({ archive }).get(path));
  examples.answer('getAudit', 'off', 'A deployment without an archive', await new Api().get(path));
}

export async function captureInspections(examples: CapturedExamples): Promise<void> {
  const api = new Api();
  const payment = await api.paid('order-1234');
  const query = new URLSearchParams({ tenant: 'ten_desk', mode: 'test', path: '/v1/payments', key: 'order-1234' });
  const record = await api.get(`/v1/admin/idempotency_keys?${query.toString()}`);
  examples.answer('findIdempotencyRecord', 'completed', 'The key of a completed payment', record);
  const shown = await api.get(`/v1/admin/idempotency_keys/${payment}`);
  const range = 'created_from=1772366400&created_to=1772452800&currency=EUR&amount_from=500';
  const found = await api.get(`/v1/admin/payments?tenant=ten_desk&mode=test&${range}`);
  examples.answer('searchPayments', 'filtered', 'Payments of a day from 5.00 EUR', found);
  examples.answer('getIdempotencyRecord', 'completed', 'The charge of a completed payment', shown);
}
