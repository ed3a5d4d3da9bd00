import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { AmbiguousError } from '../../lambdas/kernel/faults.ts';
import { type PaymentId, tenantId } from '../../lambdas/kernel/ids.ts';
import { MemoryMessages } from '../operators/memory-messages.ts';
import { unmatchedCallback } from '../operators/unmatched-callback.ts';
import { sliceOf } from '../support/slice.ts';
import { until } from '../support/until.ts';
import { Api, as, dataOf, OPERATOR_KEY, OTHER_KEY } from '../world/api.ts';
import { accessible, decideOn, describeConsole, focused, picture, tabTo } from './console-in-browser.ts';

const BEN_KEY = 'ok_benbenbenbenbenbenbenben00';
const EMAIL = 'ann@example.com';

describeConsole('actions that move money, in a browser', (shown) => {
  let api: Api;
  beforeEach(() => {
    api = new Api({ approvals: { aboveMinor: { EUR: 5000 }, lifetimeMs: 3_600_000 } });
    shown.api = api;
    api.registerOperator(BEN_KEY, { operator: 'Ben Example', role: 'approver' });
  });

  async function found(page: Page, text: string, id: string): Promise<void> {
    await page.getByLabel('Search payments').fill(text);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: id }).click();
    await page.getByRole('heading', { name: 'What happened' }).waitFor();
  }

  const refunds = async (id: string) => dataOf(await api.get(`/v1/payments/${id}/refunds`));
  const acts = async () =>
    dataOf(await api.get('/v1/admin/activity?tenant=ten_desk&mode=test')).map(({ action }) => action);

  describe.each([
    ['a desktop', { width: 1280, height: 800 }],
    ['a phone', { width: 390, height: 800 }],
  ])('on %s', (_device, size) => {
    test('a double click makes one partial refund of a payment that was found by its e-mail address', async () => {
      const id = await api.paid('k', { amount: 2000, metadata: { receipt_email: EMAIL } });
      const page = await shown.signedIn();
      await page.setViewportSize(size);
      await found(page, EMAIL, id);
      await page.getByRole('button', { name: 'Refund' }).click();
      const dialog = page.getByRole('dialog', { name: 'Refund' });
      const amount = dialog.getByLabel('Amount in EUR');
      // The dialog proposes the whole remaining amount.
      expect(await amount.inputValue()).toBe('20.00');
      await amount.fill('20.01');
      await dialog.getByText('20.01 EUR is more than the 20.00 EUR that are left.').waitFor();
      await amount.fill('1,500');
      await dialog.getByText('must be an amount in EUR without separators of thousands').waitFor();
      await amount.fill('12,50');
      await dialog.getByText('The payer gets 12.50 EUR back. 7.50 EUR of 20.00 EUR stays.').waitFor();
      await dialog.getByLabel('Reason').fill('Asked by phone');
      await accessible(page);
      await dialog.getByRole('button', { name: 'Refund' }).dblclick();
      await page.getByText('The refund was made.').waitFor();
      const changes = page.getByRole('region', { name: 'Changes' });
      await changes.getByRole('cell', { name: '12.50 EUR' }).waitFor();
      await changes.getByText('Asked by phone').waitFor();
      expect(await refunds(id)).toMatchObject([{ amount: 1250, status: 'succeeded', reason: 'Asked by phone' }]);
      expect(await acts()).toEqual(['refund.requested']);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      expect(shown.written).toEqual([`POST /v1/admin/payments/${id}/refunds`]);
      expect(shown.violations).toEqual([]);
    });

    test.each([
      ['Capture', 'requires_capture', 'succeeded', 'capture.requested', '20.00 EUR was captured.'],
      ['Cancel payment', 'requires_capture', 'canceled', 'cancellation.requested', 'The payment was canceled.'],
    ])('a double click takes effect once: %s', async (name, before, after, action, text) => {
      const id = await api.paid('k', { amount: 2000, capture: 'manual' });
      expect((await api.get(`/v1/payments/${id}`)).body['status']).toBe(before);
      const page = await shown.signedIn();
      await page.setViewportSize(size);
      await page.goto(`${shown.url}/#/payments/${id}`);
      await page.getByRole('button', { name, exact: true }).click();
      const dialog = page.getByRole('dialog', { name });
      await dialog.getByLabel('Reason').fill('Asked by phone');
      await accessible(page);
      await dialog.getByRole('button', { name, exact: true }).dblclick();
      await page.getByText(text).waitFor();
      const changes = page.getByRole('region', { name: 'Changes' });
      await changes.getByText('succeeded').waitFor();
      for (const said of ['Asked by phone', 'Ada Example']) await changes.getByText(said).waitFor();
      expect((await api.get(`/v1/payments/${id}`)).body['status']).toBe(after);
      expect(await acts()).toEqual([action]);
      expect(shown.written).toHaveLength(1);
      expect(shown.violations).toEqual([]);
    });
  });

  test('a refund is made with the keyboard only; after a lost response, the same request is repeated', async () => {
    const id = await api.paid('k', { amount: 2000 });
    const page = await shown.signedIn();
    await tabTo(page, 'Search payments');
    await page.keyboard.type(id);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'What happened' }).waitFor();
    await tabTo(page, 'Refund');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Refund' }).waitFor();
    expect(await focused(page)).toBe('Amount in EUR');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('5');
    await tabTo(page, 'Reason');
    await page.keyboard.type('Asked by phone');
    let isLost = false;
    await page.route('**/refunds', async (route) => {
      if (route.request().method() === 'GET' || isLost) return route.continue();
      isLost = true;
      await route.fetch();
      await route.abort();
    });
    await page.keyboard.press('Enter');
    await page.getByText('The action may have taken effect.').waitFor();
    // After the dialog is closed, a new dialog for the same action could make a second refund.
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await focused(page)).toBe('Refund');
    await page.keyboard.press('Enter');
    await page.getByText('The action may have taken effect.').waitFor();
    expect(await page.getByRole('dialog').getByLabel('Amount in EUR').isDisabled()).toBe(true);
    expect(await focused(page)).toBe('Refund');
    await page.keyboard.press('Enter');
    await page.getByText('The refund was made.').waitFor();
    expect(await refunds(id)).toMatchObject([{ amount: 500 }]);
    expect(shown.violations).toEqual([]);
  });

  const lost = async (route: Route) => {
    await route.fetch();
    await route.abort();
  };
  const refused = (status: number, problem: object) => (route: Route) =>
    route.fulfill({ status, body: JSON.stringify({ detail: 'It was refused.', ...problem }) });

  /** The first refund requests get `responses`. */
  async function enterRefund(id: string, responses: ((route: Route) => Promise<void>)[]) {
    const page = await shown.signedIn();
    await page.goto(`${shown.url}/#/payments/${id}`);
    await page.route('**/v1/admin/payments/*/refunds', (route) => responses.shift()?.(route) ?? route.continue());
    await page.getByRole('button', { name: 'Refund' }).click();
    const dialog = page.getByRole('dialog', { name: 'Refund' });
    await dialog.getByLabel('Amount in EUR').fill('5');
    await dialog.getByLabel('Reason').fill('Asked by phone');
    await dialog.getByRole('button', { name: 'Refund' }).click();
    return { page, dialog };
  }

  // The API can send each of these responses before it reads the idempotency key.
  const refusals = [
    [400, { code: 'invalid_request' }],
    [403, { code: 'forbidden' }],
    [404, { code: 'not_found' }],
    [429, { code: 'rate_limited' }],
  ] as const;
  test.each(sliceOf(refusals, 4))(
    'after a lost response, a refusal with status %i does not permit a second refund',
    async (status, problem) => {
      const id = await api.paid('k', { amount: 2000 });
      const { page, dialog } = await enterRefund(id, [lost, refused(status, problem)]);
      await dialog.getByText('The action may have taken effect.').waitFor();
      await dialog.getByRole('button', { name: 'Refund' }).click();
      await dialog.getByText('It was refused.').waitFor();
      await dialog.getByRole('button', { name: 'Close' }).click();
      await page.getByRole('button', { name: 'Refund' }).click();
      await dialog.getByText('The action may have taken effect.').waitFor();
      expect(await dialog.getByLabel('Amount in EUR').inputValue()).toBe('5');
      await dialog.getByRole('button', { name: 'Refund' }).click();
      await page.getByText('The refund was made.').waitFor();
      expect(await refunds(id)).toMatchObject([{ amount: 500 }]);
      expect(shown.violations).toEqual([]);
    },
  );

  test('after a lost response, a dialog only repeats its request, even after another screen, a reload or a new sign-in', async () => {
    const id = await api.paid('k', { amount: 2000 });
    const { page, dialog } = await enterRefund(id, [lost, refused(401, { code: 'unauthorized' })]);
    const again = async () => {
      await page.getByRole('button', { name: 'Refund' }).click();
      await dialog.getByText('The action may have taken effect.').waitFor();
    };
    await dialog.getByText('The action may have taken effect.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('link', { name: 'All payments' }).click();
    await page.getByRole('link', { name: id }).click();
    await again();
    await page.reload();
    await again();
    await dialog.getByRole('button', { name: 'Refund' }).click();
    await page.getByText('Your sign-in has ended.').waitFor();
    await page.getByLabel('Operator’s key').fill(OPERATOR_KEY);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await again();
    await dialog.getByRole('button', { name: 'Refund' }).click();
    await page.getByText('The refund was made.').waitFor();
    expect(await refunds(id)).toMatchObject([{ amount: 500 }]);
    await page.getByRole('button', { name: 'Refund' }).click();
    await dialog.getByText('Refunds this payment').waitFor();
    expect(await dialog.getByText('The action may have taken effect.').count()).toBe(0);
  });

  test('a repeated request has the values that were sent first', async () => {
    const id = await api.paid('k', { amount: 2000 });
    const held: Route[] = [];
    const { page, dialog } = await enterRefund(id, [async (route) => void held.push(route)]);
    const sent = await until(async () => held[0]);
    await dialog.getByLabel('Amount in EUR').fill('7');
    await lost(sent);
    await dialog.getByText('The action may have taken effect.').waitFor();
    expect(await dialog.getByLabel('Amount in EUR').inputValue()).toBe('5');
    await dialog.getByRole('button', { name: 'Refund' }).click();
    await page.getByText('The refund was made.').waitFor();
    expect(await refunds(id)).toMatchObject([{ amount: 500 }]);
  });

  test('after a lost response, a field that the API refuses can be corrected', async () => {
    const id = await api.paid('k', { amount: 2000 });
    const { page, dialog } = await enterRefund(id, [
      (route) => route.abort(),
      refused(400, { code: 'invalid_request', param: 'reason' }),
    ]);
    await dialog.getByText('The action may have taken effect.').waitFor();
    await dialog.getByRole('button', { name: 'Refund' }).click();
    await dialog.getByText('It was refused.').waitFor();
    await dialog.getByLabel('Reason').fill('Asked by e-mail');
    await dialog.getByRole('button', { name: 'Refund' }).click();
    await page.getByText('The refund was made.').waitFor();
    expect(await refunds(id)).toMatchObject([{ amount: 500, reason: 'Asked by e-mail' }]);
  });

  test('a refund that the processor refused can be made with another amount in the same dialog', async () => {
    const id = await api.paid('k', { amount: 2000 });
    await api.processor.inside.failNextChange(1, 'tok_declined');
    const { page, dialog } = await enterRefund(id, []);
    await dialog.getByRole('alert').getByText('refund_failed').waitFor();
    await dialog.getByLabel('Amount in EUR').fill('4');
    await dialog.getByRole('button', { name: 'Refund' }).click();
    await page.getByText('The refund was made.').waitFor();
    expect((await refunds(id)).map(({ status, amount }) => `${String(status)} ${String(amount)}`).toSorted()).toEqual([
      'failed 500',
      'succeeded 400',
    ]);
    expect(shown.violations).toEqual([]);
  });

  test('a refund that the processor refused can be repeated in the same dialog', async () => {
    const id = await api.paid('k', { amount: 2000 });
    await api.processor.inside.failNextChange(1, 'tok_declined');
    const { page, dialog } = await enterRefund(id, []);
    await dialog.getByRole('alert').getByText('refund_failed').waitFor();
    await dialog.getByRole('button', { name: 'Refund' }).click();
    await page.getByText('The refund was made.').waitFor();
    expect((await refunds(id)).map(({ status }) => status as string).toSorted()).toEqual(['failed', 'succeeded']);
  });

  test('a refund above the limit waits for a second person, who approves it once', async () => {
    const id = await api.paid('k', { amount: 9900 });
    const page = await shown.signedIn();
    await page.goto(`${shown.url}/#/payments/${id}`);
    await page.getByRole('button', { name: 'Refund' }).click();
    await page.getByRole('dialog').getByLabel('Reason').fill('Asked by phone');
    await page.getByRole('dialog').getByRole('button', { name: 'Refund' }).dblclick();
    await page.getByText('The request waits for a second person, on the screen Approvals.').waitFor();
    expect(await refunds(id)).toEqual([]);
    const waiting = page.getByRole('region', { name: 'Waiting for approval' });
    await waiting.getByRole('cell', { name: '99.00 EUR' }).waitFor();
    await page.getByRole('button', { name: 'Refund' }).click();
    const again = page.getByRole('dialog', { name: 'Refund' });
    await again.getByText('A refund of 99.00 EUR already waits for approval.').waitFor();
    expect(await again.getByLabel('Amount in EUR').inputValue()).toBe('');
    await accessible(page);
    await again.getByRole('button', { name: 'Close' }).click();
    const second = await shown.signedIn(BEN_KEY);
    await second.getByRole('link', { name: 'Approve or reject' }).click();
    await second.getByRole('cell', { name: 'refund' }).waitFor();
    await decideOn(second, 'Approve');
    await second.getByText('approved by Ben Example').waitFor();
    expect(await refunds(id)).toMatchObject([{ amount: 9900 }]);
    await page.reload();
    await page.getByRole('cell', { name: 'Ada Example, approved by Ben Example' }).waitFor();
    expect(await waiting.count()).toBe(0);
    expect(shown.written.filter((each) => each.endsWith('/approve'))).toHaveLength(1);
    expect(shown.violations).toEqual([]);
  });

  test('an operator can decide a stuck refund only after its look-ups have ended, and a double click decides it once', async () => {
    const id = await api.paid('k', { amount: 2000 });
    const silent = () => Promise.reject(new AmbiguousError('processor_timeout', 'no answer'));
    const desk = api.with({ processor: { ...api.processor, change: silent, findChange: silent } });
    expect((await desk.change(`${id}/refunds`, 'r', { amount: 500, reason: 'Parcel lost' })).body).toMatchObject({
      status: 'pending',
    });
    for (const inquiry of await api.store.inquiries())
      await api.store.postponeInquiry(inquiry, { dueAtMs: api.clock.nowMs(), undecidable: true });
    const page = await shown.signedIn();
    await page.goto(`${shown.url}/#/payments/${id}`);
    await page.getByText('Payonce still looks up the outcome. You can decide the refund from').waitFor();
    expect(await page.getByRole('button', { name: 'Decide refund' }).isDisabled()).toBe(true);
    api.clock.advance(2 * 3_600_000);
    await page.getByRole('link', { name: 'Overview', exact: true }).click();
    await page.reload();
    await page.getByRole('link', { name: 'Decide' }).click();
    await page.locator('button:focus', { hasText: 'Decide refund' }).waitFor();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Decide refund' });
    await dialog.getByRole('radio', { name: 'No, it was not made' }).check();
    await dialog.getByLabel('Reason').fill('The processor shows no refund');
    await accessible(page);
    await dialog.getByRole('button', { name: 'Preview' }).click();
    await dialog.getByText('The refund of 5.00 EUR becomes failed. The payment stays succeeded.').waitFor();
    await dialog.getByRole('button', { name: 'Decide refund' }).dblclick();
    await page.getByText('The decision was recorded.').waitFor();
    const changes = page.getByRole('region', { name: 'Changes' });
    await changes.getByText('failed', { exact: true }).waitFor();
    await changes.getByText('Parcel lost').waitFor();
    await changes.getByText('decided by Ada Example: The processor shows no refund').waitFor();
    await changes.getByText(/^key key_/).waitFor();
    expect(await refunds(id)).toMatchObject([{ status: 'failed' }]);
    expect(shown.violations).toEqual([]);
  });

  test('the search finds a payment by its refund, charge, reference, part of its reference, and idempotency key', async () => {
    const id = await api.paid('order-1234', { reference: 'Order 4711' });
    await api.paid('other', { reference: 'Order 9' });
    const refund = await api.change(`${id}/refunds`, 'r', { amount: 100 });
    const [charge] = api.processor.charges(id);
    const page = await shown.signedIn();
    for (const text of [refund.body['id'], charge?.chargeId, 'Order 4711', '4711', 'order-1234'].map(String)) {
      await page.getByLabel('Search payments').fill(text);
      await page.keyboard.press('Enter');
      await page.getByText(`Payments that match “${text}”.`).waitFor();
      await page.getByRole('link', { name: id }).waitFor();
      expect([text, await page.getByRole('row').count()]).toEqual([text, 2]);
    }
    // This idempotency key looks like the id of a charge, and this reference looks like the id of a payment.
    const other = await api.paid('order_5678', { reference: 'pay_5678' });
    for (const text of ['order_5678', 'pay_5678']) {
      await page.getByLabel('Search payments').fill(text);
      await page.keyboard.press('Enter');
      await page.getByText(`Payments that match “${text}”.`).waitFor();
      await page.getByRole('link', { name: other }).waitFor();
    }
    api.registerKey(OTHER_KEY, { tenantId: tenantId('ten_other') });
    const ofOther = String((await api.pay('k', {}, as(OTHER_KEY))).body['id']);
    const chargeOfOther = String(api.processor.charges(ofOther)[0]?.chargeId);
    await page.getByLabel('Search payments').fill(chargeOfOther);
    await page.keyboard.press('Enter');
    await page.getByText(`No payment of ten_desk in test mode matches “${chargeOfOther}”.`).waitFor();
    await page.getByRole('link', { name: 'Search the charges of all tenants' }).click();
    await page.getByRole('link', { name: ofOther }).waitFor();
    await accessible(page);
    await page.getByLabel('Search payments').fill('nothing');
    await page.keyboard.press('Enter');
    await page.getByText('No payment of ten_desk in test mode matches “nothing”.').waitFor();
    expect(shown.violations).toEqual([]);
  });
});

describeConsole('the attention list in a browser', (shown) => {
  async function inReview(api: Api): Promise<PaymentId> {
    const id = await api.paid('k', { source: 'tok_async' });
    const { inside } = api.processor;
    await inside.correct(inside.all.at(-1)?.chargeId ?? '', { status: 'succeeded', amount_captured: 600 });
    await api.world.learn(id);
    return id;
  }

  test('shows the number of entries of each kind; each entry links to the action that resolves it', async () => {
    const world = new Api();
    const messages = new MemoryMessages(world.clock);
    const api = world.with({ messages });
    shown.api = api;
    for (const id of ['a', 'b']) messages.arrive('Webhooks-Tasks-DeadLetters', { id });
    const review = await inReview(api);
    const page = await shown.signedIn();
    const list = page.getByRole('region', { name: 'Needs a person' });
    await list.getByRole('row').nth(2).waitFor();
    await page.getByRole('button', { name: '3 All' }).waitFor();
    await accessible(page);
    await picture(page, 'overview', 560);
    await page.getByRole('button', { name: '2 Dead letters' }).click();
    await list.getByRole('row').nth(2).waitFor({ state: 'detached' });
    await list.getByRole('link', { name: 'Redrive' }).click();
    await decideOn(page, 'Redrive all');
    await page.getByText('The messages were moved').waitFor();
    await page.getByRole('link', { name: 'Overview', exact: true }).click();
    await list.getByRole('row', { name: review }).getByRole('link', { name: 'Decide' }).click();
    await page.getByRole('heading', { name: 'Needs a decision' }).waitFor();
    await page.getByRole('region', { name: 'Charges at the processor' }).getByText('6.00 EUR').waitFor();
    await page.getByRole('button', { name: 'Decide' }).click();
    const dialog = page.getByRole('dialog', { name: 'Decide' });
    await dialog.getByRole('radio', { name: '6.00 EUR captured' }).check();
    await dialog.getByLabel('Reason').fill('Seen on the statement');
    await dialog.getByRole('button', { name: 'Preview' }).click();
    await dialog.getByText('Nothing was written.').waitFor();
    await dialog.getByRole('button', { name: 'Decide' }).dblclick();
    await page.getByText('The decision was recorded.').waitFor();
    await page.getByRole('link', { name: 'Overview', exact: true }).click();
    await page.getByText('Nothing needs a person.').waitFor();
    expect(shown.violations).toEqual([]);
  });

  test('dismisses an unmatched callback by a double click, and says what cannot be read', async () => {
    const world = new Api();
    const messages = new MemoryMessages(world.clock);
    const api = world.with({ messages });
    shown.api = api;
    const callback = await unmatchedCallback(api, 'stray');
    await unmatchedCallback(api, 'foreign', true);
    const page = await shown.signedIn();
    const list = page.getByRole('region', { name: 'Needs a person' });
    await list.getByText('ch_stray').waitFor();
    await page.goto(`${shown.url}/#/waiting/unmatched_callbacks`);
    await page.getByText('Dismiss those that need a person.').waitFor();
    await page.getByText('ch_foreign').waitFor();
    await page.getByRole('button', { name: 'Dismiss' }).click();
    const dialog = page.getByRole('dialog', { name: 'Dismiss' });
    await dialog.getByText('about the charge ch_stray').waitFor();
    await dialog.getByLabel('Reason').selectOption('No refund is due to the payer');
    await accessible(page);
    await dialog.getByRole('button', { name: 'Dismiss' }).dblclick();
    await page.getByText('The callback was dismissed.').waitFor();
    await page.getByText('1 row', { exact: true }).waitFor();
    await page.goto(`${shown.url}/#/overview`);
    await page.getByText('Nothing needs a person.').waitFor();
    expect(shown.written).toEqual([`POST /v1/admin/callbacks/${callback}/dismiss`]);
    messages.count = () => Promise.reject(new AmbiguousError('queue_ambiguous', 'away'));
    await page.reload();
    await page.getByText('This list may be incomplete: dead letters, parked records cannot be read now.').waitFor();
    await page.getByText('No other entry was found.').waitFor();
    await accessible(page);
    await page.getByRole('link', { name: 'Waiting for work' }).click();
    await page.getByRole('cell', { name: 'Cannot be read now' }).first().waitFor();
    expect(shown.violations).toEqual([]);
  });
});
