import { beforeEach, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { afterAttempt, newDelivery, withClaimedAttempt } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { webhookMessage } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { eventNamed } from '../webhooks/webhook-fixtures.ts';
import { Api, dataOf } from '../world/api.ts';
import { accessible, decideOn, describeConsole, showMode, tablesFit } from './console-in-browser.ts';

const OWNER = { tenantId: tenantId('ten_desk'), mode: 'test' } as const;
const VIEWER_KEY = 'ok_viewerviewerviewerviewer';
const ANSWER = '<img src=x onerror=alert(1)> Out of order';

describeConsole('webhooks in a browser', (shown) => {
  let api: Api;
  let endpoint: string;
  beforeEach(async () => {
    api = new Api();
    shown.api = api;
    endpoint = String((await api.create('k', { description: '<b>Shop</b>' })).body['id']);
    const atMs = api.clock.nowMs();
    const pending = newDelivery(systemDigest, OWNER, { id: endpoint }, webhookMessage(eventNamed('shown', atMs)), atMs);
    const attempt = { startedAtMs: atMs, result: { kind: 'answered', status: 410, excerpt: ANSWER } } as const;
    const { delivery: failed } = afterAttempt(withClaimedAttempt(pending, atMs), attempt, atMs, 0);
    await api.store.webhooks.write({ deliveries: [{ now: failed }] });
  });

  async function openEndpoint(page: Page): Promise<void> {
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    await showMode(page, 'Test');
    await page.getByText('<b>Shop</b>').waitFor();
    await page.getByRole('link', { name: endpoint }).click();
    await page.getByText(`410: ${ANSWER}`).waitFor();
  }

  test('a double click resends a failed delivery once, and the response to the failed attempt is shown as text', async () => {
    const page = await shown.signedIn();
    await openEndpoint(page);
    await accessible(page);
    await decideOn(page, 'Resend');
    // The next attempt is due immediately.
    await page.locator('td[data-title="Next attempt"] time').waitFor();
    expect(dataOf(await api.get(`/v1/webhook_endpoints/${endpoint}/deliveries`))).toMatchObject([
      { status: 'failed', next_attempt: expect.any(Number) },
    ]);
    expect(shown.written).toHaveLength(1);
    expect(shown.violations).toEqual([]);
  });

  test('a replay of a range of days starts only once, and a new secret is shown only once', async () => {
    const page = await shown.signedIn();
    await openEndpoint(page);
    await page.getByRole('button', { name: 'Replay all' }).click();
    const replay = page.getByRole('dialog', { name: 'Replay all' });
    await replay.getByLabel('First day (UTC)').fill('2026-02-01');
    await replay.getByLabel('Last day (UTC)').fill('2026-02-28');
    await replay.getByRole('button', { name: 'Replay all' }).dblclick();
    await replay.waitFor({ state: 'detached' });
    await decideOn(page, 'Rotate secret');
    const rotate = page.getByRole('dialog', { name: 'Rotate secret' });
    await rotate.getByText('whsec_').waitFor();
    await accessible(page);
    await rotate.getByRole('button', { name: 'Close' }).click();
    await page.getByText('whsec_').waitFor({ state: 'detached' });
    expect(shown.written.map((each) => each.split('/').at(-1))).toEqual(['replay', 'rotate_secret']);
    expect(shown.violations).toEqual([]);
  });

  test('a failing endpoint is shown as such in the list and on its page', async () => {
    const was = await api.store.webhooks.readBook(OWNER);
    const endpoints = was.endpoints.map((each) => ({ ...each, failing: { sinceMs: api.clock.nowMs() } }));
    await api.store.webhooks.write({ book: { was, now: { ...was, revision: was.revision + 1, endpoints } } });
    const page = await shown.signedIn();
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    await showMode(page, 'Test');
    await page.locator('td[data-title="State"]').getByText('failing since').waitFor();
    await page.getByRole('link', { name: endpoint }).click();
    await page.getByText('failing since').waitFor();
    await accessible(page);
    await tablesFit(page);
    const failing = await api.store.webhooks.readBook(OWNER);
    await api.store.webhooks.write({ book: { was: failing, now: { ...was, revision: failing.revision + 1 } } });
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByText('failing since').waitFor({ state: 'detached' });
  });

  test('the overview links to a disabled endpoint, which an operator can keep disabled or enable again', async () => {
    const was = await api.store.webhooks.readBook(OWNER);
    const disabled = { atMs: api.clock.nowMs(), reason: 'gone' } as const;
    const endpoints = was.endpoints.map((each) => ({ ...each, disabled }));
    await api.store.webhooks.write({ book: { was, now: { ...was, revision: was.revision + 1, endpoints } } });
    const page = await shown.signedIn();
    await page.setViewportSize({ width: 390, height: 844 });
    const list = page.getByRole('region', { name: 'Entries' });
    await list.getByText('responded with 410').waitFor();
    await accessible(page);
    await list.getByRole('link', { name: 'Enable or disable' }).press('Enter');
    await page.getByText('disabled (gone)').waitFor();
    await accessible(page);
    await page.getByRole('button', { name: 'Keep disabled' }).press('Enter');
    await page
      .getByRole('dialog', { name: 'Keep disabled' })
      .getByRole('button', { name: 'Keep disabled' })
      .press('Enter');
    await page.getByText('disabled (requested)').waitFor();
    expect(dataOf(await api.get('/v1/admin/attention'))).toEqual([]);
    await decideOn(page, 'Enable');
    await page.getByText('The endpoint is enabled.').waitFor();
    expect(shown.written).toEqual([1, 2].map(() => `PATCH /v1/webhook_endpoints/${endpoint}`));
    expect(shown.violations).toEqual([]);
  });

  test('a double click replays the missing events once', async () => {
    const page = await shown.signedIn();
    await openEndpoint(page);
    await page.getByRole('button', { name: 'Replay missing' }).click();
    const replay = page.getByRole('dialog', { name: 'Replay missing' });
    await replay.getByLabel('First day (UTC)').fill('2026-02-01');
    await replay.getByLabel('Last day (UTC)').fill('2026-02-28');
    await accessible(page);
    await replay.getByRole('button', { name: 'Replay missing' }).dblclick();
    await page.getByText('The replay has started.').waitFor();
    const { endpoints } = await api.store.webhooks.readBook(OWNER);
    expect(await api.store.webhooks.readReplay(endpoints[0]?.replay ?? '')).toMatchObject({
      fromMs: Date.UTC(2026, 1, 1),
      untilMs: Date.UTC(2026, 2, 1),
      onlyUndelivered: true,
    });
    expect(shown.written.map((each) => each.split('/').at(-1))).toEqual(['replay']);
    expect(shown.violations).toEqual([]);
  });

  test('a double click sends a test event once', async () => {
    const page = await shown.signedIn();
    await openEndpoint(page);
    await decideOn(page, 'Send test event');
    await page.getByRole('cell', { name: 'webhook_endpoint.test' }).waitFor();
    expect(shown.written.map((each) => each.split('/').at(-1))).toEqual(['test']);
    expect(shown.violations).toEqual([]);
  });

  test('a viewer cannot act on an endpoint', async () => {
    api.registerOperator(VIEWER_KEY, { operator: 'Vera Example', role: 'viewer' });
    const page = await shown.signedIn(VIEWER_KEY);
    await openEndpoint(page);
    for (const name of ['Resend', 'Send test event', 'Disable', 'Replay missing', 'Replay all', 'Rotate secret'])
      expect([name, await page.getByRole('button', { name }).isDisabled()]).toEqual([name, true]);
    expect(shown.written).toEqual([]);
  });
});
