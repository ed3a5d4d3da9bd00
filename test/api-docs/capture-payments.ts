import { invariant } from '../../lambdas/kernel/invariant.ts';
import { EVENT_ID, SimulatedIntake } from '../intake/intake-site.ts';
import { authorizedPayment, chargedPayment } from '../payments/provoked-changes.ts';
import { Api, dataOf } from '../world/api.ts';
import type { CapturedExamples } from './captured-examples.ts';
import { apiAtSandbox, silent } from './provoked-problems.ts';

export async function capturePayments(examples: CapturedExamples): Promise<void> {
  const harness = apiAtSandbox();
  const create = (key: string, body: Readonly<Record<string, unknown>>) =>
    harness.post(JSON.stringify(body), { headers: { 'Idempotency-Key': key } });
  const smallest = examples.declared('createPayment', 'smallest');
  const whole = examples.declared('createPayment', 'whole');
  const captured = examples.answer('createPayment', 'succeeded', 'Captured', await create('k-1', smallest));
  const authorized = examples.answer('createPayment', 'requires_capture', 'Authorized', await create('k-2', whole));
  const path = `/v1/payments/${String(captured.body['id'])}`;
  examples.answer('getPayment', 'succeeded', 'Captured', await harness.get(path));
  const other = await harness.get(`/v1/payments/${String(authorized.body['id'])}`);
  examples.answer('getPayment', 'requires_capture', 'Authorized', other);
  const transitions = await harness.get(`${path}/transitions`);
  examples.answer('listTransitions', 'succeeded', 'A payment that was captured at once', transitions);
  const charges = await harness.get(`${path}/charges`);
  examples.answer('listCharges', 'succeeded', 'A charge that was captured at once', charges);

  const intake = new SimulatedIntake(harness.world);
  const request = intake.request({ account_to: 'ten_desk' });
  await intake.deliver(intake.onSubject(JSON.stringify(request), 'payments.desk'));
  const asked = await harness.get(`/v1/payment_requests/${EVENT_ID}`);
  examples.answer('getPaymentRequest', 'completed', 'The request led to a payment', asked);

  const unknown = await apiAtSandbox(silent).pay('k');
  examples.answer('createPayment', 'processing', 'Outcome not known yet', unknown);
  const action = await apiAtSandbox().pay('k', { source: 'tok_action' });
  examples.answer('createPayment', 'requires_action', 'The payer must act first', action);
}

export async function captureLists(examples: CapturedExamples): Promise<void> {
  const events = new Api();
  const harness = events.with({ processor: { ...events.processor, name: 'sandbox' } });
  await harness.pay('k-1');
  const [event] = dataOf(examples.answer('listEvents', 'page', 'All events', await events.get('/v1/events')));
  invariant(event !== undefined, 'the payment has no event');
  const shown = await events.get(`/v1/events/${String(event['id'])}`);
  examples.answer('getEvent', 'completed', 'A payment was captured', shown);
  await harness.pay('k-2');
  const page = await harness.get('/v1/payments?limit=1');
  examples.answer('listPayments', 'page', 'The newest payment, with more to follow', page);
}

export async function captureChanges(examples: CapturedExamples): Promise<void> {
  const all = examples.declared('capturePayment', 'whole');
  const some = examples.declared('capturePayment', 'part');
  const [first, second] = [await authorizedPayment(), await authorizedPayment()];
  examples.answer('capturePayment', 'whole', 'The whole amount was captured', await first.change('capture', all));
  examples.answer('capturePayment', 'part', 'A part was captured', await second.change('capture', some));
  const nothing = examples.declared('cancelPayment', 'all');
  const canceled = await (await authorizedPayment()).change('cancel', nothing);
  examples.answer('cancelPayment', 'canceled', 'The authorization was released', canceled);
  for (const [operation, noun, payment, step] of [
    ['Capture', 'capture', first, undefined],
    ['Cancellation', 'cancellation', await authorizedPayment(), 'cancel'],
  ] as const) {
    if (step !== undefined) await payment.change(step, nothing);
    const list = await payment.harness.get(`/v1/payments/${payment.id}/${noun}s`);
    examples.answer(`list${operation}s`, 'one', 'One that succeeded', list);
    const shown = await payment.harness.get(`/v1/${noun}s/${String(dataOf(list)[0]?.['id'])}`);
    examples.answer(`get${operation}`, 'succeeded', 'It succeeded', shown);
  }
  for (const [operation, step] of [
    ['capturePayment', 'capture'],
    ['cancelPayment', 'cancel'],
  ] as const) {
    const payment = await authorizedPayment();
    const reply = await payment.withProcessor(silent).change(`${payment.id}/${step}`, 'c', {});
    examples.answer(operation, 'unchanged', 'Outcome not known yet: the payment is unchanged', reply);
  }
}

export async function captureRefunds(examples: CapturedExamples): Promise<void> {
  const some = examples.declared('createRefund', 'part');
  const all = examples.declared('createRefund', 'rest');
  const payment = await chargedPayment();
  const part = await payment.change('refunds', some);
  examples.answer('createRefund', 'part', 'A part was refunded', part);
  const shown = await payment.harness.get(`/v1/refunds/${String(part.body['id'])}`);
  examples.answer('getRefund', 'part', 'A part was refunded', shown);
  await payment.inside.refund(payment.chargeId, 200);
  await payment.learn();
  const list = await payment.harness.get(`/v1/payments/${payment.id}/refunds`);
  examples.answer('listRefunds', 'both', 'One refund through the API and one at the processor', list);

  const whole = await chargedPayment();
  const rest = await whole.change('refunds', all);
  examples.answer('createRefund', 'rest', 'The whole amount was refunded', rest);
  const other = await whole.harness.get(`/v1/refunds/${String(rest.body['id'])}`);
  examples.answer('getRefund', 'rest', 'The whole amount was refunded', other);
  const unanswered = await chargedPayment();
  const pending = await unanswered.withProcessor(silent).change(`${unanswered.id}/refunds`, 'c', some);
  examples.answer('createRefund', 'pending', 'Outcome not known yet', pending);
}

export async function captureDisputes(examples: CapturedExamples): Promise<void> {
  const payment = await chargedPayment();
  const disputeId = await payment.inside.dispute(payment.chargeId, 400);
  await payment.learn();
  const list = await payment.harness.get(`/v1/payments/${payment.id}/disputes`);
  examples.answer('listDisputesOfPayment', 'open', 'The payer’s bank took a part of the money back', list);
  await payment.inside.closeDispute(disputeId, 'lost');
  await payment.learn();
  const [dispute] = dataOf(list);
  const lost = await payment.harness.get(`/v1/disputes/${String(dispute?.['id'])}`);
  examples.answer('getDispute', 'lost', 'The dispute was lost', lost);
  const all = await payment.harness.get('/v1/disputes?status=lost');
  examples.answer('listDisputes', 'lost', 'The disputes that were lost', all);
  const shown = await payment.harness.get(`/v1/payments/${payment.id}`);
  examples.answer('getPayment', 'disputed', 'A dispute was lost', shown);
}
