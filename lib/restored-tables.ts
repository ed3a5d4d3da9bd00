import * as z from 'zod';

/** A table that was restored from a backup and replaces a declared table, in the same account and region. */
export interface RestoredTable {
  readonly name: string;
  /** @default the table has no Stream */
  readonly streamArn?: string;
}

const name = z.string().regex(/^[A-Za-z0-9_.-]{3,255}$/);

/**
 * The name of a restored Ledger must contain "Ledger", because the policy rules recognize the table by its name
 * (lib/policies/payonce-rules.ts).
 */
const restoredTables = z
  .strictObject({
    idempotency: name.exactOptional(),
    ledger: name.includes('Ledger').exactOptional(),
    ledgerStream: z.string().startsWith('arn:').exactOptional(),
    registry: name.exactOptional(),
    views: name.exactOptional(),
  })
  .refine(({ ledger, ledgerStream }) =>
    ledger === undefined ? ledgerStream === undefined : ledgerStream?.includes(`:table/${ledger}/stream/`) === true,
  )
  .refine((tables) => Object.keys(tables).length > 0);

export type RestoredTables = z.infer<typeof restoredTables>;

export const RESTORED_TABLES_RULE = {
  allowed:
    'a JSON object that maps idempotency, ledger, registry or views to the name of a table; the name of the Ledger contains Ledger, and ledgerStream is the ARN of its Stream',
  read: (given: unknown): RestoredTables | undefined => {
    try {
      return restoredTables.safeParse(typeof given === 'string' ? JSON.parse(given) : given).data;
    } catch {
      return undefined;
    }
  },
};

export function restoredOf({ idempotency, ledger, ledgerStream: streamArn, registry, views }: RestoredTables = {}) {
  const named = (table: string | undefined): RestoredTable | undefined =>
    table === undefined ? undefined : { name: table };
  return {
    idempotency: named(idempotency),
    ledger: ledger === undefined || streamArn === undefined ? undefined : { name: ledger, streamArn },
    registry: named(registry),
    views: named(views),
  };
}
