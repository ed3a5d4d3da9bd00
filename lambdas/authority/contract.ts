/** Where the functions find the PostgreSQL database. An absent value is in the secret. */
export interface PostgresSettings {
  /** A secret of Secrets Manager with username and password, and possibly host, port and dbname. */
  readonly secretId: string;
  readonly host?: string;
  readonly port?: number;
  readonly database?: string;
}

/** The functions that read or write the authority: those that call `configuredAuthority`. */
export const AUTHORITY_FUNCTIONS: readonly string[] = [
  'callbacks',
  'dead-letters',
  'ledger',
  'orders',
  'payment-jobs',
  'payment-requests',
  'payments',
  'reads',
  'receipt-consumer',
  'upkeep-jobs',
];

/** JSON, `PostgresSettings`: the database that decides about money. Absent when DynamoDB decides. */
export const POSTGRES_AUTHORITY = 'POSTGRES_AUTHORITY';
