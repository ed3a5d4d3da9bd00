import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from '../kernel/faults.ts';
import type { StoreTables } from '../once/store/transact-items.ts';
import { CARRY_SERVICE } from '../postgres/contract.ts';
import { TenantShards } from '../tenants/store/tenant-shards.ts';
import { carryJob } from './carry-job.ts';
import { databasesOf, type PostgresSettings, STATE_VALID_MS } from './contract.ts';
import { type AuthorityPlatform, openStores, type PostgresAuthority, sharedParts } from './postgres-authority.ts';
import { shardedStores } from './sharded-stores.ts';
import { Shards } from './shards.ts';

/**
 * Maximum time for which a list or a look-up waits for the other databases after the first response, in milliseconds.
 * The shortest time limit of a request is several times longer.
 */
const OTHERS_MS = 2_000;

/** Each database has one connection, which opens at its first use. */
export function openShardedAuthority(
  platform: AuthorityPlatform,
  tables: StoreTables,
  settings: PostgresSettings,
): PostgresAuthority {
  const { documents, clock, entropy, instruments } = platform;
  const [ofFirst, ...ofOthers] = databasesOf(settings);
  const names = [ofFirst, ...ofOthers].map(({ name }) => name);
  const open = ({ name, settings: own }: typeof ofFirst) => ({
    name,
    ...openStores(platform, tables, own, { name, names }),
  });
  const first = open(ofFirst);
  const others = ofOthers.map(open);
  const logger = instruments.logger(CARRY_SERVICE);
  const shards = new Shards({
    databases: [first, ...others],
    tenants: new TenantShards(documents, tables.registry, { clock, entropy }, STATE_VALID_MS),
    waitForOthers: platform.waitForOthers ?? (() => sleep(OTHERS_MS, undefined, { ref: false })),
    unavailable: (shard, error) => logger.error('database_unavailable', { shard, error: codeOf(error) }),
  });
  return {
    ...shardedStores(shards),
    carryJob: (marks) => carryJob({ ...first.outbox, others: others.map(({ outbox }) => outbox), marks }),
    ...sharedParts(platform, tables),
  };
}
