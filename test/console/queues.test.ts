import { beforeEach, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { queueTitle } from '../../console/show.ts';
import { MemoryMessages } from '../operators/memory-messages.ts';
import { until } from '../support/until.ts';
import { Api, dataOf, OPERATOR_KEY } from '../world/api.ts';
import { accessible, decideOn, describeConsole, tabTo } from './console-in-browser.ts';

const DEAD_LETTERS = 'Webhooks-Tasks-DeadLetters';
const QUEUE = 'Webhooks-Tasks-Queue';
const PAYMENT = `pay_${'b'.repeat(32)}`;
const ORDER = `ord_${'a'.repeat(32)}`;
const VIEWER_KEY = 'ok_viewerviewerviewerviewer';

describeConsole('dead letters in a browser', (shown) => {
  let messages: MemoryMessages;
  beforeEach(() => {
    const world = new Api();
    messages = new MemoryMessages(world.clock);
    const api = world.with({ messages });
    shown.api = api;
    for (const id of ['a', 'b']) messages.arrive(DEAD_LETTERS, { id, reason: '<b>malformed</b>' });
    messages.arrive('Events-Parked', { id: 'parked', about: PAYMENT, reason: 'refused_by_bus' });
    const deadLetter = { part: 'postmark email.send', reason: 'postmark_account' };
    messages.arrive('Vendors-DeadLetters', { id: 'letter', about: ORDER, ...deadLetter });
    messages.arrive('Archive-Parked', { id: 'batch' });
    api.clock.advance(1_000);
  });

  async function openQueue(queue: string, key = OPERATOR_KEY): Promise<Page> {
    const page = await shown.signedIn(key);
    await page.getByRole('link', { name: 'Waiting for work' }).click();
    await page.getByRole('link', { name: queueTitle(queue), exact: true }).click();
    await page.getByRole('button', { name: 'Redrive all' }).waitFor();
    return page;
  }

  test('are redriven once by a double click', async () => {
    const page = await openQueue(DEAD_LETTERS);
    await page.getByText('<b>malformed</b>').first().waitFor();
    await accessible(page);
    await page.getByRole('button', { name: 'Redrive all' }).click();
    await page.getByRole('dialog', { name: 'Redrive all' }).getByText(`(about 2) to ${QUEUE}`).waitFor();
    await accessible(page);
    await page.getByRole('dialog', { name: 'Redrive all' }).getByRole('button', { name: 'Redrive all' }).dblclick();
    await page.getByText('The messages were moved').waitFor();
    await page.getByText('The queue is empty.').first().waitFor();
    await page.getByText(`2 still wait in ${QUEUE}. No message is back in ${DEAD_LETTERS}`).waitFor();
    await page.getByRole('region', { name: 'Redrives and dismissals' }).getByText('about 2').waitFor();
    await accessible(page);
    expect(messages.ids(QUEUE)).toEqual(['a', 'b']);
    expect(shown.written).toEqual([`POST /v1/admin/queues/${DEAD_LETTERS}/redrive`]);
    expect(shown.violations).toEqual([]);
  });

  test('are redriven and dismissed one by one, by keyboard and at phone width', async () => {
    const page = await openQueue(DEAD_LETTERS);
    const [first, second] = messages.ids(DEAD_LETTERS);
    await page.setViewportSize({ width: 390, height: 844 });
    await accessible(page);
    await tabTo(page, 'Redrive all');
    await tabTo(page, 'Redrive');
    await page.keyboard.press('Enter');
    const asks = page.getByRole('dialog', { name: 'Redrive', exact: true });
    await asks.getByText(`the message ${first}`).waitFor();
    await accessible(page);
    await asks.getByRole('button', { name: 'Redrive' }).press('Enter');
    await page.getByText('The message was moved').waitFor();
    expect([messages.ids(DEAD_LETTERS), messages.ids(QUEUE)]).toEqual([[second], [first]]);
    const opens = page.getByRole('cell').getByRole('button', { name: 'Dismiss' });
    // Until the list is read again, it also contains the first message.
    await until(async () => (await opens.count()) === 1 || undefined);
    await opens.click();
    const dialog = page.getByRole('dialog', { name: 'Dismiss' });
    await dialog.getByLabel('Reason').selectOption('not_needed');
    await dialog.getByRole('button', { name: 'Dismiss' }).dblclick();
    await page.getByText('The queue is empty.').first().waitFor();
    expect([messages.ids(DEAD_LETTERS), messages.ids(QUEUE)]).toEqual([[], [first]]);
    expect(shown.written).toEqual(['redrive', 'dismiss'].map((act) => `POST /v1/admin/queues/${DEAD_LETTERS}/${act}`));
    expect(shown.violations).toEqual([]);
  });

  test('of missed job runs are linked from the overview; an operator can run the job, and dismiss the messages', async () => {
    const scheduledForMs = Date.UTC(2026, 1, 28, 12, 45);
    const missed = { part: 'resolve', job: 'resolve', scheduledForMs, reason: 'jobs_api_unreachable' };
    for (const id of ['m1', 'm2']) messages.arrive('Jobs-Missed', { id, ...missed });
    messages.arrive('Jobs-Missed', { id: 'm3', part: 'shop nightly', reason: 'window_ended' });
    shown.api.clock.advance(1_000);
    const page = await shown.signedIn();
    await page.getByRole('region', { name: 'Entries' }).getByRole('link', { name: 'Run or dismiss' }).click();
    await page.getByRole('heading', { name: 'Queue: Missed job runs' }).waitFor();
    await accessible(page);
    const scheduled = page.locator('time[title="2026-02-28 12:45:00 UTC"]');
    await scheduled.first().waitFor();
    expect(await scheduled.count()).toBe(2);
    const runs = page.getByRole('button', { name: 'Run now', disabled: false });
    await runs.first().waitFor();
    expect(await runs.count()).toBe(2);
    const ofService = page.getByRole('row', { name: 'shop nightly' });
    expect(await ofService.getByRole('button', { name: 'Run now' }).isDisabled()).toBe(true);
    await ofService.getByText('Ask the team of shop to run it.').waitFor();
    await runs.first().click();
    await page.getByRole('dialog', { name: 'Run now' }).getByRole('button', { name: 'Run now' }).dblclick();
    await page.getByText('The job resolve was started').waitFor();
    await page.getByRole('button', { name: 'Dismiss all' }).click();
    const dialog = page.getByRole('dialog', { name: 'Dismiss all' });
    await dialog.getByText('Messages about jobs of other services stay').waitFor();
    await dialog.getByLabel('Reason').selectOption('done_otherwise');
    // As in SQS, a receive from an empty queue takes seconds, but the number of its messages is read immediately.
    const peeked = Promise.withResolvers<void>();
    const peek = messages.peek.bind(messages);
    messages.peek = (queue, limit) => peeked.promise.then(() => peek(queue, limit));
    await dialog.getByRole('button', { name: 'Dismiss all' }).dblclick();
    await page.getByText('The messages about jobs of this deployment were dismissed.').waitFor();
    expect(await page.getByRole('region', { name: 'Entries of Jobs-Missed' }).count()).toBe(0);
    peeked.resolve();
    await page.getByRole('row', { name: 'shop nightly' }).waitFor();
    expect(messages.ids('Jobs-Missed')).toEqual(['m3']);
    expect(dataOf(await shown.api.get('/v1/admin/jobs/resolve/runs'))).toHaveLength(1);
    expect(shown.written).toEqual(['POST /v1/admin/jobs/resolve/runs', 'POST /v1/admin/queues/Jobs-Missed/dismiss']);
    expect(shown.violations).toEqual([]);
  });

  test('are not reported as gone while another request hides them, and their list has no second page', async () => {
    const count = 25;
    for (let more = 0; more < count; more += 1) messages.arrive('Events-Parked', { id: `parked-${more}` });
    const peek = messages.peek.bind(messages);
    messages.peek = async (queue, limit) => (queue === DEAD_LETTERS ? [] : peek(queue, limit));
    const page = await openQueue('Events-Parked');
    await page.getByText(`${count + 1} rows`).waitFor();
    expect(await page.getByRole('button', { name: 'More' }).count()).toBe(0);
    await page.goto(`${shown.url}/#/waiting/${DEAD_LETTERS}`);
    await page.getByText('More messages wait than are listed.').waitFor();
    await accessible(page);
    expect(await page.getByText('The queue is empty.').count()).toBe(0);
    messages.peek = peek;
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByText('2 rows').waitFor();
    expect(await page.getByText('More messages wait than are listed.').count()).toBe(0);
    expect(shown.violations).toEqual([]);
  });

  test('are reported as nothing_to_redrive if another person has just redriven them', async () => {
    const page = await openQueue(DEAD_LETTERS);
    await shown.api.write(`/v1/admin/queues/${DEAD_LETTERS}/redrive`, 'another');
    await decideOn(page, 'Redrive all');
    await page.getByRole('alert').getByText('nothing_to_redrive').waitFor();
    expect(messages.ids(QUEUE)).toEqual(['a', 'b']);
  });

  test.each([
    [
      'a parked record',
      'Events-Parked',
      'Events-Republisher',
      [PAYMENT, 'EventBridge refused the event.', 'refused_by_bus'],
      'parked',
    ],
    [
      'a call to a vendor',
      'Vendors-DeadLetters',
      'Parties-DelayedCalls-Queue',
      [ORDER, 'postmark email.send', 'postmark refused the call because of its account', 'postmark_account'],
      'letter',
    ],
  ])('are shown with their reason, and redriven once by a double click: %s', async (_what, from, to, shows, id) => {
    const page = await openQueue(from);
    for (const text of shows) await page.getByText(text).waitFor();
    await accessible(page);
    await page.getByRole('button', { name: 'Redrive all' }).click();
    await page.getByRole('dialog', { name: 'Redrive all' }).getByRole('button', { name: 'Redrive all' }).dblclick();
    await page.getByText('The messages were moved').waitFor();
    await page.getByText('The queue is empty.').first().waitFor();
    expect([messages.ids(from), messages.ids(to)]).toEqual([[], [id]]);
    expect(shown.written).toEqual([`POST /v1/admin/queues/${from}/redrive`]);
    expect(shown.violations).toEqual([]);
  });

  test('cannot be redriven by a viewer, nor by any role if only a command or a job empties the queue', async () => {
    for (const [queue, because] of [
      ['Archive-Parked', 'Run `payonce redrive` instead'],
      ['Open claims', 'A job empties this queue. Request a run of the job.'],
    ] as const) {
      const page = await openQueue(queue);
      expect(await page.getByRole('button', { name: 'Redrive all' }).isDisabled()).toBe(true);
      await page.getByText(because).waitFor();
      expect(
        await page
          .getByRole('cell')
          .getByRole('button', { name: /^(?:Redrive|Dismiss)$/ })
          .count(),
      ).toBe(0);
    }
    shown.api.registerOperator(VIEWER_KEY, { operator: 'Vera Example', role: 'viewer' });
    const viewer = await openQueue('Vendors-DeadLetters', VIEWER_KEY);
    expect(await viewer.getByRole('button', { name: 'Redrive all' }).isDisabled()).toBe(true);
    await viewer.getByText('Your role is viewer; this action requires the role operator.').first().waitFor();
    expect(shown.written).toEqual([]);
    expect(shown.violations).toEqual([]);
  });
});
