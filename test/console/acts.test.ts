import { beforeEach, expect, test } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { positionAt } from '../../lambdas/payments/use/transition-reader.ts';
import { recordComparison } from '../../lambdas/reconciliation/use/mismatch-view.ts';
import { TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { comparedPayment, differsBy } from '../reconciliation/mismatch-fixtures.ts';
import { until } from '../support/until.ts';
import { Api, dataOf } from '../world/api.ts';
import { TABLES } from '../world/tables.ts';
import { accessible, decideOn, describeConsole, tablesFit, titled } from './console-in-browser.ts';

const APPROVER_KEY = 'ok_benbenbenbenbenbenbenben00';
const VIEWER_KEY = 'ok_viewerviewerviewerviewer';
const SCRIPT = '<img src=x onerror="document.title=1">';

describeConsole('actions of operators in a browser', (shown) => {
  let api: Api;
  let payment: PaymentId;
  beforeEach(async () => {
    api = new Api({ approvals: { aboveMinor: { EUR: 1000 }, lifetimeMs: 3_600_000 } });
    shown.api = api;
    api.registerOperator(APPROVER_KEY, { operator: 'Ben Example', role: 'approver' });
    payment = await api.paid('k', { amount: 1500, description: SCRIPT, metadata: { [SCRIPT]: SCRIPT } });
  });

  async function opened(hash: string, key?: string): Promise<Page> {
    const page = await shown.signedIn(key);
    await page.goto(`${shown.url}/#/${hash}`);
    return page;
  }

  async function correct(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Correct' }).click();
    const dialog = page.getByRole('dialog', { name: 'Correct' });
    await dialog.getByLabel('Postings to reverse').selectOption({ label: '2. payment.completed, 15.00 EUR' });
    await dialog.getByLabel('Reason').fill('The processor has 16.00 EUR');
    await dialog.getByRole('button', { name: 'Preview' }).click();
    await dialog.getByText('once a second person approves').waitFor();
    await dialog.getByRole('region', { name: 'Postings that would be made' }).getByText('merchant_payable').waitFor();
    await accessible(page);
    await dialog.getByRole('button', { name: 'Correct' }).dblclick();
    await page.getByText('The request waits for a second person, on the screen Approvals.').waitFor();
  }

  test('an operator can open the payment of a mismatch; its correction requires a preview, a reason and a second person', async () => {
    await recordComparison(
      { views: api.views, digest: systemDigest },
      comparedPayment('k', { subject: payment }),
      { ...differsBy(1600, 1500), paymentId: payment },
      api.clock.nowMs(),
    );
    const { owner: _unknown, ...charge } = comparedPayment('k', { subject: 'ch_stray' });
    const stray = { ...differsBy(1250, 0), chargeIds: ['ch_stray'] };
    await recordComparison({ views: api.views, digest: systemDigest }, charge, stray, api.clock.nowMs());
    await api.store.jobMarks.moveMark('reconcile-recent', undefined, positionAt(api.clock.nowMs() - 3_600_000));
    const first = await opened('differences');
    await first.getByText('Compared until').waitFor();
    const ofCharge = first.getByRole('row', { name: 'ch_stray' });
    await ofCharge.waitFor();
    await tablesFit(first);
    for (const text of ['12.50 EUR', 'sandbox, test', 'refund it at sandbox. Then compare again'])
      await ofCharge.getByText(text).first().waitFor();
    await accessible(first);
    await first.getByRole('cell', { name: '16.00 EUR' }).waitFor();
    await first.getByRole('link', { name: payment }).click();
    await correct(first);
    const second = await opened('approvals', APPROVER_KEY);
    await decideOn(second, 'Approve');
    await second.getByText('approved by Ben Example').waitFor();
    expect(dataOf(await api.get(`/v1/corrections?payment=${payment}`))).toMatchObject([
      { reverses: 2, reason: 'The processor has 16.00 EUR' },
    ]);
    // A preview is also a POST request.
    expect(shown.written.map((each) => each.split('/').at(-1))).toEqual(['corrections', 'corrections', 'approve']);
    expect(shown.violations).toEqual([]);
  });

  test('new postings are previewed, and made once by a double click', async () => {
    const page = await opened(`payments/${payment}`);
    await page.getByRole('button', { name: 'Add postings' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add postings' });
    await dialog.getByLabel('Account to debit').selectOption('processor_clearing');
    await dialog.getByLabel('Account to credit').selectOption('corrections');
    await dialog.getByLabel('Amount in EUR').fill('1.00');
    await dialog.getByLabel('Reason').fill('The processor has 16.00 EUR');
    await dialog.getByRole('button', { name: 'Preview' }).click();
    await dialog.getByText('Nothing was written.').waitFor();
    await accessible(page);
    await dialog.getByRole('button', { name: 'Add postings' }).dblclick();
    await page.getByText('The correction was recorded.').waitFor();
    expect(dataOf(await api.get(`/v1/corrections?payment=${payment}`))).toMatchObject([
      {
        reverses: null,
        reason: 'The processor has 16.00 EUR',
        postings: [
          { account: 'processor_clearing', direction: 'debit', amount: 100 },
          { account: 'corrections', direction: 'credit', amount: 100 },
        ],
      },
    ]);
    expect(shown.violations).toEqual([]);
  });

  test('a double click rejects a request once, and its requester sees the reason', async () => {
    const first = await opened(`payments/${payment}`);
    await correct(first);
    const second = await opened('approvals', APPROVER_KEY);
    const reject = second.getByRole('button', { name: 'Reject', exact: true });
    await reject.waitFor();
    await tablesFit(second);
    await reject.click();
    const dialog = second.getByRole('dialog', { name: 'Reject' });
    await dialog.getByLabel('Reason').selectOption('wrong_amount');
    await dialog.getByRole('button', { name: 'Reject', exact: true }).dblclick();
    await second.getByText('rejected by Ben Example').waitFor();
    await tablesFit(second);
    await first.getByRole('link', { name: 'Approvals' }).first().click();
    await first.getByText('The amount is wrong').waitFor();
    expect(dataOf(await api.get(`/v1/corrections?payment=${payment}`))).toEqual([]);
    expect(shown.written.filter((each) => each.endsWith('/reject'))).toHaveLength(1);
  });

  test('a dialog names its request, and approves this request even if a newer one appears above it', async () => {
    const first = String((await api.correct('c', { payment, reverses: 2 })).body['id']);
    const page = await opened('approvals', APPROVER_KEY);
    const button = page.getByRole('button', { name: 'Approve', exact: true });
    await button.waitFor();
    const held: Route[] = [];
    await page.route('**/v1/admin/approvals', (route) => void held.push(route), { times: 1 });
    await page.getByRole('button', { name: 'Refresh' }).click();
    const read = await until(async () => held[0]);
    await button.click();
    const dialog = page.getByRole('dialog', { name: 'Approve' });
    await dialog.getByText(`Executes this request once: correction, 15.00 EUR, ${payment}.`).waitFor();
    const other = await api.paid('k2', { amount: 2000 });
    const refund = { amount: 2000, reason: 'Asked by phone' };
    expect((await api.write(`/v1/admin/payments/${other}/refunds`, 'r', refund)).status).toBe(202);
    await read.continue();
    await page.locator('tbody tr').nth(1).waitFor();
    await dialog.getByText(payment).waitFor();
    await dialog.getByRole('button', { name: 'Approve', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(shown.written).toEqual([`POST /v1/admin/approvals/${first}/approve`]);
    expect(dataOf(await api.get(`/v1/payments/${other}/refunds`))).toEqual([]);
    expect(shown.violations).toEqual([]);
  });

  test('a dialog closes without an action if the address changes to another tenant', async () => {
    const tenant = await new TenantAdministration(api.store.database.client, TABLES, 'ada').createTenant('Shop');
    const page = await opened(`keys?tenant=${tenant}`);
    await page.getByText(`The API keys of ${tenant}`).waitFor();
    await page.goto(`${shown.url}/#/keys?tenant=ten_desk`);
    await page.getByText('The API keys of ten_desk').waitFor();
    await page.getByRole('button', { name: 'Create key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Create key' });
    await dialog.getByText('Creates an API key of ten_desk.').waitFor();
    await page.goBack();
    await page.getByText(`The API keys of ${tenant}`).waitFor();
    await dialog.waitFor({ state: 'detached' });
    expect(shown.written).toEqual([]);
  });

  test('a preview is shown only for the values that it was made for', async () => {
    const page = await opened(`payments/${payment}`);
    await page.getByRole('button', { name: 'Correct' }).click();
    const dialog = page.getByRole('dialog', { name: 'Correct' });
    await dialog.getByLabel('Postings to reverse').selectOption({ index: 1 });
    await dialog.getByLabel('Reason').fill('The processor has 16.00 EUR');
    const held: Route[] = [];
    await page.route('**/v1/admin/corrections', (route) => void held.push(route), { times: 1 });
    await dialog.getByRole('button', { name: 'Preview' }).click();
    const read = await until(async () => held[0]);
    await dialog.getByLabel('Reason').fill('Booked twice');
    await read.continue();
    await dialog.getByText('Waiting for the response').waitFor({ state: 'detached' });
    expect(await dialog.getByText('Nothing was written.').count()).toBe(0);
    await dialog.getByRole('button', { name: 'Preview' }).click();
    await dialog.getByText('Nothing was written.').waitFor();
  });

  test('a double click starts a job run, an export or a key roll only once', async () => {
    const administration = new TenantAdministration(api.store.database.client, TABLES, 'ada');
    const tenant = await administration.createTenant('Shop');
    await administration.createApiKey({ tenantId: tenant, mode: 'test', name: 'Shop', scopes: ['payments:read'] });
    const page = await opened('jobs/close-days');
    await decideOn(page, 'Run now');
    await page.getByRole('region', { name: 'Runs of close-days' }).waitFor();
    expect(dataOf(await api.get('/v1/admin/jobs/close-days/runs'))).toHaveLength(1);

    await page.goto(`${shown.url}/#/exports?tenant=ten_desk&mode=test`);
    await page.getByRole('button', { name: 'Export', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Export' });
    await dialog.getByLabel('Rows').selectOption('entries');
    await dialog.getByLabel('First day').fill('2026-03-01');
    await dialog.getByLabel('Last day').fill('2026-03-01');
    await dialog.getByRole('button', { name: 'Export' }).dblclick();
    await page.getByRole('region', { name: 'Exports' }).getByText('entries').waitFor();
    expect(dataOf(await api.get('/v1/exports'))).toHaveLength(1);

    await page.goto(`${shown.url}/#/keys?tenant=${tenant}`);
    await decideOn(page, 'Roll');
    await page.getByRole('dialog', { name: 'Roll' }).getByText('Copy the secret now.').waitFor();
    expect(dataOf(await api.get(`/v1/admin/keys?tenant=${tenant}`))).toHaveLength(2);
    expect(shown.written.map((each) => each.split('/').at(-1))).toEqual(['runs', 'exports', 'roll']);
    expect(shown.violations).toEqual([]);
  });

  test('a double click sets or resets the limit of a tenant only once', async () => {
    const tenant = await new TenantAdministration(api.store.database.client, TABLES, 'ada').createTenant('Shop');
    const page = await opened(`keys?tenant=${tenant}`);
    const limits = page.getByRole('region', { name: 'Request limits' });
    const ofPayments = limits.getByRole('row').filter({ hasText: 'live' }).filter({ hasText: 'payments' });
    await ofPayments.getByText('the deployment').waitFor();
    for (const name of ['Set limit', 'Reset limit']) {
      await page.getByRole('button', { name, exact: true }).click();
      const dialog = page.getByRole('dialog', { name, exact: true });
      await dialog.getByLabel('Mode').selectOption('live');
      await dialog.getByLabel('Kind of request').selectOption('payments');
      if (name === 'Set limit') {
        await dialog.getByLabel('Requests per second').fill('250');
        await dialog.getByLabel('Burst (requests at once)').fill('500');
        await accessible(page);
      }
      await dialog.getByRole('button', { name }).dblclick();
      await ofPayments.getByText(name === 'Set limit' ? 'the tenant' : 'the deployment').waitFor();
      expect(await ofPayments.getByText('250').count()).toBe(name === 'Set limit' ? 1 : 0);
    }
    const entries = dataOf(await api.get(`/v1/admin/activity?tenant=${tenant}&mode=live`));
    expect(entries).toMatchObject([
      { action: 'limit.changed', details: {} },
      { action: 'limit.changed', details: { rate: '250', burst: '500' } },
    ]);
    expect(shown.written).toEqual(['POST /v1/admin/limits', 'POST /v1/admin/limits']);
    expect(shown.violations).toEqual([]);
  });

  test('a viewer sees the actions of seven screens disabled, with the reason', async () => {
    api.registerOperator(VIEWER_KEY, { operator: 'Vera Example', role: 'viewer' });
    await correct(await opened(`payments/${payment}`));
    const page = await shown.signedIn(VIEWER_KEY);
    const before = shown.written.length;
    for (const [hash, names] of [
      [`payments/${payment}`, ['Decide', 'Correct', 'Annotate']],
      ['payments?tenant=ten_desk&mode=test', ['Export as CSV']],
      ['books?tenant=ten_desk&mode=test', ['Export as CSV']],
      ['exports?tenant=ten_desk&mode=test', ['Export']],
      ['approvals', ['Approve', 'Reject']],
      ['jobs/close-days', ['Run now']],
      ['keys?tenant=ten_desk', ['Create key', 'Set limit', 'Reset limit']],
    ] as const) {
      await page.goto(`${shown.url}/#/${hash}`);
      for (const name of names) {
        const act = page.getByRole('button', { name, exact: true });
        await act.waitFor();
        expect([hash, name, await act.isDisabled()]).toEqual([hash, name, true]);
        const why = await act.getAttribute('aria-describedby');
        expect(await page.locator(`#${why}`).first().textContent()).toMatch(
          /^Your role is viewer; this action requires the role /,
        );
      }
      await accessible(page);
    }
    expect(shown.written).toHaveLength(before);
    expect(shown.violations).toEqual([]);
  });

  test('merchant data is shown as text, and hidden from viewers', async () => {
    const page = await opened(`payments/${payment}`);
    await page.getByText(`metadata ${SCRIPT}`).waitFor();
    expect(await page.getByRole('definition').getByText(SCRIPT).count()).toBe(2);
    await titled(page, `${payment} – Payonce console`);
    api.registerOperator(VIEWER_KEY, { operator: 'Vera Example', role: 'viewer' });
    const viewer = await opened(`payments/${payment}`, VIEWER_KEY);
    await viewer.getByText('amounts, description and metadata require the role operator').waitFor();
    await viewer.getByText('Debits less credits: 0.00 EUR').waitFor();
    expect(await viewer.getByText(SCRIPT).count()).toBe(0);
    expect(shown.violations).toEqual([]);
  });

  test('a payment whose transitions do not fit on one API page is shown in its current state, even on a phone', async () => {
    for (let count = 0; count < 14; count += 1) await api.change(`${payment}/refunds`, `r${count}`, { amount: 100 });
    const page = await opened(`payments/${payment}`);
    await page.setViewportSize({ width: 390, height: 800 });
    await page.getByText('30. refund.completed').first().waitFor();
    await page.getByText('14.00 EUR').first().waitFor();
    expect(await page.getByRole('region', { name: 'Postings' }).getByRole('row').count()).toBe(31);
    for (const hash of [`payments/${payment}`, `inspector/${payment}`, 'waiting/claims', 'jobs/close-days']) {
      await page.goto(`${shown.url}/#/${hash}`);
      await page.getByRole('heading', { level: 1, name: hash.split('/')[1] ?? '' }).waitFor();
      await accessible(page);
      const beyond = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
      expect([hash, await page.evaluate<number>(beyond)]).toEqual([hash, 0]);
    }
    expect(shown.violations).toEqual([]);
  });
});
