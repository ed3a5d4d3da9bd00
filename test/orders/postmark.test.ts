import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import {
  createPostmark,
  type Email,
  type EmailSender,
  emailSchema,
  probePostmark,
} from '../../lambdas/orders/parties/postmark.ts';
import { createOutboundPolicy } from '../../lambdas/outbound/outbound-policy.ts';
import type { DeadLetter } from '../../lambdas/outbound/use/dead-letters.ts';
import type { SendingClaims } from '../../lambdas/outbound/use/sending-claims.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { sliceOf } from '../support/slice.ts';
import { Stores } from '../world/stores.ts';
import {
  INACTIVE_RECIPIENT,
  POSTMARK_TOKEN,
  type PostmarkDouble,
  servePostmark,
  type Trouble,
} from './postmark-double.ts';
import {
  AMBIGUOUS_FAULTS,
  CLOCK_SKEW_MS,
  crashAfterClaim,
  crashBeforeSendIsRecorded,
  MAX_LAG_MS,
  outcomesOfConcurrentSends,
  PATIENCE_MS,
  ProcessCrash,
  retryUntilKnown,
  timeoutFor,
} from './vendor-redeliveries.ts';

const EMAIL: Email = {
  messageId: 'receipt_ord_1',
  to: 'ada@example.com',
  subject: 'Your order',
  text: 'Thank you.',
  tag: 'receipt',
  metadata: { order: 'ord_1' },
};

describe('Postmark:', () => {
  let clock: SimulatedClock;
  let server: PostmarkDouble;
  let claims: SendingClaims;
  let deadLetters: DeadLetter[];
  let postmark: EmailSender;

  beforeEach(async () => {
    clock = new SimulatedClock();
    server = await servePostmark(clock);
    claims = new Stores(clock).sendingClaims('postmark');
    deadLetters = [];
    postmark = connect(claims);
  });
  afterEach(async () => {
    await server[Symbol.asyncDispose]();
  });

  const connect = (held: SendingClaims, trouble?: Trouble) => {
    const access = { url: server.url, token: async () => POSTMARK_TOKEN };
    const policy = createOutboundPolicy({
      vendor: 'postmark',
      clock,
      entropy: { fraction: () => 1 },
      observer: { count: () => {} },
      deadLetters: { put: async (deadLetter) => void deadLetters.push(deadLetter) },
      timeoutMs: timeoutFor(trouble),
      probe: (limit) => probePostmark('postmark', access, limit),
    });
    return createPostmark({ ...access, from: 'shop@example.org', policy, claims: held, clock, maxLagMs: MAX_LAG_MS });
  };
  const send = (sender: EmailSender = postmark, email: Email = EMAIL) =>
    sender.sendEmail(email, { deadlineMs: clock.nowMs() + PATIENCE_MS });
  const sendOrDeadLetter = (sender: EmailSender = postmark) =>
    sender.sendEmail(EMAIL, { deadlineMs: clock.nowMs() + PATIENCE_MS, givenUp: 'dead_letter' });
  const sendUntilKnown = (sender: EmailSender = postmark) => retryUntilKnown(clock, () => send(sender));
  const posts = () => server.requests.filter((request) => request.startsWith('POST')).length;
  const sentOnce = () => {
    expect(server.emails.map(({ Metadata }) => Metadata['payonce'])).toEqual([EMAIL.messageId]);
    return { kind: 'sent', vendorId: server.emails[0]?.MessageID };
  };

  test('the message id is sent as the Message-ID header, which Postmark preserves, and as searchable metadata', async () => {
    expect(await send()).toEqual(sentOnce());
    expect(server.emails).toMatchObject([
      {
        From: 'shop@example.org',
        To: 'ada@example.com',
        Subject: 'Your order',
        TextBody: 'Thank you.',
        Tag: 'receipt',
        Headers: [
          { Name: 'Message-ID', Value: '<receipt_ord_1@example.org>' },
          { Name: 'X-PM-KeepID', Value: 'true' },
        ],
        Metadata: { order: 'ord_1', payonce: 'receipt_ord_1' },
        MessageStream: 'outbound',
      },
    ]);
  });

  test.each([
    ['a 422 for an invalid request', 422, 300, { kind: 'refused', failure: { code: 'invalid_email_request' } }],
    ['a 422 for an inactive recipient', 422, 406, { kind: 'refused', failure: { code: 'inactive_recipient' } }],
    ['a 422 with any other code', 422, 1_235, { kind: 'refused', failure: { code: 'postmark_1235' } }],
    ['a refusal inside a 200', 200, 406, { kind: 'refused', failure: { code: 'inactive_recipient' } }],
  ])('%s is a refusal, and the e-mail is not sent again', async (_what, status, code, outcome) => {
    const body = JSON.stringify({ ErrorCode: code, Message: 'no' });
    server.writeTroubles.push({ kind: 'answer', status, body });
    expect(await send()).toMatchObject(outcome);
    expect(server.requests).toHaveLength(1);
  });

  test('after a refusal for an inactive recipient, the next delivery sends the e-mail to another address', async () => {
    const inactive = { ...EMAIL, to: INACTIVE_RECIPIENT };
    expect(await send(postmark, inactive)).toMatchObject({ kind: 'refused' });
    expect(await send()).toEqual(sentOnce());
  });

  test.each([
    ['401', { kind: 'answer', status: 401, body: '{"ErrorCode":10,"Message":"no"}' }, 'postmark_unauthorized'],
    [
      'a 422 for an account that may not send',
      { kind: 'answer', status: 422, body: '{"ErrorCode":412,"Message":"no"}' },
      'postmark_account',
    ],
    ['a 4xx from a proxy', { kind: 'answer', status: 422, body: '<html>' }, 'postmark_refused'],
  ] as const)('%s sends nothing and needs an operator', async (_what, trouble, code) => {
    server.writeTroubles.push(trouble, trouble);
    await expect(send()).rejects.toMatchObject({ name: 'TerminalError', code });
    expect(posts()).toBe(1);
    expect(await sendOrDeadLetter()).toEqual({ kind: 'dead_lettered', reason: code, mayBeApplied: false });
    expect(await send()).toEqual(sentOnce());
  });

  test('a 429 is retried after the delay in its Retry-After header', async () => {
    server.writeTroubles.push({ kind: 'rate_limited', headers: { 'retry-after': '7' } });
    const begunAtMs = clock.nowMs();
    expect(await send()).toEqual(sentOnce());
    expect(clock.nowMs() - begunAtMs).toBe(7_000);
  });

  test('a second delivery returns the outcome that is stored in the claim', async () => {
    const first = await send();
    expect(await send()).toEqual(first);
    expect(server.requests).toHaveLength(1);
  });

  const all: readonly Trouble[] = [
    ...AMBIGUOUS_FAULTS,
    { kind: 'answer', status: 200, body: '{"ErrorCode":0,"Message":"OK"}' },
    { kind: 'answer', status: 302, body: '' },
  ];
  const named = all.map((trouble) => [JSON.stringify(trouble), trouble] as const);

  describe.each([0, 30_000])('an e-mail with a search lag of %i ms is sent once after', (lagMs) => {
    beforeEach(() => {
      server.lagMs = lagMs;
    });

    test.each(named)('%s', async (_name, trouble) => {
      server.writeTroubles.push(trouble);
      expect(await sendUntilKnown(connect(claims, trouble))).toEqual(sentOnce());
    });

    test.each(sliceOf(named, 3))('%s, and a failure of the first look-up', async (_name, trouble) => {
      server.writeTroubles.push(trouble);
      server.readTroubles.push('error_before', 'reset_before');
      expect(await sendUntilKnown(connect(claims, trouble))).toEqual(sentOnce());
    });

    test.each(sliceOf(named, 5))('%s, and four rounds of twenty concurrent attempts', async (_name, trouble) => {
      server.writeTroubles.push(trouble);
      const sender = connect(claims, trouble);
      expect(await outcomesOfConcurrentSends(clock, () => send(sender))).toEqual([JSON.stringify(sentOnce())]);
    });

    test('a crash before the send', async () => {
      await expect(send(connect(crashAfterClaim(claims)))).rejects.toThrow(ProcessCrash);
      expect(await sendUntilKnown()).toEqual(sentOnce());
    });

    test.each([1, 2])('%i crashes after the send', async (deaths) => {
      const sender = connect(crashBeforeSendIsRecorded(claims, deaths));
      await expect(send(sender)).rejects.toThrow(ProcessCrash);
      clock.advance(CLOCK_SKEW_MS + 3 * MAX_LAG_MS);
      if (deaths > 1) await expect(send(sender)).rejects.toThrow(ProcessCrash);
      expect(await sendUntilKnown(sender)).toEqual(sentOnce());
    });

    test('a crash of the second owner after it has sent the e-mail', async () => {
      server.writeTroubles.push('reset_before');
      await expect(send()).rejects.toBeInstanceOf(AmbiguousError);
      clock.advance(CLOCK_SKEW_MS + 2 * MAX_LAG_MS);
      await expect(send(connect(crashBeforeSendIsRecorded(claims)))).rejects.toThrow(ProcessCrash);
      expect(await sendUntilKnown()).toEqual(sentOnce());
    });

    test('a failure of the claim store after the send', async () => {
      const failing = crashBeforeSendIsRecorded(claims, 1, new RetryableError('store_throttled', 'no'));
      expect(await sendUntilKnown(connect(failing))).toEqual(sentOnce());
    });
  });

  test('an e-mail that may still appear in the search is not sent again', async () => {
    server.lagMs = MAX_LAG_MS;
    server.writeTroubles.push('reset_after');
    await expect(send()).rejects.toBeInstanceOf(AmbiguousError);
    await expect(send()).rejects.toMatchObject({ code: 'postmark_too_early_to_tell' });
    expect(posts()).toBe(1);
  });

  test('a search result with a different id is ignored', async () => {
    await send(postmark, { ...EMAIL, messageId: 'receipt_ord_10' });
    server.writeTroubles.push('error_before');
    const message = { MessageID: 'other', Metadata: { payonce: 'receipt_ord_10' } };
    const body = JSON.stringify({ TotalCount: 1, Messages: [message, { MessageID: 'none' }] });
    server.readTroubles.push({ kind: 'answer', status: 200, body });
    expect(await sendUntilKnown()).toMatchObject({ kind: 'sent' });
    expect(server.emails.map(({ Metadata }) => Metadata['payonce'])).toEqual(['receipt_ord_10', 'receipt_ord_1']);
  });

  test('an abandoned e-mail is stored as a dead letter without the token, and is sent once after a redrive', async () => {
    server.outage = 'error_before';
    expect(await sendOrDeadLetter()).toEqual({ kind: 'dead_lettered', reason: 'postmark_error', mayBeApplied: true });
    expect(deadLetters).toEqual([
      {
        vendor: 'postmark',
        operation: 'email.send',
        about: 'ord_1',
        payload: EMAIL,
        attempts: 1,
        reason: 'postmark_error',
        mayBeApplied: true,
      },
    ]);
    expect(JSON.stringify(deadLetters)).not.toContain(POSTMARK_TOKEN);
    server.outage = undefined;
    clock.advance(CLOCK_SKEW_MS + 2 * MAX_LAG_MS);
    const redriven = emailSchema.parse(JSON.parse(JSON.stringify(deadLetters[0]?.payload)));
    const deadlineMs = clock.nowMs() + PATIENCE_MS;
    const outcomes = await Promise.allSettled([
      postmark.sendEmail(redriven, { deadlineMs }),
      postmark.sendEmail(redriven, { deadlineMs }),
    ]);
    expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThanOrEqual(1);
    sentOnce();
  });

  test('a Postmark outage is probed only by reads', async () => {
    server.outage = 'error_before';
    for (let round = 1; round <= 8; round += 1) {
      await send(postmark, { ...EMAIL, messageId: `receipt_${round}` }).catch(() => {});
    }
    const before = server.requests.length;
    clock.advance(20_000);
    await send().catch(() => {});
    const since = server.requests.slice(before);
    expect(since.length).toBeGreaterThan(0);
    expect(new Set(since)).toEqual(new Set(['GET /server']));
  });
});
