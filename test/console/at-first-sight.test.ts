import { beforeEach, expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { Api, dataOf } from '../world/api.ts';
import { TABLES } from '../world/tables.ts';
import { accessible, decideOn, describeConsole } from './console-in-browser.ts';

const BEN_KEY = 'ok_benbenbenbenbenbenbenben00';
const PHONE = { width: 390, height: 800 };

describeConsole('results, tables and forms in a browser', (shown) => {
  let api: Api;
  beforeEach(() => {
    api = new Api({ approvals: { aboveMinor: { EUR: 5000 }, lifetimeMs: 3_600_000 } });
    shown.api = api;
    api.registerOperator(BEN_KEY, { operator: 'Ben Example', role: 'approver' });
  });

  const administration = () => new TenantAdministration(api.store.database.client, TABLES, 'ada');

  async function opened(hash: string, key?: string): Promise<Page> {
    const page = await shown.signedIn(key);
    await page.goto(`${shown.url}/#/${hash}`);
    return page;
  }

  async function isInWindow(page: Page, element: Locator): Promise<boolean> {
    await element.waitFor();
    const { width = 0, height = 0 } = page.viewportSize() ?? {};
    const box = await element.boundingBox();
    return box !== null && box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height;
  }

  test('the preview of the decision “failed” shows the amount that is returned to the payer', async () => {
    const id = await api.paid('k', { source: 'tok_async' });
    const { inside } = api.processor;
    await inside.correct(inside.all.at(-1)?.chargeId ?? '', { status: 'succeeded', amount_captured: 600 });
    await api.world.learn(id);
    const page = await opened(`payments/${id}`);
    await page.getByRole('button', { name: 'Decide' }).click();
    const dialog = page.getByRole('dialog', { name: 'Decide' });
    await dialog.getByRole('radio', { name: 'None: the payment failed' }).check();
    await dialog.getByLabel('Reason').fill('Paid twice');
    await dialog.getByRole('button', { name: 'Preview' }).click();
    const preview = dialog.getByRole('region', { name: 'Preview' });
    await preview.getByText('Payonce then returns the captured 6.00 EUR to the payer').waitFor();
    await accessible(page);
    expect(shown.violations).toEqual([]);
  });

  test('actions of a wide table stay in the window, and the result of an action is shown at any scroll position', async () => {
    await api.create('k');
    const [endpoint] = dataOf(await api.get('/v1/webhook_endpoints'));
    const page = await opened(`webhooks?tenant=ten_desk&mode=test&endpoint=${String(endpoint?.['id'])}`);
    await decideOn(page, 'Send test event');
    const resend = page.getByRole('button', { name: 'Resend' }).last();
    await resend.scrollIntoViewIfNeeded();
    expect(await isInWindow(page, resend)).toBe(true);
    await page.setViewportSize(PHONE);
    await resend.scrollIntoViewIfNeeded();
    await resend.click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resend' }).click();
    expect(await isInWindow(page, page.getByText('The event is sent again.'))).toBe(true);
    await accessible(page);
    await page.getByRole('button', { name: 'Close message' }).click();
    await page.getByText('The event is sent again.').waitFor({ state: 'detached' });
    expect(shown.violations).toEqual([]);
  });

  test('on a phone, the tenant and the menu stay in the window, and the page header covers no heading', async () => {
    for (let count = 0; count < 9; count += 1) await api.paid(`k${count}`);
    const page = await opened('payments?tenant=ten_desk&mode=test');
    await page.setViewportSize(PHONE);
    await page.getByRole('row').nth(9).scrollIntoViewIfNeeded();
    expect((await page.locator('header').boundingBox())?.height).toBeLessThan(110);
    expect(await isInWindow(page, page.getByLabel('Tenant'))).toBe(true);
    await page.getByRole('button', { name: 'Menu' }).click();
    expect(await isInWindow(page, page.getByRole('link', { name: 'Overview', exact: true }))).toBe(true);
    expect(await isInWindow(page, page.getByRole('button', { name: 'Sign out' }))).toBe(true);
    await accessible(page);
    await page.getByRole('link', { name: 'Approvals', exact: true }).click();
    const heading = page.getByRole('heading', { name: 'Approvals', level: 1 });
    await heading.waitFor();
    const { y = 0, height = 0 } = (await page.locator('header').boundingBox()) ?? {};
    expect((await heading.boundingBox())?.y).toBeGreaterThanOrEqual(y + height);
    expect(shown.violations).toEqual([]);
  });

  test('the approvals show the limit, and the operator who approved a request', async () => {
    const id = await api.paid('k', { amount: 9900 });
    await api.write(`/v1/admin/payments/${id}/refunds`, 'r', { reason: 'Asked by phone' });
    const page = await opened('approvals', BEN_KEY);
    await page.getByText('above 50.00 EUR, and all in other currencies, need a second person').waitFor();
    for (const name of ['Approve', 'Reject'])
      expect(await isInWindow(page, page.getByRole('button', { name, exact: true }))).toBe(true);
    await decideOn(page, 'Approve');
    await page.getByText(`You approved: refund, 99.00 EUR, ${id}.`).waitFor();
    await page.getByText('approved by Ben Example').waitFor();
    await accessible(page);
    expect(shown.violations).toEqual([]);
  });

  test('the dialog that approves a correction says that the status of the payment does not change', async () => {
    const id = await api.paid('k', { amount: 9900 });
    await api.correct('c', { payment: id, reverses: 2 });
    const page = await opened('approvals', BEN_KEY);
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByText('The payment stays succeeded: a correction changes the books only.').waitFor();
  });

  test('the form that creates a key initially has the selected mode and the usual scopes; a replaced key is shown with its successor', async () => {
    const page = await opened('keys?tenant=ten_desk&mode=test');
    await page.clock.setFixedTime(api.clock.nowMs() + 1_000);
    await page.getByRole('button', { name: 'Create key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Create key' });
    expect(await dialog.getByLabel('Mode').inputValue()).toBe('test');
    expect(await dialog.getByRole('checkbox', { checked: true }).count()).toBe(4);
    await dialog.getByText('Days until it expires (optional)').waitFor();
    await dialog.getByLabel('Purpose').fill('Web shop');
    for (const scope of ['payments:read', 'payments:write', 'events:read', 'ledger:read'])
      await dialog.getByLabel(scope).uncheck();
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByText('Scopes: choose at least one.').waitFor();
    await dialog.getByLabel('payments:read').check();
    await dialog.getByLabel('payments:write').check();
    await accessible(page);
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByText('It is not shown again.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Roll' }).click();
    const roll = page.getByRole('dialog', { name: 'Roll' });
    await roll.getByLabel('Hours').fill('0');
    await roll.getByRole('button', { name: 'Roll' }).click();
    await roll.getByText('It is not shown again.').waitFor();
    await roll.getByRole('button', { name: 'Close' }).click();
    const old = page.getByRole('row').filter({ hasText: 'replaced by' });
    await old.getByText('expired').first().waitFor();
    expect(await old.getByRole('button', { name: 'Revoke' }).isDisabled()).toBe(true);
    const keys = dataOf(await api.get('/v1/admin/keys?tenant=ten_desk'));
    expect(keys.map(({ scopes }) => scopes)).toEqual(keys.map(() => ['payments:read', 'payments:write']));
    await page.getByRole('navigation').getByRole('link', { name: 'Activity', exact: true }).click();
    await page.getByText('replaces').waitFor();
    await accessible(page);
    expect(shown.violations).toEqual([]);
  });

  test('the form that sets a limit initially has the current limit', async () => {
    const tenant = await administration().createTenant('Shop');
    const page = await opened(`keys?tenant=${tenant}&mode=live`);
    await page.getByRole('region', { name: 'Request limits' }).waitFor();
    await page.getByRole('button', { name: 'Set limit', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Set limit', exact: true });
    const values = async () => [
      await dialog.getByLabel('Requests per second').inputValue(),
      await dialog.getByLabel('Burst').inputValue(),
    ];
    const limits = dataOf(await api.get(`/v1/admin/limits?tenant=${tenant}`));
    const of = (kind: string) => {
      const limit = limits.find((each) => each['mode'] === 'live' && each['kind'] === kind);
      return [String(limit?.['rate']), String(limit?.['burst'])];
    };
    expect(await values()).toEqual(of('payments'));
    await dialog.getByLabel('Kind of request').selectOption('reads');
    expect(await values()).toEqual(of('reads'));
    await dialog.getByLabel('Requests per second').fill('7');
    await dialog.getByRole('button', { name: 'Set limit' }).click();
    await page.getByText('The limit of reads in live mode is 7 per second').waitFor();
  });

  test('the dialog for an export of the last month names the tenant, and the row of the export is updated without a refresh', async () => {
    await api.paid('k');
    const page = await opened('exports?tenant=ten_desk&mode=test');
    await page.getByRole('button', { name: 'Export', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Export' });
    await dialog.getByText('Writes a CSV file of Desk in test mode.').waitFor();
    await dialog.getByText('Currency (optional)').waitFor();
    await dialog.getByRole('button', { name: 'Last month' }).click();
    expect([
      await dialog.getByLabel('First day').inputValue(),
      await dialog.getByLabel('Last day').inputValue(),
    ]).toEqual(['2026-02-01', '2026-02-28']);
    await dialog.getByLabel('Rows').selectOption('payments');
    await dialog.getByRole('button', { name: 'Export' }).click();
    await page.getByText('The file is being written.').waitFor();
    await page.getByRole('region', { name: 'Exports' }).getByText('completed').waitFor();
    await accessible(page);
  });

  test('the search offers the tenants if none is chosen, refuses an incomplete e-mail address, and shows the current query', async () => {
    await administration().createTenant('Shop');
    const id = await api.paid('k', { reference: 'Order 4711' });
    const page = await shown.signedIn();
    const search = page.getByLabel('Search payments');
    await search.fill('Order 47');
    await page.keyboard.press('Enter');
    await page.getByText('A search across all tenants finds only ids.').waitFor();
    await accessible(page);
    await page.getByRole('main').getByRole('link', { name: 'Desk' }).click();
    await page.getByRole('link', { name: id }).waitFor();
    expect(await search.inputValue()).toBe('Order 47');
    await search.fill('ann@exam');
    await page.keyboard.press('Enter');
    await page.getByText('An e-mail address must be complete').waitFor();
    await page.getByRole('link', { name: 'Show all' }).click();
    await page.getByRole('link', { name: id }).waitFor();
    expect(await search.inputValue()).toBe('');
    await page.goto(`${shown.url}/#/inspector?tenant=ten_desk&mode=test&key=k`);
    await page.getByText('Enter the path of the request.').waitFor();
    expect(shown.violations).toEqual([]);
  });

  test('the sign-in says why it refuses a key, and a screen names the role that it requires', async () => {
    const page = await shown.opened();
    const signIn = async (key: string) => {
      await page.getByLabel('Operator’s key').fill(key);
      await page.getByRole('button', { name: 'Sign in' }).click();
    };
    await signIn('nonsense');
    await page.getByText('This is not the key of an operator, which begins with ok_.').waitFor();
    await signIn('sk_test_k3jx5aqhz4m2nrb7vwy6t5oc');
    await page.getByText('This is the API key of a tenant.').waitFor();
    await signIn(BEN_KEY);
    await page.getByRole('link', { name: 'Operators', exact: true }).click();
    await page.getByText('Your role is approver; this screen requires the role owner.').waitFor();
    await accessible(page);
    expect(shown.violations).toEqual([]);
  });
});
