import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Books } from '../../sandbox/books.ts';
import { whole } from '../support/slice.ts';
import { bookCharges, chargeWith, eventOfCharge, newChargeId } from './booked-charges.ts';
import { chargeIn, disputeIn, errorIn, eventIn, listIn, refundIn, sandboxHarness } from './sandbox-harness.ts';
import { createTestSandbox, SANDBOX_START_MS, type TestSandbox } from './sandbox-world.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;

export function describeSandboxEvents(booksKind: string, createBooks: () => Promise<Books>): void {
  describe(`the sandbox’s events (${booksKind} store)`, () => {
    let books: Books;
    let sandbox: TestSandbox;
    let harness: ReturnType<typeof sandboxHarness>;

    beforeEach(async () => {
      books = await createBooks();
      sandbox = createTestSandbox(books);
      harness = sandboxHarness(sandbox.handler);
    });

    const captured = async () => chargeIn(await harness.charge('tok_ok')).id;
    const taskEventIds = () =>
      sandbox.queued
        .map(({ body }) => JSON.parse(body) as { eventId?: string })
        .flatMap(({ eventId }) => eventId ?? []);

    describe('changes and their events are stored atomically:', () => {
      test('a new charge is written together with its event; if its key is already claimed, neither is written', async () => {
        const request = { key: crypto.randomUUID(), fingerprint: 'f' };
        const [winner, loser] = [chargeWith(newChargeId()), chargeWith(newChargeId())];
        const [first, second] = [eventOfCharge(winner.id), eventOfCharge(loser.id)];
        expect(await books.add(winner, first, request, SANDBOX_START_MS)).toBe('added');
        expect(await books.add(loser, second, request, SANDBOX_START_MS)).toBe('key_taken');
        expect(await books.event(first.id)).toEqual({ event: first, attempts: 0, delivered: false });
        expect(await books.eventsOfCharge(winner.id)).toHaveLength(1);
        expect(await books.charge(loser.id)).toBeUndefined();
        expect(await books.event(second.id)).toBeUndefined();
        expect(await books.eventsOfCharge(loser.id)).toEqual([]);
      });

      test('a change is written together with its events and index rows; if there is a conflict, nothing is written', async () => {
        const charge = chargeWith(newChargeId());
        await books.add(charge, eventOfCharge(charge.id), undefined, SANDBOX_START_MS);
        const seen = { charge, version: 1 };
        const refund = (refundId: string) => ({
          id: refundId,
          object: 'refund' as const,
          charge: charge.id,
          amount: 1,
          status: 'succeeded' as const,
          metadata: {},
        });
        const [mine, late] = [eventOfCharge(charge.id), eventOfCharge(charge.id)];
        const [one, other] = [crypto.randomUUID(), crypto.randomUUID()];
        const changed = { ...charge, refunds: [refund(one)] };
        expect(await books.change(seen, { charge: changed, events: [mine] })).toBe('changed');
        expect(await books.change(seen, { charge: { ...charge, refunds: [refund(other)] }, events: [late] })).toBe(
          'conflict',
        );
        expect(await books.charge(charge.id)).toEqual({ charge: changed, version: 2 });
        expect((await books.eventsOfCharge(charge.id)).map(({ event: { id: found } }) => found)).toContain(mine.id);
        expect(await books.event(late.id)).toBeUndefined();
        expect(await books.chargeOfPart(one)).toBe(charge.id);
        expect(await books.chargeOfPart(other)).toBeUndefined();
      });

      test('an operation that was already applied with its key creates no second event', async () => {
        const charge = chargeWith(newChargeId());
        await books.add(charge, eventOfCharge(charge.id), undefined, SANDBOX_START_MS);
        const operation = { key: 'k', fingerprint: 'f', body: '{}', appliedAtMs: SANDBOX_START_MS };
        const [first, again] = [eventOfCharge(charge.id), eventOfCharge(charge.id)];
        expect(await books.change({ charge, version: 1 }, { charge, events: [first], operation })).toBe('changed');
        expect(await books.change({ charge, version: 2 }, { charge, events: [again], operation })).toBe('conflict');
        expect(await books.event(again.id)).toBeUndefined();
      });

      test('of twenty concurrent requests with one key, one creates an event; the tasks that the others queued find no event', async () => {
        const key = crypto.randomUUID();
        const answers = await Promise.all(Array.from({ length: 20 }, () => harness.charge('tok_ok', {}, key)));
        const [{ id: chargeId } = { id: '' }] = answers.map(chargeIn);
        const [event1, ...more] = await harness.events(chargeId);
        expect(more).toEqual([]);
        const found = await Promise.all(taskEventIds().map((eventId) => books.event(eventId)));
        expect(found.filter((booked) => booked !== undefined).map(({ event: { id: eventId } }) => eventId)).toEqual([
          event1?.id,
        ]);
      });

      test('of four concurrent refunds, each applied one has one event, and each refused one has none', async () => {
        const chargeId = await captured();
        const answers = await Promise.all(
          Array.from({ length: 4 }, () =>
            harness.post(`/charges/${chargeId}/refunds`, { amount: 700 }, crypto.randomUUID()),
          ),
        );
        const refunds = answers.filter(({ status }) => status === 201).map((answer) => refundIn(answer).id);
        expect(refunds).toHaveLength(2);
        const events = (await harness.events(chargeId)).slice(1);
        expect(events.map(({ type }) => type)).toEqual(['refund.created', 'refund.created']);
        expect(new Set(events.map(({ data }) => data.refund))).toEqual(new Set(refunds));
        expect((await harness.read(chargeId)).refunds.map(({ id: refundId }) => refundId)).toEqual(
          events.map(({ data }) => data.refund),
        );
      });

      test('every event has its delivery on the queue', async () => {
        const chargeId = await captured();
        await harness.post(`/charges/${chargeId}/refunds`, { amount: 1 });
        const ids = (await harness.events(chargeId)).map(({ id: eventId }) => eventId);
        expect(taskEventIds()).toEqual(ids);
      });
    });

    describe('the recorded events:', () => {
      test('an event contains the id of its payment, or null if the charge has no payment', async () => {
        const { id } = chargeIn(await harness.charge('tok_ok', { metadata: { payment: 'pay_7' } }));
        expect(await harness.events(id)).toEqual([
          {
            id: expect.stringMatching(/^evt_/),
            object: 'event',
            type: 'charge.succeeded',
            livemode: false,
            created: SANDBOX_START_MS / 1_000,
            data: { charge: id, payment: 'pay_7' },
            attempts: 0,
            delivered: false,
          },
        ]);
        const other = chargeIn(await harness.charge('tok_ok', { metadata: {} })).id;
        expect((await harness.events(other))[0]?.data).toEqual({ charge: other, payment: null });
      });

      test('a decline, an authorization, a capture and a void each create an event', async () => {
        const declined = errorIn(await harness.charge('tok_declined')).charge ?? '';
        expect(await harness.types(declined)).toEqual(['charge.declined']);
        const first = chargeIn(await harness.charge('tok_ok', { capture: 'manual' })).id;
        await harness.post(`/charges/${first}/capture`, { amount: 5 });
        expect(await harness.types(first)).toEqual(['charge.authorized', 'charge.succeeded']);
        const second = chargeIn(await harness.charge('tok_ok', { capture: 'manual' })).id;
        expect(chargeIn(await harness.post(`/charges/${second}/void`)).void_reason).toBe('requested');
        expect(await harness.types(second)).toEqual(['charge.authorized', 'charge.voided']);
      });

      test('a refused operation creates no event', async () => {
        const id = await captured();
        await harness.post(`/charges/${id}/refunds`, { amount: 2_000 });
        await harness.post(`/charges/${id}/void`);
        expect(await harness.types(id)).toEqual(['charge.succeeded']);
      });

      test('the list for an unknown charge is empty, and a list request without a charge gets 400', async () => {
        expect(await harness.events('ch_none')).toEqual([]);
        expect((await harness.get('/events')).status).toBe(400);
      });

      test('delivery attempts are counted, and a delivered event stays delivered when a later attempt fails', async () => {
        const id = await captured();
        const [event] = await harness.events(id);
        await books.noteDelivery(event?.id ?? '', 1, false);
        await books.noteDelivery(event?.id ?? '', 2, true);
        await books.noteDelivery(event?.id ?? '', 1, false);
        expect(await harness.events(id)).toEqual([{ ...event, attempts: 4, delivered: true }]);
      });
    });

    describe('failed refunds', () => {
      test('release their amount once, so that it can be refunded again', async () => {
        const id = await captured();
        const refund = refundIn(await harness.post(`/charges/${id}/refunds`, { amount: 1_500 }));
        await harness.post(`/charges/${id}/refunds`, { amount: 100 });
        const failed = await harness.post(`/control/refunds/${refund.id}/fail`);
        expect(failed.status).toBe(200);
        expect(refundIn(failed)).toEqual({ ...refund, status: 'failed' });
        expect(await harness.post(`/control/refunds/${refund.id}/fail`)).toEqual(failed);
        const charge = await harness.read(id);
        expect(charge).toMatchObject({ status: 'succeeded', amount_refunded: 100 });
        expect(charge.refunds.map(({ amount, status }) => [amount, status])).toEqual([
          [1_500, 'failed'],
          [100, 'succeeded'],
        ]);
        const events = await harness.events(id);
        expect(events.map(({ type }) => type)).toEqual([
          'charge.succeeded',
          'refund.created',
          'refund.created',
          'refund.failed',
        ]);
        expect(events.at(-1)?.data.refund).toBe(refund.id);
        expect((await harness.post(`/charges/${id}/refunds`, { amount: 1_899 })).status).toBe(201);
      });
    });

    test('a request to fail an unknown refund gets 404', async () => {
      expect((await harness.post('/control/refunds/re_none/fail')).status).toBe(404);
    });

    describe('disputes', () => {
      test('are opened for the full captured amount, and can be closed only once', async () => {
        const id = await captured();
        const opened = await harness.post(`/control/charges/${id}/dispute`);
        expect(opened.status).toBe(201);
        const dispute = disputeIn(opened);
        expect(dispute).toMatchObject({ object: 'dispute', charge: id, amount: 1_999, status: 'open' });
        const won = await harness.post(`/control/disputes/${dispute.id}/close`, { outcome: 'won' });
        expect(won.status).toBe(200);
        expect(disputeIn(won)).toEqual({ ...dispute, status: 'won' });
        expect(await harness.post(`/control/disputes/${dispute.id}/close`, { outcome: 'won' })).toEqual(won);
        const lost = await harness.post(`/control/disputes/${dispute.id}/close`, { outcome: 'lost' });
        expect([lost.status, errorIn(lost).code]).toEqual([400, 'invalid_request']);
        expect((await harness.read(id)).disputes).toEqual([disputeIn(won)]);
        const events = await harness.events(id);
        expect(events.map(({ type }) => type)).toEqual(['charge.succeeded', 'dispute.opened', 'dispute.closed']);
        expect(events.slice(1).map(({ data }) => data.dispute)).toEqual([dispute.id, dispute.id]);
      });

      test('are limited to the captured amount, less other open or lost disputes', async () => {
        const id = await captured();
        const first = disputeIn(await harness.post(`/control/charges/${id}/dispute`, { amount: 1_500 }));
        expect(errorIn(await harness.post(`/control/charges/${id}/dispute`, { amount: 500 })).code).toBe(
          'amount_too_large',
        );
        await harness.post(`/control/disputes/${first.id}/close`, { outcome: 'won' });
        expect((await harness.post(`/control/charges/${id}/dispute`, { amount: 500 })).status).toBe(201);
      });

      test('are refused if nothing was captured, and get 404 for an unknown charge', async () => {
        const { id } = chargeIn(await harness.charge('tok_ok', { capture: 'manual' }));
        expect(errorIn(await harness.post(`/control/charges/${id}/dispute`)).code).toBe('charge_not_disputable');
        expect((await harness.post('/control/charges/ch_none/dispute')).status).toBe(404);
        expect((await harness.post('/control/disputes/dp_none/close', { outcome: 'won' })).status).toBe(404);
      });
    });

    describe('a resend of an event', () => {
      test('queues the event and creates no new event, if the same id is requested', async () => {
        const id = await captured();
        const [event] = await harness.events(id);
        const answer = await harness.post(`/control/events/${event?.id}/resend`, { id: 'same', copies: 3 });
        expect(answer.status).toBe(202);
        expect({ ...eventIn(answer), attempts: 0, delivered: false }).toEqual(event);
        expect(JSON.parse(sandbox.queued.at(-1)?.body ?? '')).toMatchObject({ eventId: event?.id, copies: 3 });
        expect(await harness.events(id)).toHaveLength(1);
      });

      test('appends an event with the same type and data, if a new id is requested', async () => {
        const id = await captured();
        await harness.post(`/charges/${id}/refunds`, { amount: 1 });
        const [, refunded] = await harness.events(id);
        const answer = await harness.post(`/control/events/${refunded?.id}/resend`, { id: 'new' });
        expect(answer.status).toBe(202);
        const made = eventIn(answer);
        expect(made).toMatchObject({ type: 'refund.created', data: refunded?.data });
        expect(made.id).not.toBe(refunded?.id);
        expect((await harness.events(id)).map(({ id: eventId }) => eventId).at(-1)).toBe(made.id);
        expect((await harness.read(id)).refunds).toHaveLength(1);
      });

      test.each([{ copies: 0 }, { copies: 11 }, { id: 'other' }, { extra: 1 }])('rejects %j with 400', async (body) => {
        const [event] = await harness.events(await captured());
        expect((await harness.post(`/control/events/${event?.id}/resend`, body)).status).toBe(400);
      });

      test('gets a 404 if the event is unknown', async () => {
        expect((await harness.post('/control/events/evt_none/resend')).status).toBe(404);
      });
    });

    describe('the list by time', () => {
      /** Each test uses a different year, because tests may share books. @returns the new time in Unix seconds */
      const startOf = (year: number) => {
        const startMs = Date.UTC(year, 5, 1);
        sandbox.advance(startMs - SANDBOX_START_MS);
        return startMs / 1_000;
      };
      const page = async (from: number, to: number, cursor?: string) =>
        listIn(
          await harness.get('/charges', {
            created_from: String(from),
            created_to: String(to),
            ...(cursor === undefined ? {} : { cursor }),
          }),
        );

      test('contains each charge once, oldest first, in pages of at most a hundred, across days', async () => {
        const start = startOf(2031);
        const made: string[] = [];
        const lengths = whole([100, 100, 50], { slice: [100, 10] });
        const count = lengths.reduce((sum, charges) => sum + charges, 0);
        while (made.length < count) {
          made.push(...(await bookCharges(books, 10, {}, sandbox.nowMs())));
          sandbox.advance(DAY_MS / 8);
        }
        const end = start + 31 * 24 * 60 * 60;
        const pages = [await page(start, end)];
        for (let { next } = pages[0] ?? { next: null }; next !== null && pages.length < 10; ) {
          const following = await page(start, end, next);
          pages.push(following);
          ({ next } = following);
        }
        expect(pages.map(({ data }) => data.length)).toEqual(lengths);
        const listed = pages.flatMap(({ data }) => data);
        expect(new Set(listed.map(({ id }) => id))).toEqual(new Set(made));
        expect(listed).toHaveLength(made.length);
        const times = listed.map(({ created }) => created);
        expect(times).toEqual(times.toSorted((a, b) => a - b));
      });

      test('includes its start second and excludes its end second', async () => {
        const start = startOf(2033);
        const first = chargeIn(await harness.charge('tok_ok')).id;
        sandbox.advance(1_000);
        const second = chargeIn(await harness.charge('tok_ok')).id;
        const idsOf = async (from: number, to: number) => (await page(from, to)).data.map(({ id }) => id);
        expect(await idsOf(start, start + 1)).toEqual([first]);
        expect(await idsOf(start + 1, start + 2)).toEqual([second]);
        expect(await idsOf(start - 1, start)).toEqual([]);
        expect(await idsOf(start, start)).toEqual([]);
        expect(await idsOf(start, start + 2)).toEqual([first, second]);
      });

      test('has no next page after a last page of exactly a hundred charges', async () => {
        const start = startOf(2035);
        for (let round = 0; round < 10; round += 1) await bookCharges(books, 10, {}, sandbox.nowMs());
        const { data, next } = await page(start, start + 1);
        expect([data.length, next]).toEqual([100, null]);
      });

      test('shows the current state of a charge', async () => {
        const start = startOf(2037);
        const { id } = chargeIn(await harness.charge('tok_ok', { capture: 'manual' }));
        await harness.post(`/charges/${id}/void`);
        expect((await page(start, start + 1)).data).toEqual([await harness.read(id)]);
      });
    });
  });
}
