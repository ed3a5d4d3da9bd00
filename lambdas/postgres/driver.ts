import './require.ts';

export { DatabaseError, escapeIdentifier, Pool, type PoolClient, TypeOverrides, types } from 'pg';
