import { describe, expect, test } from '@jest/globals';
import * as z from 'zod';
import { itemSchema } from '../../lambdas/kernel/platform/items.ts';

interface Money {
  readonly amountMinor: number;
  readonly note?: string;
}

describe('the schema of an item', () => {
  test('reads each field of its type', () => {
    const item = itemSchema<Money>()({ amountMinor: z.int(), note: z.string().exactOptional() });
    const read: Money = item.parse({ amountMinor: 1, note: 'two', pk: 'left out' });
    expect(read).toEqual({ amountMinor: 1, note: 'two' });
  });

  test('does not compile if a required or optional field of its type is missing, or if a field is unknown', () => {
    // @ts-expect-error a field that is optional is missing: it would be lost when the row is read
    itemSchema<Money>()({ amountMinor: z.int() });
    // @ts-expect-error a field that is required is missing
    itemSchema<Money>()({ note: z.string().exactOptional() });
    // @ts-expect-error the type has no such field
    itemSchema<Money>()({ amountMinor: z.int(), note: z.string().exactOptional(), currency: z.string() });
    expect.assertions(0);
  });
});
