// First, because the driver needs it while it is loaded.
import './require.ts';

export { escapeIdentifier, Pool, type PoolClient, TypeOverrides, types } from 'pg';
