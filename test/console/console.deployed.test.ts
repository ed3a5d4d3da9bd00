import { rm } from 'node:fs/promises';
import { ListQueuesCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { Environment } from '../../lambdas/kernel/contract/environment.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import type { LocalAws } from '../../local/local-aws.ts';
import { HAS_BROWSER, RealBrowser } from '../client/browser.ts';
import { EventListener } from '../events/event-listener.ts';
import { embed, ForeignPage, ownListeners, postForm, read } from '../local/foreign-page.ts';
import { type KilledPayment, killedPayment } from '../payments/killed-payment.ts';
import { ApiClient } from '../support/api-client.ts';
import { bundleFolder } from '../support/bundle-folder.ts';
import { CREDENTIALS, dynamoDbClient, localAws } from '../support/local-aws.ts';
import { IS_PROOF_RUN, inTurn, whole } from '../support/slice.ts';
import { until } from '../support/until.ts';
import { serveWebhookReceiver } from '../webhooks/webhook-receiver.ts';
import { accessible, countClicks, eachScreen, identifyAs, titled } from './console-in-browser.ts';
import { CopiedFunctions } from './copied-functions.ts';
import { CLIENT, IdProvider } from './id-provider.ts';

/** Changes the page title if the page executes it. */
const SCRIPT = '<img src=x onerror="document.title=1">';

// Skipped on platforms that the browser package does not support.
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
    folder = bundleFolder('console-deployed');
    browser = RealBrowser.unpack(folder);
    if (!IS_PROOF_RUN) return;
    killed = await killedPayment(aws, {
      source: 'tok_timeout_charged',
      description: SCRIPT,
      metadata: { note: SCRIPT },
    });
    payment = killed.id;
  });
  afterAll(async () => {
    await browser.kill();
    await rm(folder, { recursive: true, force: true });
  });

  /** The process was killed after the charge. Its lease expires while the other tests run. */
  let killed: KilledPayment;

  async function opened(url: string): Promise<Page> {
    const page = await browser.open('about:blank');
    page.on('console', (message) => {
      if (/Content Security Policy/.test(message.text())) violations.push(message.text());
    });
    page.on('pageerror', (error) => violations.push(String(error)));
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(`${url}/console`);
    return page;
  }

  async function signedIn(key: string): Promise<Page> {
    const page = await opened(aws.apiUrl);
    await page.getByLabel('Operator’s key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('navigation').waitFor();
    return page;
  }

  async function openPayment(page: Page, id: unknown): Promise<void> {
    await page.goto(`${aws.apiUrl}/console/#/payments/${String(id)}`);
    await page.getByRole('heading', { name: 'What happened' }).waitFor();
  }

  /** Each test needs a browser for half a minute. */
  const turn = (place: number) => inTurn(test, { place, of: 3, otherwise: test.skip });

  const fromOverview =
    'an operator decides a stuck payment from the overview within ten clicks, and a double click acts once';
  turn(0)(fromOverview, async () => {
    const { json } = await api.payUntilAnswered({ key: crypto.randomUUID(), body: { source: 'tok_async_short' } });
    await until(async () => {
      const { json: now } = await api.send('GET', `/v1/payments/${String(json['id'])}`);
      return now['status'] === 'needs_review' ? true : undefined;
    });
    const operator = new ApiClient(aws, aws.operatorKey);
    await until(async () => {
      const { text } = await operator.send('GET', '/v1/admin/attention?limit=100');
      return text.includes(String(json['id'])) || undefined;
    });
    const page = await signedIn(aws.operatorKey);
    const clicks = await countClicks(page);
    const row = page.getByRole('row', { name: String(json['id']) });
    await row.getByRole('link', { name: 'Decide' }).click();
    await page.getByRole('button', { name: 'Decide' }).click();
    const dialog = page.getByRole('dialog', { name: 'Decide' });
    await dialog.getByRole('radio', { name: '5.00 EUR captured' }).check();
    await dialog.getByLabel('Reason').fill('Seen on the statement');
    await dialog.getByRole('button', { name: 'Preview' }).click();
    await dialog.getByText('Nothing was written.').waitFor();
    await dialog.getByRole('button', { name: 'Decide' }).dblclick();
    await page.getByText('The decision was recorded.').waitFor();
    expect(await clicks()).toBeLessThanOrEqual(10);
    const decisions = await api.send('GET', `/v1/decisions?payment=${String(json['id'])}`);
    expect(decisions.json['data']).toHaveLength(1);
    expect(violations).toEqual([]);
  });

  turn(1)('a page from another origin cannot reach any local listener', async () => {
    const foreign = await ForeignPage.serve(browser);
    const listeners = await ownListeners();
    const key = `AWS4-HMAC-SHA256 Credential=${aws.accessKeyId}/20260101/us-east-1/lambda/aws4_request`;
    const query = `X-Amz-Credential=${aws.accessKeyId}%2F20260101%2Fus-east-1%2Flambda%2Faws4_request`;
    const functions = `${aws.awsEndpoint}/2015-03-31/functions`;
    try {
      for (const host of ['127.0.0.1', 'localhost'] as const) {
        const page = await foreign.open(host);
        // The request is refused even with the access key of this run.
        const made = JSON.stringify({ FunctionName: `foreign-${host}`, Role: 'arn:aws:iam::000000000000:role/r' });
        expect(await postForm(page, `${functions}?${query}`, made)).toBe(403);
        expect(await embed(page, `${aws.awsEndpoint}/?Action=ListQueues&${query}`)).toBe(403);
        const configuration = `${functions}/${aws.paymentsFunction}/configuration`;
        expect(await read(page, configuration, { authorization: key })).toBe('unreadable');
        expect(await read(page, `${configuration}?${query}`)).toBe('unreadable');
        for (const url of [aws.apiUrl, aws.sandboxUrl, ...listeners.urls])
          expect([url, await postForm(page, `${url}/`, 'a=b')]).toEqual([url, 403]);
        await page.close();
      }
    } finally {
      foreign.stop();
      listeners.stop();
    }
  });

  turn(2)('a link from another origin opens the console', async () => {
    const foreign = await ForeignPage.serve(browser);
    const page = await foreign.open('localhost');
    await page.evaluate(`location.assign(${JSON.stringify(`${aws.apiUrl}/console`)})`);
    await page.getByLabel('Operator’s key').waitFor();
    foreign.stop();
  });

  turn(2)('a payer who follows a link from the shop can approve a payment', async () => {
    const { json } = await api.payUntilAnswered({ key: crypto.randomUUID(), body: { source: 'tok_action' } });
    const { url } = json['next_action'] as { readonly url: string };
    const foreign = await ForeignPage.serve(browser);
    const page = await foreign.open('localhost');
    await page.evaluate(`location.assign(${JSON.stringify(url)})`);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('status').waitFor();
    expect(await page.getByRole('status').textContent()).toBe('The charge is succeeded.');
    foreign.stop();
  });

  whole(test, { slice: test.skip })(
    'a correction above the limit takes effect once, after a second person has approved it in another browser',
    async () => {
      const administration = new TenantAdministration(documentClient(dynamoDbClient()), aws.tables, 'Owner');
      const approver = await administration.createOperatorKey({ operator: 'Ben Example', role: 'approver' });
      const { json } = await api.payUntilAnswered({ key: crypto.randomUUID(), body: { amount: 6_000_000 } });
      const reason = `Booked twice ${crypto.randomUUID()}`;
      const first = await signedIn(aws.operatorKey);
      await openPayment(first, json['id']);
      await first.getByRole('button', { name: 'Correct' }).click();
      const dialog = first.getByRole('dialog', { name: 'Correct' });
      await dialog.getByLabel('Postings to reverse').selectOption('2');
      await dialog.getByLabel('Reason').fill(reason);
      await dialog.getByRole('button', { name: 'Preview' }).click();
      await dialog.getByText('Nothing was written.').waitFor();
      await dialog.getByRole('button', { name: 'Correct' }).dblclick();
      await first.getByText('The request waits for a second person').waitFor();

      const second = await signedIn(approver);
      await second.getByRole('link', { name: 'Approvals', exact: true }).click();
      const row = second.getByRole('row', { name: String(json['id']) });
      await row.getByRole('button', { name: 'Approve' }).click();
      await second.getByRole('dialog', { name: 'Approve' }).getByRole('button', { name: 'Approve' }).dblclick();
      // Other tests also approve requests.
      await row.getByText('approved by').waitFor();
      const corrections = await api.send('GET', `/v1/corrections?payment=${String(json['id'])}`);
      expect(corrections.json['data']).toMatchObject([{ reason, reverses: 2 }]);
      expect(violations).toEqual([]);
    },
  );

  whole(test, { slice: test.skip })('a double click resends a webhook once', async () => {
    await using receiver = await serveWebhookReceiver();
    const run = crypto.randomUUID();
    const post = (key: string, body: object) => ({
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify(body),
    });
    const made = await api.send(
      'POST',
      '/v1/webhook_endpoints',
      post(run, { url: receiver.url, events: ['payment.completed'] }),
    );
    const id = String(made.json['id']);
    const paid = await api.payUntilAnswered({ key: crypto.randomUUID(), body: { metadata: { run } } });
    // Other tests pay for the same merchant at the same time.
    const ours = () => receiver.arrivals.filter(({ body }) => body.includes(run));
    const event = await until(async () => ours()[0]?.headers['webhook-id']);
    await until(async () => {
      const { text } = await api.send('GET', `/v1/webhook_endpoints/${id}/deliveries`);
      return text.includes(`"event":"${String(event)}"`) ? true : undefined;
    });
    const page = await signedIn(aws.operatorKey);
    await page.goto(`${aws.apiUrl}/console/#/webhooks?tenant=${aws.tenantId}&mode=test&endpoint=${id}`);
    // The data above the list is loaded separately and moves the list when it arrives.
    await page.getByText(receiver.url).waitFor();
    const row = page.getByRole('row', { name: String(paid.json['id']) });
    const dialog = page.getByRole('dialog', { name: 'Resend' });
    await until(async () => {
      await row.getByRole('button', { name: 'Resend' }).click();
      return dialog.waitFor({ timeout: 20_000 }).then(
        () => true,
        () => undefined,
      );
    });
    await dialog.getByRole('button', { name: 'Resend' }).dblclick();
    await until(async () => ours()[1]);
    expect(ours().map(({ headers }) => headers['webhook-id'])).toEqual([event, event]);
    expect(violations).toEqual([]);
    await api.send('DELETE', `/v1/webhook_endpoints/${id}`, post(`${run}-delete`, {}));
  });

  whole(test, { slice: test.skip })(
    'a dead letter is redriven with a double click, and has no second effect',
    async () => {
      const listener = new EventListener();
      await listener.start();
      const { json } = await api.payUntilAnswered({ key: crypto.randomUUID() });
      const [detail] = await listener.received(json['id'], 1);
      await listener.stop();
      const { awsEndpoint: endpoint, region } = aws;
      const sqs = new SQSClient({ endpoint, region, credentials: CREDENTIALS });
      const { QueueUrls = [] } = await sqs.send(new ListQueuesCommand({}));
      const QueueUrl = QueueUrls.find((url) => url.includes('ViewsEventsTasksDeadLetters'));
      const name = `${String(detail?.event.type)}.v1`;
      const event = { id: crypto.randomUUID(), 'detail-type': name, source: 'payonce', time: new Date(), detail };
      await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: JSON.stringify(event) }));

      const page = await signedIn(aws.operatorKey);
      await page.getByRole('link', { name: 'Waiting for work' }).click();
      await page.getByRole('link', { name: 'Updates of lists and balances: dead letters', exact: true }).click();
      await page.getByRole('link', { name: String(json['id']) }).waitFor();
      await page.getByRole('button', { name: 'Redrive all' }).click();
      await page.getByRole('dialog', { name: 'Redrive all' }).getByRole('button', { name: 'Redrive all' }).dblclick();
      await page.getByText('The messages were moved').waitFor();
      const queues = () =>
        api.send('GET', '/v1/admin/queues', { headers: { authorization: `Bearer ${aws.operatorKey}` } });
      await until(async () => {
        const rows = (await queues()).json['data'] as { readonly id: string; readonly waiting: number }[];
        const waiting = rows.filter(({ id }) => id.startsWith('Views-Events-')).map((row) => row.waiting);
        return waiting.every((count) => count === 0) || undefined;
      });
      const events = await api.send('GET', '/v1/events?limit=100');
      expect(events.text.split(`"${String(detail?.event.id)}"`)).toHaveLength(2);
      expect(violations).toEqual([]);
    },
  );

  whole(test, { slice: test.skip })(
    'an operator signs in with an identity provider, using an authorization code and PKCE',
    async () => {
      const audience = 'https://payonce.example';
      const copies = await CopiedFunctions.start();
      const provider = await IdProvider.start(audience, `${copies.url}/console/`);
      try {
        const { issuer } = provider;
        await copies.copy('console', 'ApiDocuments', {
          [Environment.consoleSignIn]: JSON.stringify({ issuer, audience, clientId: CLIENT }),
        });
        await copies.copy('v1', 'OperatorsApi', {
          [Environment.identityProvider]: JSON.stringify({ issuer, audience, roleClaim: 'roles' }),
        });
        const page = await opened(copies.url);
        await page.goto(`${copies.url}/console/#/approvals`);
        await identifyAs(page, 'viewer');
        await page.getByText('viewer (viewer)').waitFor();
        await page.getByRole('heading', { name: 'Approvals' }).waitFor();
        expect(page.url()).toContain('/console/#/approvals');
        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.getByText('identifies you').waitFor();
        expect(await page.evaluate<number>('sessionStorage.length + localStorage.length')).toBe(0);
        expect(violations).toEqual([]);
      } finally {
        provider.stop();
        await copies.stop();
      }
    },
  );

  whole(test, { slice: test.skip })(
    'an operator finds the payment of a killed process, reads its history, and annotates it once with a double click',
    async () => {
      const paid = await api.payUntilAnswered(killed);
      expect([paid.status, paid.json['id'], paid.json['status']]).toEqual([201, payment, 'succeeded']);
      // The list reads a view, which lags behind the payment.
      await until(async () => {
        const { text } = await api.send('GET', '/v1/payments?limit=20');
        return text.includes(payment) ? true : undefined;
      });
      const page = await signedIn(aws.operatorKey);
      await page.goto(`${aws.apiUrl}/console/#/payments?tenant=${aws.tenantId}&mode=test&status=succeeded`);
      await page.getByRole('link', { name: payment }).click();
      await page.getByText('taken over: the lease of the owner had ended').waitFor();
      await page.getByText('payment.completed').first().waitFor();
      await page.getByText('response 201 stored for the request').waitFor();
      await page.getByRole('definition').getByText(SCRIPT).nth(1).waitFor();
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
      await titled(page, 'Audit – Payonce console');
      expect(violations).toEqual([]);
    },
  );

  whole(test, { slice: test.skip })('a viewer sees the history, with every action disabled', async () => {
    const administration = new TenantAdministration(documentClient(dynamoDbClient()), aws.tables, 'Owner');
    const page = await signedIn(await administration.createOperatorKey({ operator: 'Vera Example', role: 'viewer' }));
    await page.goto(`${aws.apiUrl}/console/#/payments/${payment}`);
    await page.getByText('taken over: the lease of the owner had ended').waitFor();
    for (const name of ['Decide', 'Correct', 'Annotate'])
      expect(await page.getByRole('button', { name, exact: true }).isDisabled()).toBe(true);
    expect(violations).toEqual([]);
  });
});
