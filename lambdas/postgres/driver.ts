// This import is first, because the driver needs it while it loads.
import './require.ts';

export { escapeIdentifier, Pool, type PoolClient, TypeOverrides, types } from 'pg';
