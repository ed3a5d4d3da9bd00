import { beforeEach, describe, expect, test } from '@jest/globals';
import type { SendClaimResult, SendingClaims, SendingOwner } from '../../lambdas/outbound/use/sending-claims.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

const LEASE_MS = 25_000;
const AT_ONCE = 20;

/** `make` returns a store that uses the given clock and that several processes share. */
export function describeSendingClaims(name: string, make: (clock: SimulatedClock) => Promise<SendingClaims>): void {
  let clock: SimulatedClock;
  let claims: SendingClaims;
  let key: string;

  beforeEach(async () => {
    clock = new SimulatedClock();
    claims = await make(clock);
    key = `letter-${crypto.randomUUID()}`;
  });

  const begin = () => claims.begin(key, LEASE_MS);
  const owned = (claim: SendClaimResult): SendingOwner => {
    if (claim.kind !== 'ours' && claim.kind !== 'sending_before')
      throw new Error(`unexpected kind of claim: ${claim.kind}`);
    return { key, owner: claim.owner };
  };
  const beginOwned = async () => owned(await begin());
  const endLease = () => clock.advance(LEASE_MS);

  describe(`the ${name} sending claims`, () => {
    test("let one owner send, and report the end of that owner's lease to the other processes", async () => {
      const leaseExpiresAtMs = clock.nowMs() + LEASE_MS;
      expect(await begin()).toMatchObject({ kind: 'ours' });
      clock.advance(LEASE_MS - 1);
      expect(await begin()).toEqual({ kind: 'sending', leaseExpiresAtMs });
    });

    test(`let one of ${AT_ONCE} concurrent processes send`, async () => {
      const kinds = (await Promise.all(Array.from({ length: AT_ONCE }, begin))).map(({ kind }) => kind);
      expect(kinds.filter((kind) => kind === 'ours')).toHaveLength(1);
      expect(kinds.filter((kind) => kind === 'sending')).toHaveLength(AT_ONCE - 1);
    });

    test('report to a new owner the time until which the earlier owner may have sent', async () => {
      const before = await beginOwned();
      const mayHaveSentUntilMs = clock.nowMs() + LEASE_MS;
      endLease();
      const taken = await begin();
      expect(taken).toMatchObject({ kind: 'sending_before', mayHaveSentUntilMs });
      expect(owned(taken).owner).not.toBe(before.owner);
    });

    test(`let one of ${AT_ONCE} concurrent processes take over`, async () => {
      await begin();
      endLease();
      const kinds = (await Promise.all(Array.from({ length: AT_ONCE }, begin))).map(({ kind }) => kind);
      expect(kinds.filter((kind) => kind === 'sending_before')).toHaveLength(1);
      expect(kinds.filter((kind) => kind === 'sending')).toHaveLength(AT_ONCE - 1);
    });

    test('keep the first vendor id permanently', async () => {
      const claim = await beginOwned();
      await claims.sent(key, 'vendor-1');
      await claims.sent(key, 'vendor-2');
      await claims.release(claim, 'nothing_sent');
      await claims.release(claim, 'unknown');
      clock.advance(10 * 365 * 24 * 60 * 60 * 1_000);
      expect(await begin()).toEqual({ kind: 'sent', vendorId: 'vendor-1' });
      expect(await claims.sendAgain(claim)).toBe(false);
    });

    test('can be marked as sent by any process', async () => {
      await claims.sent(key, 'vendor-1');
      expect(await begin()).toEqual({ kind: 'sent', vendorId: 'vendor-1' });
    });

    test('are removed if it is proven that nothing was sent', async () => {
      await claims.release(await beginOwned(), 'nothing_sent');
      expect(await begin()).toMatchObject({ kind: 'ours' });
    });

    test('allow a takeover immediately after an owner gave up with an unknown outcome', async () => {
      const claim = await beginOwned();
      clock.advance(1_000);
      await claims.release(claim, 'unknown');
      const mayHaveSentUntilMs = clock.nowMs();
      expect(await begin()).toMatchObject({ kind: 'sending_before', mayHaveSentUntilMs, isOver: true });
    });

    test('keep the time of the first send while later owners have sent nothing', async () => {
      await begin();
      const mayHaveSentUntilMs = clock.nowMs() + LEASE_MS;
      for (let takeover = 1; takeover <= 3; takeover += 1) {
        endLease();
        const taken = await begin();
        expect(taken).toMatchObject({ kind: 'sending_before', mayHaveSentUntilMs, isOver: false });
        clock.advance(1);
        await claims.release(owned(taken), 'unknown');
      }
      expect(await begin()).toMatchObject({ kind: 'sending_before', mayHaveSentUntilMs, isOver: false });
    });

    test('keep the recorded end of a send across takeovers, until an owner sends again', async () => {
      await claims.release(await beginOwned(), 'unknown');
      const second = await beginOwned();
      await claims.release(second, 'unknown');
      const third = await begin();
      expect(third).toMatchObject({ kind: 'sending_before', isOver: true });
      await claims.sendAgain(owned(third));
      endLease();
      expect(await begin()).toMatchObject({ kind: 'sending_before', isOver: false });
    });

    test("extend the time of a possible send to the end of a new owner's lease when that owner announces its send", async () => {
      await begin();
      endLease();
      const second = await beginOwned();
      const mayHaveSentUntilMs = clock.nowMs() + LEASE_MS;
      expect(await claims.sendAgain(second)).toBe(true);
      endLease();
      expect(await begin()).toMatchObject({ kind: 'sending_before', mayHaveSentUntilMs });
    });

    test('prevent an owner that lost its claim from sending or releasing', async () => {
      const first = await beginOwned();
      endLease();
      const leaseExpiresAtMs = clock.nowMs() + LEASE_MS;
      await begin();
      expect(await claims.sendAgain(first)).toBe(false);
      await claims.release(first, 'nothing_sent');
      await claims.release(first, 'unknown');
      expect(await begin()).toEqual({ kind: 'sending', leaseExpiresAtMs });
    });

    test('are independent for different operation keys', async () => {
      await claims.sent(key, 'vendor-1');
      expect(await claims.begin(`${key}x`, LEASE_MS)).toMatchObject({ kind: 'ours' });
    });
  });
}
