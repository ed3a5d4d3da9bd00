import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import type { LocalAws } from '../../local/local-aws.ts';
import { HAS_BROWSER, RealBrowser } from '../client/browser.ts';
import { ApiClient } from '../support/api-client.ts';
import { dynamoDbClient, localAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';
import { accessible, eachScreen } from './console-in-browser.ts';

/** What the page would do with it if it were not shown as text. */
const SCRIPT = '<img src=x onerror="document.title=1">';

// The package of the browser has none for other platforms.
(HAS_BROWSER ? describe : describe.skip)('the console of the deployed stack in a browser', () => {
  let folder: string;
  let browser: RealBrowser;
  let aws: LocalAws;
  let api: ApiClient;
  let payment: string;
  const violations: string[] = [];

  beforeAll(async () => {
    aws = localAws();
    api = new ApiClient(aws, aws.apiKey);
    await mkdir('dist', { recursive: true });
    folder = resolve(await mkdtemp('dist/console-deployed-'));
    browser = RealBrowser.unpack(folder);
    // The processor charges and its answer cannot be read, so it is looked up.
    const body = { source: 'tok_malformed', reference: `console-${crypto.randomUUID()}`, description: SCRIPT };
    const paid = await api.payUntilAnswered({
      key: crypto.randomUUID(),
      body: { ...body, metadata: { note: SCRIPT } },
    });
    expect([paid.status, paid.json['status']]).toEqual([201, 'succeeded']);
    payment = String(paid.json['id']);
  });
  afterAll(async () => {
    await browser.kill();
    await rm(folder, { recursive: true, force: true });
  });

  async function signedIn(key: string): Promise<Page> {
    const page = await browser.open('about:blank');
    page.on('console', (message) => {
      if (/Content Security Policy/.test(message.text())) violations.push(message.text());
    });
    page.on('pageerror', (error) => violations.push(String(error)));
    await page.goto(`${aws.apiUrl}/console`);
    await page.getByLabel('Operator’s key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('navigation').waitFor();
    return page;
  }

  test('an operator finds the payment of a tenant, reads its story, and explains it once with a double click', async () => {
    // The list is a view: it lags behind the payment.
    await until(async () => {
      const { text } = await api.send('GET', '/v1/payments?limit=20');
      return text.includes(payment) ? true : undefined;
    });
    const page = await signedIn(aws.operatorKey);
    await page.goto(`${aws.apiUrl}/console/#/payments?tenant=${aws.tenantId}&mode=test&status=succeeded`);
    await page.getByRole('link', { name: payment }).click();
    await page.getByText('request sent, heard unheard').waitFor();
    await page.getByText('looked up, heard succeeded').waitFor();
    await page.getByText('Debits less credits: 0.00 EUR').waitFor();
    await accessible(page);

    await page.getByRole('button', { name: 'Annotate' }).click();
    const dialog = page.getByRole('dialog', { name: 'Annotate' });
    await dialog.getByLabel('Explanation').fill(SCRIPT);
    await dialog.getByRole('button', { name: 'Annotate' }).dblclick();
    await page.getByText('The annotation was added.').waitFor();
    await page.getByText(SCRIPT).first().waitFor();
    const annotations = await api.send('GET', `/v1/annotations?payment=${payment}`);
    expect(annotations.json['data']).toMatchObject([{ payment, reason: SCRIPT }]);

    await eachScreen(page);
    expect([violations, await page.title()]).toEqual([[], 'Payonce console']);
  });

  test('who may only look sees the story, and no act that is possible', async () => {
    const administration = new TenantAdministration(documentClient(dynamoDbClient()), aws.tables, 'Owner');
    const page = await signedIn(await administration.createOperatorKey({ operator: 'Vera Example', role: 'viewer' }));
    await page.goto(`${aws.apiUrl}/console/#/payments/${payment}`);
    await page.getByText('looked up, heard succeeded').waitFor();
    for (const name of ['Decide', 'Correct', 'Annotate'])
      expect(await page.getByRole('button', { name, exact: true }).isDisabled()).toBe(true);
    expect(violations).toEqual([]);
  });
});
