import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { consoleSignIn } from '../../lambdas/api-docs/console-page.ts';
import { ALL_SCOPES } from '../../lambdas/kernel/contract/api.ts';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import { byIdentityProvider } from '../../lambdas/tenants/identity-provider.ts';
import { TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { paymentRequest } from '../payments/payment-fixtures.ts';
import { Api, dataOf, OPERATOR_KEY } from '../world/api.ts';
import { gatewayEvent } from '../world/gateway-event.ts';
import { TABLES } from '../world/tables.ts';
import {
  accessible,
  BuiltConsole,
  countClicks,
  decideOn,
  describeConsole,
  eachScreen,
  identifyAs,
  picture,
  showMode,
} from './console-in-browser.ts';
import { CLIENT, IdProvider } from './id-provider.ts';

const SECOND_KEY = 'ok_benbenbenbenbenbenbenben00';
const VIEWER_KEY = 'ok_viewerviewerviewerviewer';
const MAX_BYTES = 120_000;

describe('the console files', () => {
  let built: BuiltConsole;
  let documents: ReturnType<BuiltConsole['documents']>;
  beforeAll(async () => {
    built = await BuiltConsole.build();
  });
  afterAll(() => built.remove());
  beforeEach(() => {
    documents = built.documents();
  });

  test('are small, hashed and cached forever, except for the page that references them', async () => {
    const page = await documents(gatewayEvent('GET', '/console/'));
    expect(page.headers).toMatchObject({ 'Cache-Control': 'no-cache' });
    expect(String(page.headers?.['Content-Security-Policy'])).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self';/,
    );
    expect(page.body).not.toMatch(/https?:|\/\/|<script>|<style|style=|\son[a-z]+=/);
    const names = [...page.body.matchAll(/(?:href|src)="\.\/(assets\/[^"]+)"/g)].map(([, name = '']) => name);
    expect(names).toHaveLength(2);
    let bytes = gzipSync(page.body).length;
    for (const name of names) {
      const { statusCode, headers, body } = await documents(gatewayEvent('GET', `/console/${name}`));
      expect([statusCode, headers?.['Cache-Control']]).toEqual([200, 'public, max-age=31536000, immutable']);
      bytes += gzipSync(body).length;
    }
    expect(bytes).toBeLessThan(MAX_BYTES);
  });

  test.each(['/console/index.html', '/console/assets/none.js', '/console/assets/../index.html', '/console/assets'])(
    'do not include any other file: %s',
    async (path) => {
      expect((await documents(gatewayEvent('GET', path))).statusCode).toBe(404);
    },
  );

  test('state how to sign in, and allow calls to a configured identity provider', async () => {
    const of = () => documents(gatewayEvent('GET', '/console/sign-in.json'));
    expect(JSON.parse((await of()).body)).toEqual({});
    expect((await of()).headers).toMatchObject({ 'Cache-Control': 'no-cache' });
    const variable = { issuer: 'https://id.example/tenant', audience: 'payonce', clientId: CLIENT };
    documents = built.documents(consoleSignIn({ CONSOLE_SIGN_IN: JSON.stringify(variable) }));
    expect(JSON.parse((await of()).body)).toEqual(variable);
    const { headers } = await documents(gatewayEvent('GET', '/console/'));
    expect(String(headers?.['Content-Security-Policy'])).toContain("; connect-src 'self' https://id.example; ");
    expect(() => consoleSignIn({ CONSOLE_SIGN_IN: '{"issuer":"https://id.example"}' })).toThrow('CONSOLE_SIGN_IN');
  });

  test('redirect the address without a slash to the page', async () => {
    const { statusCode, headers } = await documents(gatewayEvent('GET', '/console'));
    expect([statusCode, headers?.['Location']]).toEqual([308, 'console/']);
  });
});

describeConsole('an operator in a browser', (shown) => {
  async function openPayment(page: Page, id: string): Promise<void> {
    await page.getByLabel('Search payments').fill(id);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'What happened' }).waitFor();
  }

  test('finds the payment of a killed process, and reads its history', async () => {
    const api = new Api();
    shown.api = api;
    const request = paymentRequest('k');
    await api.world.claimThenDie(request, true);
    api.clock.advance(30_000);
    const page = await shown.signedIn();
    await page.getByRole('link', { name: 'Waiting for work' }).click();
    await page.getByRole('link', { name: 'Open claims', exact: true }).waitFor();
    await picture(page, 'waiting');
    await page.getByRole('link', { name: 'Open claims', exact: true }).click();
    await page.getByRole('link', { name: request.paymentId }).click();
    await page.getByText('not completed; lease until').waitFor();
    await api.world.pay(request);
    await page.reload();
    await page.getByText('taken over: the lease of the owner had ended').waitFor();
    await page.getByText('looked up, result succeeded').waitFor();
    await page.getByText('Debits less credits: 0.00 EUR').waitFor();
    await accessible(page);
    await picture(page, 'payment');
    expect(shown.violations).toEqual([]);
  });

  async function inReview(): Promise<PaymentId> {
    const api = new Api();
    shown.api = api;
    const id = await api.paid('k', { source: 'tok_async' });
    const { inside } = api.processor;
    const [charge] = inside.all;
    await inside.correct(charge?.chargeId ?? '', { status: 'succeeded', amount_captured: 600 });
    await api.world.learn(id);
    // The resolver cannot settle the payment, so it leaves the payment to an operator.
    api.clock.advance(60_000);
    await api.world.resolve();
    expect(dataOf(await api.get('/v1/admin/queues/inquiries'))).toEqual([]);
    return id;
  }

  test('decides a payment in review within ten clicks, and a double click acts once', async () => {
    const id = await inReview();
    const page = await shown.signedIn();
    const clicks = await countClicks(page);
    await page.getByRole('row', { name: id }).getByRole('link', { name: 'Decide' }).click();
    await page.getByRole('img', { name: 'Statuses: processing, then needs review' }).waitFor();
    await page.getByRole('button', { name: 'Decide' }).click();
    const dialog = page.getByRole('dialog', { name: 'Decide' });
    await dialog.getByRole('radio', { name: '6.00 EUR captured by ch_1 Made by this payment' }).check();
    await accessible(page);
    await dialog.getByLabel('Reason').fill('<img src=x onerror=alert(1)> Seen on the statement');
    // The second click of a double click on Preview does not decide.
    await dialog.getByRole('button', { name: 'Preview' }).dblclick();
    await dialog.getByText('Nothing was written. The payment would become succeeded.').waitFor();
    await picture(page, 'decide');
    await dialog.getByRole('button', { name: 'Decide' }).dblclick();
    await page.getByText('The decision was recorded.').waitFor();
    expect(await clicks()).toBeLessThanOrEqual(10);
    await page.getByText('<img src=x onerror=alert(1)> Seen on the statement').first().waitFor();
    await page.getByText('Debits less credits: 0.00 EUR').waitFor();
    expect((await shown.api.get(`/v1/payments/${id}`)).body).toMatchObject({
      status: 'succeeded',
      amount_captured: 600,
    });
    expect(dataOf(await shown.api.get(`/v1/decisions?payment=${id}`))).toHaveLength(1);
    expect(shown.violations).toEqual([]);
  });

  test('must enter a valid amount to decide without the processor’s books; the API then refuses this decision, because it can read the books', async () => {
    const id = await inReview();
    const page = await shown.signedIn();
    await page.route('**/charges', (route) => route.abort());
    await openPayment(page, id);
    await page.getByRole('button', { name: 'Decide' }).click();
    const dialog = page.getByRole('dialog', { name: 'Decide' });
    await dialog.getByRole('radio', { name: 'The processor’s books cannot be read' }).check();
    await dialog.getByLabel('Outcome').selectOption('succeeded');
    await dialog.getByLabel('Reason').fill('Seen on the statement');
    const amount = dialog.getByLabel('Captured amount in EUR');
    for (const wrong of ['1e3', '0x10', '6,000', '6.000', '-6']) {
      await amount.fill(wrong);
      await dialog.getByRole('button', { name: 'Preview' }).click();
      await dialog.getByText('must be an amount in EUR without separators of thousands, for example 600.00.').waitFor();
      expect(shown.written).toEqual([]);
    }
    await amount.fill('6');
    await dialog.getByRole('button', { name: 'Preview' }).click();
    await dialog.getByText('Remove override.').waitFor();
    expect(dataOf(await shown.api.get(`/v1/decisions?payment=${id}`))).toEqual([]);
    expect(shown.violations).toEqual([]);
  });

  test('sees each action disabled, with the reason, if the role is viewer', async () => {
    const id = await inReview();
    shown.api.registerOperator(VIEWER_KEY, { operator: 'Vera Example', role: 'viewer' });
    const page = await shown.signedIn(VIEWER_KEY);
    await openPayment(page, id);
    for (const name of ['Decide', 'Correct', 'Annotate'])
      expect(await page.getByRole('button', { name, exact: true }).isDisabled()).toBe(true);
    await page.getByText('Your role is viewer; this action requires the role operator.').first().waitFor();
    expect(shown.written).toEqual([]);
  });

  test('needs a second person for a correction above the limit, and a double click acts once', async () => {
    const api = new Api({ approvals: { aboveMinor: { EUR: 1000 }, lifetimeMs: 3_600_000 } });
    shown.api = api;
    api.registerOperator(SECOND_KEY, { operator: 'Ben Example', role: 'approver' });
    const id = await api.paid('k', { amount: 1500 });
    const first = await shown.signedIn();
    await openPayment(first, id);
    await first.getByRole('button', { name: 'Correct' }).click();
    const dialog = first.getByRole('dialog', { name: 'Correct' });
    await dialog.getByLabel('Postings to reverse').selectOption('2');
    await dialog.getByLabel('Reason').fill('Booked twice');
    await dialog.getByRole('button', { name: 'Preview' }).click();
    await dialog.getByText('once a second person approves').waitFor();
    await dialog.getByRole('button', { name: 'Correct' }).dblclick();
    await first.getByText('The request waits for a second person').waitFor();
    await first.getByRole('main').getByRole('link', { name: 'Approvals', exact: true }).click();
    await first.getByText('You made this request.').first().waitFor();
    expect(await first.getByRole('button', { name: 'Approve', exact: true }).isDisabled()).toBe(true);
    expect(dataOf(await api.get(`/v1/corrections?payment=${id}`))).toEqual([]);

    const second = await shown.signedIn(SECOND_KEY);
    await second.getByRole('link', { name: 'Approvals', exact: true }).click();
    await second.getByRole('button', { name: 'Approve', exact: true }).click();
    const shownEffect = second.getByRole('dialog', { name: 'Approve' }).getByRole('region', { name: 'Effect' });
    await shownEffect.getByText('the reversal of the postings of transition 2').waitFor();
    await shownEffect.getByText('merchant_payable').waitFor();
    await accessible(second);
    await second.getByRole('dialog', { name: 'Approve' }).getByRole('button', { name: 'Approve' }).dblclick();
    await second.getByText('approved by Ben Example').waitFor();
    await accessible(second);
    expect(dataOf(await api.get(`/v1/corrections?payment=${id}`))).toHaveLength(1);
    expect(dataOf(await api.get('/v1/admin/approvals'))).toHaveLength(1);
    expect(shown.violations).toEqual([]);
  });

  test('finds the payments of a tenant, and keeps the query in the address', async () => {
    const api = new Api();
    shown.api = api;
    const id = await api.paid('k', { reference: 'Order <i>7</i>' });
    const page = await shown.signedIn();
    // The only tenant is chosen, in the only mode in which it has payments.
    await page.getByRole('link', { name: 'Payments', exact: true }).click();
    await page.getByRole('link', { name: id }).waitFor();
    expect(page.url()).toBe(`${shown.url}/#/payments?tenant=ten_desk&mode=test`);
    await page.getByText('Filter', { exact: true }).click();
    await page.getByLabel('Reference').pressSequentially(' Order <i>7</i> ');
    expect(await page.getByLabel('Reference').inputValue()).toBe(' Order <i>7</i> ');
    await page.getByLabel('First day (UTC)').fill('2020-01-01');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('Order <i>7</i>').waitFor();
    await accessible(page);
    const query = new URLSearchParams(page.url().split('?')[1]);
    expect([query.get('reference'), query.get('created_from')]).toEqual(['Order <i>7</i>', '1577836800']);
    await page.getByLabel('Smallest amount').fill('1e3');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('needs a currency code, for example EUR').waitFor();
    await page.getByLabel('Currency (at most 31 days)').fill('EUR');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('must be an amount in EUR without separators of thousands').waitFor();
    await page.getByLabel('Smallest amount').fill('10');
    await page.getByLabel('Reference').fill('');
    await page.getByLabel('First day (UTC)').fill('2026-02-20');
    await page.getByLabel('Last day (UTC)').fill('2026-03-09');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.waitForURL(/amount_from=1000&/);
    await page.getByRole('link', { name: id }).waitFor();
    await page.getByRole('link', { name: id }).click();
    await page.getByRole('heading', { name: 'What happened' }).waitFor();
    expect(shown.violations).toEqual([]);
  });

  test('sees the record of an idempotency key', async () => {
    const api = new Api();
    shown.api = api;
    const id = await api.paid('order-1234');
    const page = await shown.signedIn();
    await page.getByRole('link', { name: 'Key inspector', exact: true }).click();
    await page.getByLabel('Idempotency key').fill('order-1234');
    await page.getByLabel('Path of the request').fill('/v1/payments');
    await page.getByRole('button', { name: 'Inspect' }).click();
    await page.getByText('completed', { exact: true }).waitFor();
    await accessible(page);
    await page.getByRole('link', { name: id }).click();
    await page.getByRole('heading', { name: 'What happened' }).waitFor();
    await page.getByText('claimed by a request').getByRole('link').first().click();
    await page.getByRole('heading', { name: `Operation ${id}` }).waitFor();
    await page.getByText('completed', { exact: true }).waitFor();
  });

  test('creates a key only once with a double click; the secret is shown once, and the key can be revoked', async () => {
    const api = new Api();
    shown.api = api;
    const { client } = api.store.database;
    const tenant = await new TenantAdministration(client, TABLES, 'ada').createTenant('Shop <b>of Ada</b>');
    const page = await shown.signedIn();
    await page.getByRole('link', { name: 'Tenants', exact: true }).click();
    await page.getByRole('cell', { name: 'Shop <b>of Ada</b>' }).waitFor();
    await page.getByRole('row', { name: tenant }).getByRole('link', { name: 'keys and limits' }).click();
    await page.getByRole('button', { name: 'Create key' }).click();
    const dialog = page.getByRole('dialog', { name: 'Create key' });
    await dialog.getByLabel('Purpose of the key').fill('Web shop');
    await dialog.getByLabel('Mode').selectOption('test');
    expect(await dialog.getByRole('checkbox').count()).toBe(ALL_SCOPES.length);
    for (const scope of ['events:read', 'ledger:read']) await dialog.getByLabel(scope).uncheck();
    await dialog.getByRole('button', { name: 'Create key' }).dblclick();
    await dialog.getByText('It is not shown again.').waitFor();
    await accessible(page);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByText('test: payments:read payments:write').waitFor();
    await decideOn(page, 'Revoke');
    await page.getByText('The key is revoked.').first().waitFor();
    const keys = dataOf(await api.get(`/v1/admin/keys?tenant=${tenant}`));
    expect(keys).toMatchObject([{ name: 'Web shop', revoked: expect.any(Number) }]);
    expect(shown.written.filter((each) => each === 'POST /v1/admin/keys')).toHaveLength(1);
    expect(shown.violations).toEqual([]);
  });

  test('keeps tenant and mode across screens, a reload and a new window, and sees an error for an unknown tenant', async () => {
    const api = new Api();
    shown.api = api;
    const shop = await new TenantAdministration(api.store.database.client, TABLES, 'ada').createTenant('Shop');
    await api.paid('k', { reference: 'Order 7' });
    const page = await shown.signedIn();
    const tenant = page.getByLabel('Tenant');
    // None of several tenants is preselected.
    expect(await tenant.inputValue()).toBe('');
    await page.getByRole('link', { name: 'Books', exact: true }).click();
    await page.getByText('No tenant is chosen.').waitFor();
    await tenant.selectOption('ten_desk');
    // The tenant `ten_desk` has payments in test mode only.
    await page.getByRole('region', { name: 'Balances' }).waitFor();
    expect(page.url()).toBe(`${shown.url}/#/books?tenant=ten_desk&mode=test`);
    for (const name of ['Jobs', 'Webhooks', 'Payments']) await page.getByRole('link', { name, exact: true }).click();
    await page.getByText('Order 7').waitFor();
    await page.reload();
    await page.getByText('Order 7').waitFor();
    await showMode(page, 'Live');
    await page.getByText('There is no payment of ten_desk in live mode.').waitFor();
    expect(await page.evaluate('document.activeElement.parentElement.textContent')).toBe('Live');
    await tenant.selectOption(shop);
    await page.getByText(`There is no payment of ${shop} in live mode.`).waitFor();

    const other = await shown.signedIn();
    await other.goto(`${shown.url}/#/payments?tenant=ten_desk&mode=test`);
    await other.getByText('Order 7').waitFor();
    await other.goto(`${shown.url}/#/payments?tenant=ten_gone&mode=test`);
    await other.getByRole('alert').getByText('This deployment has no tenant ten_gone.').waitFor();
    await accessible(other);
    expect(shown.violations).toEqual([]);
  });

  test('stays signed in for eight hours, and is then signed out', async () => {
    const api = new Api();
    shown.api = api;
    const page = await shown.signedIn();
    await page.clock.setFixedTime(Date.now() + 8 * 3_600_000 - 60_000);
    await page.reload();
    await page.getByText('Ada Example (owner)').waitFor();
    await page.clock.setFixedTime(Date.now() + 8 * 3_600_000 + 60_000);
    await page.reload();
    await page.getByLabel('Operator’s key').waitFor();
    expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain(OPERATOR_KEY);
  });

  test("sorts rows by a column, and sees amounts and times in the browser's format, with UTC in addition", async () => {
    const api = new Api();
    shown.api = api;
    for (const [key, amount] of [
      ['a', 1_234_567],
      ['b', 500],
      ['c', 99_900],
    ] as const)
      await api.paid(key, { amount });
    shown.settings = { locale: 'de-DE', timezoneId: 'Asia/Tokyo' };
    const page = await shown.signedIn();
    await page.getByRole('link', { name: 'Payments', exact: true }).click();
    const region = page.getByRole('region', { name: 'Payments found' });
    const amounts = () => region.locator('tbody tr td:first-child').allTextContents();
    await region.getByText('12.345,67 EUR').waitFor();
    const heading = region.getByRole('columnheader', { name: 'Amount' });
    const orders = [];
    for (let press = 0; press < 3; press += 1) {
      await heading.getByRole('button').press('Enter');
      orders.push([await heading.getAttribute('aria-sort'), ...(await amounts())]);
    }
    expect(orders).toEqual([
      ['ascending', '5,00 EUR', '999,00 EUR', '12.345,67 EUR'],
      ['descending', '12.345,67 EUR', '999,00 EUR', '5,00 EUR'],
      [null, '999,00 EUR', '5,00 EUR', '12.345,67 EUR'],
    ]);
    const newest = region.locator('tbody time').first();
    expect(await newest.getAttribute('title')).toBe('2026-03-01 12:00:02 UTC');
    expect(await newest.textContent()).toContain('01.03.2026, 21:00:02');
  });

  test('copies a shortened id as a whole', async () => {
    const api = new Api();
    shown.api = api;
    const id = await api.paid('k');
    shown.settings = { permissions: ['clipboard-read', 'clipboard-write'] };
    const page = await shown.signedIn();
    await page.getByRole('link', { name: 'Payments', exact: true }).click();
    await page.getByRole('button', { name: `Copy ${id}` }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(id);
  });

  test('chooses the kinds of entries that the timeline shows', async () => {
    const api = new Api();
    shown.api = api;
    const id = await api.paid('k');
    const page = await shown.signedIn();
    await openPayment(page, id);
    const entries = page.locator('.story li');
    const all = await entries.count();
    await page.getByLabel('Requests').uncheck();
    await page.getByText('claimed by a request').waitFor({ state: 'detached' });
    expect(await entries.count()).toBeLessThan(all);
    await page.getByLabel('Requests').check();
    await page.getByText('claimed by a request').waitFor();
  });

  test('sees the time of an operator’s action next to its text in the timeline', async () => {
    const api = new Api().with({ approvals: { aboveMinor: { EUR: 1 }, lifetimeMs: 72 * 3_600_000 } });
    shown.api = api;
    const id = await api.paid('k');
    const asked = await api.write(`/v1/admin/payments/${id}/refunds`, 'r', { amount: 500, reason: 'Parcel lost' });
    expect(asked.status).toBe(202);
    const page = await shown.signedIn();
    await openPayment(page, id);
    await page.locator('.story li.is-act > span').first().waitFor();
    // The screen can still be loading, so one call measures all positions.
    const spans = "[...document.querySelectorAll('.story li.is-act > span')]";
    const tops = await page.evaluate<number[]>(`${spans}.map((span) => span.getBoundingClientRect().y)`);
    expect(tops[0]).toBeCloseTo(tops.at(-1) ?? 0, -1);
  });

  test('gets accessible screens that fit the window in dark mode on a phone', async () => {
    const api = new Api();
    shown.api = api;
    await api.paid('k', { capture: 'manual' });
    const page = await shown.signedIn();
    await page.setViewportSize({ width: 390, height: 800 });
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.getByRole('button', { name: 'Menu' }).waitFor();
    await eachScreen(page, async (name) => {
      await accessible(page);
      const beyond = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect([name, beyond]).toEqual([name, 0]);
    });
    expect(shown.violations).toEqual([]);
  });

  test('can still use the menu on a phone after the address has changed, and closes the menu by following a link', async () => {
    shown.api = new Api();
    const page = await shown.signedIn();
    await page.setViewportSize({ width: 390, height: 800 });
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.goto(`${shown.url}/#/jobs`);
    await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Payments', exact: true }).click();
    await page.getByRole('heading', { name: 'Payments', level: 1 }).waitFor();
    await page.getByRole('navigation').waitFor({ state: 'hidden' });
  });

  test('sees a message when a wrong key is refused', async () => {
    const api = new Api();
    shown.api = api;
    const page = await shown.opened();
    await page.getByLabel('Operator’s key').fill('ok_wrongwrongwrongwrongwro');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('unauthorized').waitFor();
  });

  describe('the sign-in with an identity provider', () => {
    const audience = 'https://payonce.example';
    let provider: IdProvider;
    let passedMs = 0;
    beforeEach(async () => {
      passedMs = 0;
      provider = await IdProvider.start(audience, `${shown.url}/`);
      const { issuer } = provider;
      const api = new Api({
        identify: byIdentityProvider({ issuer, audience, roleClaim: 'roles' }, { nowMs: () => Date.now() + passedMs }),
      });
      shown.api = api;
      shown.signsIn({ issuer, audience, clientId: CLIENT });
    });
    afterEach(() => provider.stop());

    test('uses an authorization code, returns the operator to the screen, lasts across a reload, and leaves no trace after sign-out', async () => {
      const page = await shown.opened();
      await page.goto(`${shown.url}/#/jobs`);
      await accessible(page);
      await identifyAs(page, 'viewer');
      await page.getByText('viewer (viewer)').waitFor();
      await page.getByRole('heading', { name: 'Jobs' }).waitFor();
      expect(page.url()).toBe(`${shown.url}/#/jobs?tenant=ten_desk&mode=live`);
      await page.reload();
      await page.getByText('viewer (viewer)').waitFor();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByText('identifies you').waitFor();
      expect(await page.evaluate<number>('sessionStorage.length + localStorage.length')).toBe(0);
      await page.reload();
      await page.getByText('identifies you').waitFor();
      expect(await page.getByRole('alert').count()).toBe(0);
      expect(shown.violations).toEqual([]);
    });

    test('is repeated after the token has expired, and returns to the requested screen', async () => {
      const page = await shown.opened();
      await identifyAs(page, 'owner');
      await page.getByText('owner (owner)').waitFor();
      await page.goto(`${shown.url}/#/payments?tenant=ten_desk&mode=test&status=failed`);
      await page.getByText('No payment matches.').waitFor();
      passedMs = 700_000;
      await page.getByRole('link', { name: 'Jobs', exact: true }).click();
      await page.getByRole('alert').getByText('Your sign-in has ended.').waitFor();
      await page.goBack();
      passedMs = 0;
      await identifyAs(page, 'owner');
      await page.getByText('No payment matches.').waitFor();
      expect(new URL(page.url()).hash).toBe('#/payments?tenant=ten_desk&mode=test&status=failed');
      expect(await page.getByRole('alert').count()).toBe(0);
      expect(shown.violations).toEqual([]);
    });

    test('refuses, with a message, a person without a role and a response that this tab did not request', async () => {
      const page = await shown.opened();
      await identifyAs(page, 'accountant');
      await page.getByRole('alert').getByText('unauthorized').waitFor();
      await page.goto(`${shown.url}/?code=of-another-tab&state=of-another-tab`);
      await page.getByRole('alert').getByText('No sign-in was started in this tab.').waitFor();
    });
  });
});
