import { describe, expect, test } from '@jest/globals';
import { apiObject, everyField, shownField } from '../../lambdas/kernel/fields.ts';

interface Money {
  readonly amountMinor: number;
  readonly note?: string;
}

const shown = shownField<Money>();
const amount = shown(['amountMinor'], ({ amountMinor }) => amountMinor);
const note = shown(['note'], ({ note: text }) => text);

describe('everyField', () => {
  test('omits fields that are undefined', () => {
    expect(Object.keys(everyField<Money>({ amountMinor: 1, note: undefined }))).toEqual(['amountMinor']);
    expect(everyField<Money>({ amountMinor: 1, note: 'two' })).toEqual({ amountMinor: 1, note: 'two' });
  });

  test('does not compile if a required or optional field is missing, or if a required field is undefined', () => {
    // @ts-expect-error an optional field is missing
    everyField<Money>({ amountMinor: 1 });
    // @ts-expect-error a required field is missing
    everyField<Money>({ note: undefined });
    // @ts-expect-error a required field is undefined
    everyField<Money>({ amountMinor: undefined, note: 'two' });
    // @ts-expect-error the type has no such field
    everyField<Money>({ amountMinor: 1, note: 'two', currency: 'EUR' });
    expect.assertions(0);
  });
});

describe('an API object', () => {
  test('renders its fields in order, and omits undefined fields', () => {
    const { names, render } = apiObject<Money>()({ note, object: shown([], () => 'money'), amount });
    expect(names).toEqual(['note', 'object', 'amount']);
    expect(JSON.stringify(render({ amountMinor: 1, note: 'two' }))).toBe('{"note":"two","object":"money","amount":1}');
    expect(JSON.stringify(render({ amountMinor: 1 }))).toBe('{"object":"money","amount":1}');
  });

  test('compiles only if it shows every field of its type, including optional fields', () => {
    // @ts-expect-error an optional field is not shown
    apiObject<Money>()({ object: shown([], () => 'money'), amount });
    // @ts-expect-error a required field is not shown
    apiObject<Money>()({ object: shown([], () => 'money'), note });
    // @ts-expect-error the value is computed from a field that is not in the list
    shown(['note'], ({ amountMinor }) => amountMinor);
    expect.assertions(0);
  });
});
