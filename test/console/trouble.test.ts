import { describe, expect, test } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { sliceOf } from '../support/slice.ts';
import { Api, dataOf, OPERATOR_KEY } from '../world/api.ts';
import { accessible, describeConsole, titled } from './console-in-browser.ts';

/** Changes the page title if the page executes it. */
const SCRIPT = '<img src=x onerror="document.title=1"><script>document.title=1</script>';

describeConsole('the console during failures', (shown) => {
  /** A real gateway could also send this response. */
  const answers = (page: Page, path: string, status: number, body: string) =>
    page.route(`**${path}`, (route) => route.fulfill({ status, body }));

  const problem = (code: string, detail: string) => JSON.stringify({ code, detail });

  async function annotate(page: Page, id: string, reason: string) {
    await page.goto(`${shown.url}/#/payments/${id}`);
    await page.getByRole('button', { name: 'Annotate' }).click();
    const dialog = page.getByRole('dialog', { name: 'Annotate' });
    await dialog.getByLabel('Explanation').fill(reason);
    return dialog;
  }

  test('an action whose response is lost is retried in the same dialog, and takes effect once', async () => {
    const api = new Api();
    shown.api = api;
    const id = await api.paid('k');
    const page = await shown.signedIn();
    const dialog = await annotate(page, id, 'Reported by telephone');
    const lose = async (route: Route) => {
      await route.fetch();
      await route.abort();
    };
    await page.route('**/annotations', lose, { times: 1 });
    await dialog.getByRole('button', { name: 'Annotate' }).click();
    await dialog.getByText('The action may have taken effect.').waitFor();
    await accessible(page);
    expect(dataOf(await api.get(`/v1/annotations?payment=${id}`))).toHaveLength(1);
    await dialog.getByRole('button', { name: 'Annotate' }).click();
    await page.getByText('The annotation was added.').waitFor();
    expect(dataOf(await api.get(`/v1/annotations?payment=${id}`))).toHaveLength(1);
    expect(shown.written).toHaveLength(2);
    expect(shown.violations).toEqual([]);
  });

  test('a dialog stays open and sends no further request while it waits for the response to its action', async () => {
    const api = new Api();
    shown.api = api;
    const id = await api.paid('k');
    const page = await shown.signedIn();
    const dialog = await annotate(page, id, 'Reported by telephone');
    const held: Route[] = [];
    await page.route('**/annotations', (route) => void held.push(route));
    await dialog.getByRole('button', { name: 'Annotate' }).click();
    await dialog.getByText('Waiting for the response').waitFor();
    await page.keyboard.press('Escape');
    await dialog.getByRole('button', { name: 'Annotate' }).dispatchEvent('click');
    expect(await dialog.getByRole('button', { name: 'Close' }).isDisabled()).toBe(true);
    expect(held).toHaveLength(1);
    await held[0]?.continue();
    await page.getByText('The annotation was added.').waitFor();
    expect(shown.written).toHaveLength(1);
  });

  const failures = [
    [
      403,
      problem('insufficient_role', 'Your role does not include the role that this route requires.'),
      'insufficient_role',
    ],
    [409, problem('idempotency_key_in_progress', 'The first request is running.'), 'idempotency_key_in_progress'],
    [429, problem('rate_limited', 'Too many requests.'), 'rate_limited'],
    [500, problem('internal_error', SCRIPT), 'internal_error'],
    [502, '<html>Bad gateway</html>', 'A gateway in front of the API returned 502.'],
    [200, '<html>A proxy</html>', 'The response cannot be read.'],
  ] as const;
  test.each(sliceOf(failures, 5))(
    'a response with status %i is shown as a message, and the same list can be reloaded',
    async (status, body, text) => {
      shown.api = new Api();
      const page = await shown.signedIn();
      await answers(page, '/v1/admin/jobs', status, body);
      await page.getByRole('link', { name: 'Jobs', exact: true }).click();
      await page.getByRole('alert').getByText(text).waitFor();
      await accessible(page);
      await page.unroute('**/v1/admin/jobs');
      await page.getByRole('button', { name: 'Read again' }).click();
      await page.getByRole('link', { name: 'reconcile-recent' }).waitFor();
      await titled(page, 'Jobs – Payonce console');
      expect(shown.violations).toEqual([]);
    },
  );

  test('a list page that fails to load is reported, and can be requested again', async () => {
    const api = new Api();
    shown.api = api;
    for (let count = 0; count < 101; count += 1) await api.paid(`k${count}`);
    const page = await shown.signedIn();
    await page.goto(`${shown.url}/#/payments?tenant=ten_desk&mode=test`);
    const lost: string[] = [];
    await page.route('**starting_after**', (route) => {
      lost.push(route.request().url());
      return route.abort();
    });
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('alert').getByText('No response was received.').waitFor();
    // The console has repeated the read twice.
    expect(lost).toHaveLength(3);
    await page.unroute('**starting_after**');
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('row').nth(101).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(shown.violations).toEqual([]);
  });

  test('an expired sign-in is reported; after the next sign-in, the same screen with its filters is shown', async () => {
    const api = new Api();
    shown.api = api;
    await api.paid('k', { reference: 'Order 7' });
    const page = await shown.signedIn();
    const address = `${shown.url}/#/payments?tenant=ten_desk&mode=test&status=succeeded`;
    await page.goto(address);
    await page.getByText('Order 7').waitFor();
    await answers(page, '/v1/admin/payments?**', 401, problem('unauthorized', 'Send a valid operator key.'));
    await page.getByText('Filter', { exact: true }).click();
    await page.getByLabel('Reference').fill('Order 7');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('alert').getByText('Your sign-in has ended.').waitFor();
    await accessible(page);
    expect(await page.getByText('Ada Example').count()).toBe(0);
    await page.unroute('**/v1/admin/payments?**');
    await page.getByLabel('Operator’s key').fill(OPERATOR_KEY);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('cell', { name: 'Order 7' }).waitFor();
    expect(page.url()).toBe(`${address}&reference=Order+7`);
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  describe('an invalid address', () => {
    const addresses = [
      ['#/payments?tenant=ten_desk&mode=test&created_from=never', 'This address cannot be shown.'],
      ['#/books?tenant=ten_desk&mode=test&at=never', 'This address cannot be shown.'],
      ['#/payments/%E0%A4%A', 'There is no such payment.'],
      [`#/payments/${encodeURIComponent(SCRIPT)}`, 'There is no such payment.'],
      [`#/waiting/${encodeURIComponent('../../../admin/me')}`, 'There is no such queue.'],
      [`#/books?tenant=${encodeURIComponent(`ten_${SCRIPT}`)}&mode=test`, 'This deployment has no tenant ten_<img'],
    ] as const;
    test.each(sliceOf(addresses, 5))('does not prevent other screens from opening: %s', async (hash, text) => {
      shown.api = new Api();
      const page = await shown.signedIn();
      await page.goto(`${shown.url}/${hash}`);
      await page.getByRole('alert').getByText(text).first().waitFor();
      await page.getByRole('link', { name: 'Jobs', exact: true }).click();
      await page.getByRole('link', { name: 'reconcile-recent' }).waitFor();
      await page.goBack();
      await page.getByRole('alert').getByText(text).first().waitFor();
      await page.goForward();
      await page.getByRole('link', { name: 'reconcile-recent' }).waitFor();
      await titled(page, 'Jobs – Payonce console');
    });
  });

  test('a tab reports that another tab decided first, and shows that decision', async () => {
    const api = new Api();
    shown.api = api;
    const id = await api.paid('k', { source: 'tok_async' });
    const { inside } = api.processor;
    await inside.correct(inside.all[0]?.chargeId ?? '', { status: 'succeeded', amount_captured: 600 });
    await api.world.learn(id);
    const decide = async (page: Page) => {
      const dialog = page.getByRole('dialog', { name: 'Decide' });
      await dialog.getByRole('radio', { name: 'None: the payment failed' }).check();
      await dialog.getByLabel('Reason').fill('Seen on the statement');
      await dialog.getByRole('button', { name: 'Preview' }).click();
      return dialog;
    };
    const [first, second] = [await shown.signedIn(), await shown.signedIn()];
    for (const page of [first, second]) {
      await page.goto(`${shown.url}/#/payments/${id}`);
      await page.getByRole('button', { name: 'Decide' }).click();
    }
    await (await decide(first)).getByRole('button', { name: 'Decide' }).click();
    await first.getByText('The decision was recorded.').waitFor();
    const dialog = await decide(second);
    await dialog.getByRole('alert').getByText('payment_not_in_review').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await second.getByText('The status is “failed”. Only a payment in review can be decided.').waitFor();
    expect(dataOf(await api.get(`/v1/decisions?payment=${id}`))).toHaveLength(1);
  });
});
