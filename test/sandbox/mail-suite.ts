import { beforeEach, describe, expect, test } from '@jest/globals';
import * as z from 'zod';
import type { Books } from '../../sandbox/books.ts';
import { callSandbox } from './sandbox-calls.ts';
import { createTestSandbox, type TestSandbox } from './sandbox-world.ts';

const sentEmail = z.strictObject({
  To: z.string(),
  SubmittedAt: z.string(),
  MessageID: z.string(),
  ErrorCode: z.literal(0),
  Message: z.literal('OK'),
});
const searchAnswer = z.strictObject({
  TotalCount: z.int(),
  Messages: z.array(z.looseObject({ MessageID: z.string() })),
});

/** Each test has its own recipient and order. */
export function describeMail(booksKind: string, createBooks: () => Promise<Books>): void {
  let sandbox: TestSandbox;
  let order: string;
  let tag: string;

  beforeEach(async () => {
    sandbox = createTestSandbox(await createBooks());
    order = `ord_${crypto.randomUUID()}`;
    tag = `tag-${crypto.randomUUID()}`;
  });

  const headers = { 'X-Postmark-Server-Token': 'any' };
  const get = (path: string, query: Readonly<Record<string, string>> = {}) =>
    callSandbox(sandbox.handler, { method: 'GET', path, query, headers });
  const post = (changes: Readonly<Record<string, unknown>> = {}) => {
    const email = { From: 'shop@example.org', To: 'ada@example.com', Subject: 'Thanks', TextBody: 'Thank you.' };
    const body = JSON.stringify({ ...email, Tag: tag, Metadata: { payonce: order }, ...changes });
    return callSandbox(sandbox.handler, { method: 'POST', path: '/email', headers, body });
  };
  const to = (name: string) => ({ To: `${name}@example.com` });
  const found = async (
    filters: Readonly<Record<string, string>> = { metadata_payonce: order },
    from = 0,
    most = 50,
  ) => {
    const answer = await get('/messages/outbound', { count: String(most), offset: String(from), ...filters });
    expect(answer.status).toBe(200);
    return searchAnswer.parse(JSON.parse(answer.body));
  };
  const idOf = (answer: { readonly body: string }) => sentEmail.parse(JSON.parse(answer.body)).MessageID;

  describe(`the mail service (${booksKind} store):`, () => {
    test('a send request returns the id of the e-mail, and the e-mail is found immediately with its text', async () => {
      const MessageID = idOf(await post());
      const outline = {
        MessageID,
        From: 'shop@example.org',
        To: [{ Email: 'ada@example.com', Name: null }],
        Recipients: ['ada@example.com'],
        Subject: 'Thanks',
        Tag: tag,
        Metadata: { payonce: order },
        MessageStream: 'outbound',
        Status: 'Sent',
        ReceivedAt: '2026-01-01T00:00:00.000Z',
      };
      expect(await found()).toEqual({ TotalCount: 1, Messages: [outline] });
      const details = await get(`/messages/outbound/${MessageID}/details`);
      expect(JSON.parse(details.body)).toEqual({ ...outline, TextBody: 'Thank you.' });
    });

    test('an e-mail is found by tag, by recipient, by metadata, and by all three together', async () => {
      const recipient = `${order}@example.com`;
      const MessageID = idOf(await post({ To: recipient }));
      await post();
      for (const filters of [{ tag, recipient }, { recipient }, { metadata_payonce: order, recipient, tag }]) {
        expect(await found(filters)).toMatchObject({ TotalCount: 1, Messages: [{ MessageID }] });
      }
      expect(await found({ tag })).toMatchObject({ TotalCount: 2 });
      expect(await found({ recipient, tag: `${tag}x` })).toEqual({ TotalCount: 0, Messages: [] });
    });

    test('two equal requests send two e-mails, because duplicates are not detected', async () => {
      await Promise.all([post(), post()]);
      expect(await found()).toMatchObject({ TotalCount: 2 });
    });

    test('pages list the newest e-mail first, and contain the total count', async () => {
      const ids: string[] = [];
      for (let sent = 0; sent < 5; sent += 1) {
        ids.unshift(idOf(await post()));
        sandbox.advance(1);
      }
      const pages = [await found({ tag }, 0, 2), await found({ tag }, 2, 2), await found({ tag }, 4, 2)];
      expect(pages.map(({ TotalCount }) => TotalCount)).toEqual([5, 5, 5]);
      expect(pages.flatMap(({ Messages }) => Messages.map(({ MessageID }) => MessageID))).toEqual(ids);
    });

    test.each([
      ['timeout', 504, 1, 200, 2],
      ['flaky', 500, 0, 200, 1],
      ['account', 422, 0, 200, 1],
      ['down', 503, 0, 503, 0],
      ['bounce', 422, 0, 422, 0],
    ])(
      'the first request to %s@ gets %i (e-mails sent so far: %i), and the second gets %i (sent so far: %i)',
      async (name, first, afterFirst, second, afterSecond) => {
        expect((await post(to(name))).status).toBe(first);
        expect(await found()).toMatchObject({ TotalCount: afterFirst });
        expect((await post(to(name))).status).toBe(second);
        expect(await found()).toMatchObject({ TotalCount: afterSecond });
        expect(sandbox.waits).toEqual(name === 'timeout' ? [15_000] : []);
      },
    );

    test('attempts are counted separately for different metadata; without metadata, each request is a first attempt', async () => {
      expect((await post(to('flaky'))).status).toBe(500);
      expect((await post({ ...to('flaky'), Metadata: { payonce: `${order}x` } })).status).toBe(500);
      expect((await post({ ...to('flaky'), Metadata: {} })).status).toBe(500);
      expect((await post({ ...to('flaky'), Metadata: {} })).status).toBe(500);
    });

    test.each([
      ['account', 412],
      ['bounce', 406],
    ])('%s@ is refused with Postmark’s code %i', async (name, ErrorCode) => {
      expect(JSON.parse((await post(to(name))).body)).toMatchObject({ ErrorCode });
    });
  });
}
