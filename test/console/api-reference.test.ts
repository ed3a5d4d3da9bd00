import { expect, test } from '@jest/globals';
import { describeConsole } from './console-in-browser.ts';

describeConsole('the API reference in a browser', (shown) => {
  const reference = () => shown.url.replace(/console$/, 'docs');

  test('shows the samples of an operation in each language', async () => {
    const page = await shown.opened(`${reference()}#/Payments/createPayment`);
    const samples = page.locator('details.sample');
    await samples.nth(2).waitFor();
    expect(await samples.locator('summary').allTextContents()).toEqual(['curl', 'TypeScript', 'Python']);
    await samples.nth(2).locator('summary').click();
    const python = samples.nth(2).locator('pre');
    await python.waitFor({ state: 'visible' });
    expect(await python.textContent()).toContain('client.payments.create({"amount": 1000');
    expect(shown.violations).toEqual([]);
  });

  test('reports why its renderer could not be loaded', async () => {
    const page = await shown.opened();
    await page.route('**/swagger-ui-bundle.js', (route) => route.abort());
    await page.goto(reference());
    await page.getByRole('alert').getByText('could not be used. The request failed').waitFor();
    expect(await page.getByRole('link', { name: 'v1/openapi.json' }).count()).toBe(1);
  });
});
