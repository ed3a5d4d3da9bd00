import { expect, test } from '@jest/globals';
import { Api, dataOf } from '../world/api.ts';
import { accessible, describeConsole, picture } from './console-in-browser.ts';

describeConsole('volumes and books in a browser', (shown) => {
  test('the overview shows operators the open work, and the outcomes and money of each day', async () => {
    const api = new Api();
    shown.api = api;
    await api.paid('k1', { amount: 1500 });
    await api.paid('k2', { amount: 500 });
    await api.paid('k3', { source: 'tok_decline' });
    const page = await shown.signedIn();
    await page.getByText('Nothing needs a person.').waitFor();
    // The page derives the days from the time of the API, which differs from the browser's time by months.
    const outcomes = page.getByRole('img', { name: /^Outcomes from / });
    await outcomes.waitFor();
    expect(await outcomes.getAttribute('aria-label')).toContain('completed 2, failed 1, canceled 0');
    const money = page.getByRole('img', { name: /^Money in EUR/ });
    expect(await money.getAttribute('aria-label')).toContain('captured 20.00 EUR, refunded 0.00 EUR');
    const today = page.locator('.facts div').filter({ hasText: 'Today (UTC)' });
    expect(await today.textContent()).toContain('completed 2, failed 1, 20.00 EUR captured');
    await page
      .locator('.facts div')
      .filter({ hasText: 'Yesterday (UTC)' })
      .getByText('completed 0, failed 0')
      .waitFor();
    await accessible(page);
    await page.getByText('As a table').first().click();
    expect(await page.getByRole('cell', { name: '2', exact: true }).count()).toBe(1);
    expect(shown.violations).toEqual([]);
  });

  test('the books show current and past balances, which sum to zero, with their entries', async () => {
    const api = new Api();
    shown.api = api;
    await api.paid('k1', { amount: 1500 });
    const page = await shown.signedIn();
    await page.getByRole('link', { name: 'Books', exact: true }).click();
    await page.getByText('All debits 15.00 EUR less all credits 15.00 EUR: 0.00 EUR').waitFor();
    await page.getByRole('region', { name: 'Entries' }).getByText('merchant_payable').waitFor();
    await accessible(page);
    await picture(page, 'books', 620);
    await page.getByText('Choose the days in the filter first.').waitFor();
    await page.getByText('Filter', { exact: true }).click();
    await page.getByLabel('Entries on the account').selectOption('processor_clearing');
    await page.getByLabel('Balances before').fill('2020-01-01');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('heading', { name: 'Balances before 2020-01-01' }).waitFor();
    await page.getByText('Nothing was posted.').waitFor();
    await page.getByRole('region', { name: 'Entries' }).waitFor();
    expect(await page.getByRole('region', { name: 'Entries' }).getByText('merchant_payable').count()).toBe(0);
    expect(dataOf(await api.get('/v1/ledger/entries'))).toHaveLength(2);
    expect(shown.violations).toEqual([]);
  });

  test('a double click exports the results of a payment search only once, and the export links to its file', async () => {
    const api = new Api();
    shown.api = api;
    const id = await api.paid('k1');
    await api.paid('k2', { source: 'tok_decline' });
    api.clock.advance(60_000);
    const page = await shown.signedIn();
    const days = `created_from=${Date.parse('2026-03-01') / 1000}&created_to=${Date.parse('2026-03-03') / 1000}`;
    await page.goto(`${shown.url}/#/payments?tenant=ten_desk&mode=test&status=succeeded&${days}`);
    await page.getByRole('button', { name: 'Export as CSV' }).click();
    const dialog = page.getByRole('dialog', { name: 'Export as CSV' });
    await dialog.getByText('from 2026-03-01 to 2026-03-02').waitFor();
    await dialog.getByRole('button', { name: 'Export as CSV' }).dblclick();
    await dialog.getByRole('link').waitFor();
    await accessible(page);
    await dialog.getByRole('link').click();
    const link = page.getByRole('link', { name: 'Download the file' });
    await link.waitFor();
    expect(await link.getAttribute('href')).toMatch(/^https?:/);
    await accessible(page);
    const [file = ''] = [...api.files.files.values()];
    expect(file.trimEnd().split('\r\n')).toHaveLength(2);
    expect(file).toContain(id);
    expect(shown.written).toEqual(['POST /v1/exports']);
    expect(shown.violations).toEqual([]);
  });
});
