import { expect, test } from '@jest/globals';
import { refuseForeignTable, refuseName } from '../../cli/rebuilding.ts';

const LEDGER = {
  TableName: 'Other-Ledger',
  KeySchema: [
    { AttributeName: 'pk', KeyType: 'HASH' as const },
    { AttributeName: 'sk', KeyType: 'RANGE' as const },
  ],
  GlobalSecondaryIndexes: [{ IndexName: 'recent-outcomes' }],
};

test('a rebuild accepts the table of an interrupted rebuild, which has a Ledger’s keys and indexes but no Stream', () => {
  expect(() => refuseForeignTable(LEDGER)).not.toThrow();
});

test.each(['payonce-ledger', 'Le', 'Ledger of mine'])(
  'no Ledger is created under the name %s, because no deployment could adopt it',
  (table) => {
    expect(() => refuseName(table)).toThrow(`${table} is not a valid name for a Ledger: it must contain Ledger`);
    expect(() => refuseName('PayonceData-Ledger-rebuilt')).not.toThrow();
  },
);

test('rows are never written into a table of another kind, or into a Ledger whose Stream would publish them', () => {
  const used = {
    ...LEDGER,
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' as const },
  };
  expect(() => refuseForeignTable(used)).toThrow('Other-Ledger has a Stream');
  expect(() => refuseForeignTable({ ...LEDGER, GlobalSecondaryIndexes: [] })).toThrow('is not a Ledger');
  expect(() => refuseForeignTable({ ...LEDGER, KeySchema: LEDGER.KeySchema.slice(0, 1) })).toThrow('is not a Ledger');
});
