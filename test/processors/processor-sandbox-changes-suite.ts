import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Books } from '../../sandbox/books.ts';
import { callSandbox, type SandboxAnswer } from '../sandbox/sandbox-calls.ts';
import { chargeIn, disputeIn, errorIn, refundIn, sandboxHarness } from '../sandbox/sandbox-harness.ts';
import { createTestSandbox, type TestSandbox } from '../sandbox/sandbox-world.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;

const statusesOf = (answers: readonly SandboxAnswer[]) => answers.map(({ status }) => status).toSorted((a, b) => a - b);

export function describeSandboxChanges(booksKind: string, createBooks: () => Promise<Books>): void {
  describe(`the sandbox processor with ${booksKind} books, changing charges,`, () => {
    let sandbox: TestSandbox;
    let harness: ReturnType<typeof sandboxHarness>;

    beforeEach(async () => {
      sandbox = createTestSandbox(await createBooks());
      harness = sandboxHarness(sandbox.handler);
      await switchFailures(0, 'tok_ok');
    });

    const switchFailures = (count: number, source: string) =>
      callSandbox(sandbox.handler, {
        method: 'PUT',
        path: '/control/change-failures',
        body: JSON.stringify({ count, source }),
      });

    const authorized = async () => chargeIn(await harness.charge('tok_ok', { capture: 'manual' })).id;
    const captured = async () => chargeIn(await harness.charge('tok_ok')).id;

    test('captures part of an authorized charge, and refuses another capture with a different key', async () => {
      const id = await authorized();
      const answer = await harness.post(`/charges/${id}/capture`, { amount: 500 }, 'c1');
      expect(answer.status).toBe(200);
      expect(chargeIn(answer)).toMatchObject({ status: 'succeeded', amount: 1_999, amount_captured: 500 });
      expect(errorIn(await harness.post(`/charges/${id}/capture`, {}, 'c2')).code).toBe('charge_not_capturable');
    });

    test('captures once for a repeated key, with the same response', async () => {
      const id = await authorized();
      const first = await harness.post(`/charges/${id}/capture`, undefined, 'c1');
      expect(first.status).toBe(200);
      expect(await harness.post(`/charges/${id}/capture`, undefined, 'c1')).toEqual(first);
    });

    test('refuses a capture above the authorized amount', async () => {
      const id = await authorized();
      const answer = await harness.post(`/charges/${id}/capture`, { amount: 2_000 }, 'c1');
      expect(answer.status).toBe(400);
      expect(errorIn(answer).code).toBe('amount_too_large');
      expect(chargeIn(await harness.get(`/charges/${id}`)).status).toBe('authorized');
    });

    test('applies exactly one of a concurrent capture and void', async () => {
      const id = await authorized();
      const answers = await Promise.all([
        harness.post(`/charges/${id}/capture`, undefined, 'c1'),
        harness.post(`/charges/${id}/void`, undefined, 'v1'),
      ]);
      expect(statusesOf(answers)).toEqual([200, 400]);
    });

    test('does not capture a voided charge', async () => {
      const id = await authorized();
      expect(chargeIn(await harness.post(`/charges/${id}/void`, undefined, 'v1'))).toMatchObject({
        status: 'voided',
        amount_captured: 0,
      });
      expect((await harness.post(`/charges/${id}/capture`, undefined, 'c1')).status).toBe(400);
    });

    test('does not void a captured charge', async () => {
      expect(errorIn(await harness.post(`/charges/${await captured()}/void`, undefined, 'v1')).code).toBe(
        'charge_not_voidable',
      );
    });

    test('does not refund more than the captured amount', async () => {
      const id = await captured();
      const first = await harness.post(`/charges/${id}/refunds`, { amount: 1_000 }, 'r1');
      expect(first.status).toBe(201);
      expect(JSON.parse(first.body)).toEqual({
        id: expect.stringMatching(/^re_/),
        object: 'refund',
        charge: id,
        amount: 1_000,
        status: 'succeeded',
        metadata: {},
      });
      expect(errorIn(await harness.post(`/charges/${id}/refunds`, { amount: 1_000 }, 'r2')).code).toBe(
        'amount_too_large',
      );
      expect((await harness.post(`/charges/${id}/refunds`, {}, 'r3')).status).toBe(201);
      expect(chargeIn(await harness.get(`/charges/${id}`))).toMatchObject({
        amount_refunded: 1_999,
        refunds: [JSON.parse(first.body), { amount: 999, status: 'succeeded' }],
      });
      expect(errorIn(await harness.post(`/charges/${id}/refunds`, {}, 'r4')).code).toBe('charge_already_refunded');
    });

    test('applies exactly one of two concurrent refunds that together exceed the charge', async () => {
      const id = await captured();
      const answers = await Promise.all([
        harness.post(`/charges/${id}/refunds`, { amount: 1_400 }, 'r1'),
        harness.post(`/charges/${id}/refunds`, { amount: 1_400 }, 'r2'),
      ]);
      expect(statusesOf(answers)).toEqual([201, 400]);
      expect(chargeIn(await harness.get(`/charges/${id}`)).amount_refunded).toBe(1_400);
    });

    test('refunds once for five concurrent sends of one key', async () => {
      const id = await captured();
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => harness.post(`/charges/${id}/refunds`, { amount: 100 }, 'r1')),
      );
      expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
      expect(chargeIn(await harness.get(`/charges/${id}`)).amount_refunded).toBe(100);
    });

    test('returns a refund with the metadata of its request', async () => {
      const id = await captured();
      const metadata = { payment: 'pay_1', operation: 'ref_1' };
      const answer = await harness.post(`/charges/${id}/refunds`, { amount: 100, metadata }, 'r1');
      expect(JSON.parse(answer.body)).toMatchObject({ amount: 100, metadata });
      expect(await harness.post(`/charges/${id}/refunds`, { metadata, amount: 100 }, 'r1')).toEqual(answer);
      expect(chargeIn(await harness.get(`/charges/${id}`))).toMatchObject({ refunds: [{ metadata }] });
    });

    test('returns 422 for a key that was used with a different operation, amount or metadata', async () => {
      const id = await captured();
      await harness.post(`/charges/${id}/refunds`, { amount: 100 }, 'r1');
      expect((await harness.post(`/charges/${id}/refunds`, { amount: 200 }, 'r1')).status).toBe(422);
      const metadata = { operation: 'ref_1' };
      expect((await harness.post(`/charges/${id}/refunds`, { amount: 100, metadata }, 'r1')).status).toBe(422);
      expect((await harness.post(`/charges/${id}/void`, undefined, 'r1')).status).toBe(422);
      expect(chargeIn(await harness.get(`/charges/${id}`)).amount_refunded).toBe(100);
    });

    test('recognizes a key for 24 hours; afterwards, the same key refunds again', async () => {
      const id = await captured();
      const first = await harness.post(`/charges/${id}/refunds`, { amount: 100 }, 'r1');
      sandbox.advance(DAY_MS - 1);
      expect(await harness.post(`/charges/${id}/refunds`, { amount: 100 }, 'r1')).toEqual(first);
      sandbox.advance(1);
      const second = await harness.post(`/charges/${id}/refunds`, { amount: 100 }, 'r1');
      expect(refundIn(second).id).not.toBe(refundIn(first).id);
      expect(await harness.post(`/charges/${id}/refunds`, { amount: 100 }, 'r1')).toEqual(second);
      expect((await harness.read(id)).amount_refunded).toBe(200);
    });

    test('refunds only the amount outside an open or lost dispute, and the full amount after the dispute is won', async () => {
      const id = await captured();
      const refuse = async (key: string) => {
        const answer = await harness.post(`/charges/${id}/refunds`, { amount: 1_500 }, key);
        expect([answer.status, errorIn(answer).code]).toEqual([400, 'charge_disputed']);
      };
      const disputed = async () => disputeIn(await harness.post(`/control/charges/${id}/dispute`, { amount: 500 })).id;
      const first = await disputed();
      await refuse('r1');
      expect((await harness.post(`/charges/${id}/refunds`, { amount: 99 }, 'r0')).status).toBe(201);
      await harness.post(`/control/disputes/${first}/close`, { outcome: 'won' });
      expect((await harness.post(`/charges/${id}/refunds`, { amount: 1_500 }, 'r1')).status).toBe(201);
      await harness.post(`/control/disputes/${await disputed()}/close`, { outcome: 'lost' });
      await refuse('r2');
    });

    describe('injected failures of changes', () => {
      const send = (id: string) => harness.post(`/charges/${id}/refunds`, { amount: 100 }, 'r1');

      test.each([
        ['tok_timeout_charged', 504, 100],
        ['tok_timeout_not_charged', 504, 0],
        ['tok_malformed', 201, 100],
        ['tok_flaky', 500, 0],
        ['tok_rate_limited', 429, 0],
        ['tok_unauthorized', 401, 0],
      ] as const)(
        'make the next change behave like the first request of a charge with %s; the change after it succeeds',
        async (source, status, refunded) => {
          const id = await captured();
          await switchFailures(1, source);
          expect((await send(id)).status).toBe(status);
          expect(sandbox.waits).toEqual(status === 504 ? [15_000] : []);
          expect((await harness.read(id)).amount_refunded).toBe(refunded);
          expect((await send(id)).status).toBe(201);
          expect((await harness.read(id)).amount_refunded).toBe(100);
        },
      );

      test('store no response under a refused key, and do not change the stored response of a successful key', async () => {
        const id = await captured();
        await switchFailures(1, 'tok_declined');
        const answer = await send(id);
        expect([answer.status, errorIn(answer).code]).toEqual([400, 'card_declined']);
        const made = await send(id);
        expect(made.status).toBe(201);
        await switchFailures(1, 'tok_declined');
        expect(await send(id)).toEqual(made);
      });

      test.each([
        ['tok_async', 'succeeded', 100, 'refund.updated'],
        ['tok_async_declined', 'failed', 0, 'refund.failed'],
      ] as const)('with %s make a refund pending, and %s after 2 seconds', async (source, status, refunded, type) => {
        const id = await captured();
        await switchFailures(1, source);
        expect(refundIn(await send(id))).toMatchObject({ status: 'pending', amount: 100 });
        expect((await harness.read(id)).amount_refunded).toBe(100);
        await sandbox.runFor(2_000);
        expect(await harness.read(id)).toMatchObject({ amount_refunded: refunded, refunds: [{ status }] });
        expect((await harness.types(id)).slice(1)).toEqual(['refund.created', type]);
      });

      test('do not affect charges', async () => {
        await switchFailures(1, 'tok_flaky');
        expect((await harness.charge('tok_ok')).status).toBe(201);
        expect(JSON.parse((await harness.get('/control/change-failures')).body)).toEqual({
          count: 1,
          source: 'tok_flaky',
        });
      });
    });

    test('completes or fails a pending refund once, and a failed refund stays failed', async () => {
      const id = await captured();
      await switchFailures(2, 'tok_async');
      const [one, two] = await Promise.all(
        ['r1', 'r2'].map(
          async (key) => refundIn(await harness.post(`/charges/${id}/refunds`, { amount: 100 }, key)).id,
        ),
      );
      const end = async (refundId: string | undefined, how: string) =>
        refundIn(await harness.post(`/control/refunds/${refundId}/${how}`)).status;
      expect(await end(one, 'succeed')).toBe('succeeded');
      expect(await end(one, 'succeed')).toBe('succeeded');
      expect(await end(two, 'fail')).toBe('failed');
      expect(errorIn(await harness.post(`/control/refunds/${two}/succeed`)).code).toBe('invalid_request');
      await sandbox.runFor(2_000);
      expect((await harness.read(id)).refunds.map(({ status }) => status).toSorted()).toEqual(['failed', 'succeeded']);
    });

    test('refuses to capture or refund a declined charge', async () => {
      const id = errorIn(await harness.charge('tok_declined')).charge;
      expect((await harness.post(`/charges/${id}/capture`, undefined, 'c1')).status).toBe(400);
      expect((await harness.post(`/charges/${id}/refunds`, undefined, 'r1')).status).toBe(400);
    });

    test('expires an authorized charge, but no voided, declined, pending or captured charge', async () => {
      const id = await authorized();
      const answer = await harness.post(`/control/charges/${id}/expire`);
      expect(answer.status).toBe(200);
      expect(chargeIn(answer)).toMatchObject({ status: 'voided', void_reason: 'expired', amount_captured: 0 });
      expect((await harness.post(`/charges/${id}/capture`, undefined, 'c1')).status).toBe(400);
      const declined = errorIn(await harness.charge('tok_declined')).charge;
      const pending = chargeIn(await harness.charge('tok_async')).id;
      const taken = chargeIn(await harness.charge('tok_ok')).id;
      for (const other of [id, declined, pending, taken]) {
        const before = await harness.get(`/charges/${other}`);
        expect(errorIn(await harness.post(`/control/charges/${other}/expire`)).code).toBe('charge_not_expirable');
        expect(await harness.get(`/charges/${other}`)).toEqual(before);
      }
      expect((await harness.post('/control/charges/ch_none/expire')).status).toBe(404);
    });

    test('returns 404 for an unknown charge', async () => {
      expect((await harness.get('/charges/ch_none')).status).toBe(404);
      expect((await harness.post('/charges/ch_none/refunds', {}, 'r1')).status).toBe(404);
    });
  });
}
