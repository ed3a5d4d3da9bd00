import { expect, test } from '@jest/globals';
import { whole } from '../support/slice.ts';
import { Api, dataOf, OPERATOR_KEY } from '../world/api.ts';
import { accessible, describeConsole, focused, tabTo } from './console-in-browser.ts';

const MANY = whole(1_000, { slice: 150 });

describeConsole('keyboard use and long lists in a browser', (shown) => {
  test('an operator signs in, finds a payment and annotates it with the keyboard only', async () => {
    const api = new Api();
    shown.api = api;
    const id = await api.paid('k');
    const page = await shown.opened();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await tabTo(page, 'Operator’s key');
    await page.keyboard.type(OPERATOR_KEY);
    await page.keyboard.press('Enter');
    await page.getByRole('navigation').waitFor();
    await tabTo(page, 'Search payments');
    await page.keyboard.type(id);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'What happened' }).waitFor();
    await tabTo(page, 'Annotate');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Annotate' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Annotate' }).waitFor({ state: 'detached' });
    expect(await focused(page)).toBe('Annotate');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Annotate' }).waitFor();
    expect(await focused(page)).toBe('Explanation');
    await page.keyboard.type('Reported by telephone');
    await page.keyboard.press('Enter');
    await page.getByText('The annotation was added.').waitFor();
    expect(dataOf(await api.get(`/v1/annotations?payment=${id}`))).toMatchObject([{ reason: 'Reported by telephone' }]);
    expect(shown.violations).toEqual([]);
  });

  test('a dialog stays open if it is reopened before the browser’s close event', async () => {
    const api = new Api();
    shown.api = api;
    const id = await api.paid('k');
    const page = await shown.signedIn();
    await page.goto(`${shown.url}/#/payments/${id}`);
    const button = page.getByRole('button', { name: 'Annotate' });
    await button.click();
    await page.getByRole('dialog', { name: 'Annotate' }).waitFor();
    await page.evaluate(
      `document.querySelector('dialog').close();
       [...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'Annotate').click();`,
    );
    await page.getByLabel('Explanation').fill('Reported by telephone');
    await page.getByRole('dialog').getByRole('button', { name: 'Annotate' }).click();
    await page.getByText('The annotation was added.').waitFor();
  });

  test('a dialog that repeats a request stays open if it is reopened before the browser’s close event', async () => {
    const api = new Api();
    shown.api = api;
    const id = await api.paid('k');
    const page = await shown.signedIn();
    await page.goto(`${shown.url}/#/payments/${id}`);
    await page.getByRole('button', { name: 'Annotate' }).click();
    await page.getByLabel('Explanation').fill('Reported by telephone');
    await page.route('**/annotations', (route) => route.abort(), { times: 1 });
    const confirm = page.getByRole('dialog').getByRole('button', { name: 'Annotate' });
    await confirm.click();
    await page.getByText('The action may have taken effect.').waitFor();
    await page.evaluate(
      `document.querySelector('dialog').close();
       [...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'Annotate').click();`,
    );
    await confirm.click();
    await page.getByText('The annotation was added.').waitFor();
    expect(dataOf(await api.get(`/v1/annotations?payment=${id}`))).toHaveLength(1);
  });

  test(`a list of ${MANY} rows is shown page by page, and each row leads to its payment`, async () => {
    const api = new Api();
    shown.api = api;
    for (let count = 0; count < MANY; count += 1) await api.paid(`k${count}`);
    const page = await shown.signedIn();
    await page.goto(`${shown.url}/#/payments?tenant=ten_desk&mode=test`);
    const rows = page.getByRole('region', { name: 'Payments found' }).getByRole('row');
    await rows.nth(1).waitFor();
    for (const more = page.getByRole('button', { name: 'More' }); (await more.count()) > 0; ) {
      const before = await rows.count();
      await more.click();
      await rows.nth(before).waitFor();
    }
    expect(await rows.count()).toBe(MANY + 1);
    await accessible(page);
    await rows.nth(MANY).getByRole('link').click();
    await page.getByRole('heading', { name: 'What happened' }).waitFor();
    expect(shown.violations).toEqual([]);
  });
});
