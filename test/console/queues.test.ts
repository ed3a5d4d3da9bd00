import { beforeEach, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { MemoryMessages } from '../reconciling/memory-messages.ts';
import { Api, OPERATOR_KEY } from '../world/api.ts';
import { accessible, decideOn, describeConsole } from './console-in-browser.ts';

const LETTERS = 'Webhooks-Tasks-DeadLetters';
const QUEUE = 'Webhooks-Tasks-Queue';
const VIEWER_KEY = 'ok_viewerviewerviewerviewer';

describeConsole('dead letters in a browser', (shown) => {
  let messages: MemoryMessages;
  beforeEach(() => {
    const world = new Api();
    messages = new MemoryMessages(world.clock);
    const api = world.beside({ messages });
    shown.api = api;
    for (const id of ['a', 'b']) messages.arrive(LETTERS, { id, reason: '<b>malformed</b>' });
    messages.arrive('Events-Parked', { id: 'parked' });
    api.clock.advance(1_000);
  });

  async function openQueue(queue: string, key = OPERATOR_KEY): Promise<Page> {
    const page = await shown.signedIn(key);
    await page.getByRole('link', { name: 'Waiting for work' }).click();
    await page.getByRole('link', { name: queue, exact: true }).click();
    await page.getByRole('button', { name: 'Redrive' }).waitFor();
    return page;
  }

  test('are put back once by a double click', async () => {
    const page = await openQueue(LETTERS);
    await page.getByText('<b>malformed</b>').first().waitFor();
    await accessible(page);
    await page.getByRole('button', { name: 'Redrive' }).click();
    await page.getByRole('dialog', { name: 'Redrive' }).getByText(`(about 2) back into the queue ${QUEUE}`).waitFor();
    await accessible(page);
    await page.getByRole('dialog', { name: 'Redrive' }).getByRole('button', { name: 'Redrive' }).dblclick();
    await page.getByText('Messages were put back.').waitFor();
    await page.getByText('Nothing waits here.').first().waitFor();
    await accessible(page);
    expect(messages.ids(QUEUE)).toEqual(['a', 'b']);
    expect(shown.written).toEqual([`POST /v1/admin/queues/${LETTERS}/redrive`]);
    expect(shown.violations).toEqual([]);
  });

  test('that another person has just put back are told as gone', async () => {
    const page = await openQueue(LETTERS);
    await shown.api.write(`/v1/admin/queues/${LETTERS}/redrive`, 'another');
    await decideOn(page, 'Redrive');
    await page.getByRole('alert').getByText('nothing_to_redrive').waitFor();
    expect(messages.ids(QUEUE)).toEqual(['a', 'b']);
  });

  test('without a queue to return to have their command, and who may only look can do nothing', async () => {
    const page = await openQueue('Events-Parked');
    expect(await page.getByRole('button', { name: 'Redrive' }).isDisabled()).toBe(true);
    await page.getByText('The command payonce redrive does their work again.').waitFor();
    shown.api.registerOperator(VIEWER_KEY, { operator: 'Vera Example', role: 'viewer' });
    const viewer = await openQueue(LETTERS, VIEWER_KEY);
    expect(await viewer.getByRole('button', { name: 'Redrive' }).isDisabled()).toBe(true);
    await viewer.getByText('Your role is viewer; this needs operator.').waitFor();
    expect(shown.written).toEqual([]);
    expect(shown.violations).toEqual([]);
  });
});
