import { beforeEach, describe, expect, test } from '@jest/globals';
import type { DeadLetter, DeadLetterStore, TakenDeadLetter } from '../../lambdas/outbound/use/dead-letters.ts';

export interface DeadLetterStoreUnderTest {
  readonly box: DeadLetterStore;
  readonly putUnreadable: () => Promise<void>;
}

/** `make` returns an empty store. */
export function describeDeadLetterStore(name: string, make: () => Promise<DeadLetterStoreUnderTest>): void {
  let box: DeadLetterStore;
  let putUnreadable: () => Promise<void>;
  beforeEach(async () => {
    ({ box, putUnreadable } = await make());
  });

  const deadLetterTo = (to: string): DeadLetter => ({
    vendor: 'postmark',
    operation: 'email.send',
    payload: { messageId: 'op_1', to, metadata: { größe: '1 €' } },
    attempts: 3,
    reason: 'postmark_account',
    mayBeApplied: false,
  });
  /** One `take` may return only some of the dead letters. */
  const takeAll = async (): Promise<readonly TakenDeadLetter[]> => {
    const all: TakenDeadLetter[] = [];
    for (let page = 1; page <= 30; page += 1) {
      const taken = await box.take(10);
      if (taken.length === 0) return all;
      all.push(...taken);
    }
    throw new Error('the store does not become empty');
  };

  describe(`the ${name} dead-letter store`, () => {
    test('gives a stored dead letter to only one receiver', async () => {
      await box.put(deadLetterTo('ada@example.com'));
      const [first, second] = await Promise.all([takeAll(), takeAll()]);
      const taken = [...first, ...second];
      expect(taken.map(({ deadLetter }) => deadLetter)).toEqual([deadLetterTo('ada@example.com')]);
      expect(taken[0]?.keptSinceMs).toBeGreaterThan(0);
    });

    test('returns at most the requested number of dead letters, and never more than ten', async () => {
      for (let put = 0; put < 12; put += 1) await box.put(deadLetterTo(`reader${put}@example.com`));
      expect(await box.take(1)).toHaveLength(1);
      expect((await box.take(50)).length).toBeLessThanOrEqual(10);
      await takeAll();
      expect(await box.take(10)).toEqual([]);
    });

    test('gives a returned dead letter to the next receiver immediately, with the same id', async () => {
      await box.put(deadLetterTo('ada@example.com'));
      const [taken] = await takeAll();
      if (taken === undefined) throw new Error('nothing was taken');
      await box.release(taken);
      const [again] = await takeAll();
      expect(again).toMatchObject({ id: taken.id, deadLetter: taken.deadLetter, keptSinceMs: taken.keptSinceMs });
    });

    test('removes a dead letter, and ignores a second removal', async () => {
      await box.put(deadLetterTo('ada@example.com'));
      await box.put(deadLetterTo('bob@example.com'));
      const [one, other] = await takeAll();
      if (one === undefined || other === undefined) throw new Error('fewer than two dead letters were taken');
      await box.remove(one);
      await box.remove(one);
      await box.release(other);
      expect((await takeAll()).map(({ id }) => id)).toEqual([other.id]);
    });

    test('stores one copy of a dead letter for each put', async () => {
      await box.put(deadLetterTo('ada@example.com'));
      await box.put(deadLetterTo('ada@example.com'));
      expect(await takeAll()).toHaveLength(2);
    });

    test('returns an unreadable message without a dead letter, and does not remove the message', async () => {
      await putUnreadable();
      const [taken] = await takeAll();
      if (taken === undefined) throw new Error('nothing was taken');
      expect(taken.deadLetter).toBeUndefined();
      await box.release(taken);
      expect(await takeAll()).toMatchObject([{ id: taken.id }]);
    });
  });
}
