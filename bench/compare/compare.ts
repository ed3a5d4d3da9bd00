import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { accessTo, type EmulatorAccess } from '../../local/emulator-environment.ts';
import type { LocalAws } from '../../local/local-aws.ts';
import { cloneTables } from '../../test/support/cloned-tables.ts';
import { measureEngine, measureOthers } from '../paths.ts';
import { installPeers } from '../peers.ts';
import { startPostgres } from '../postgres.ts';
import { bundleSubjects } from '../start.ts';
import {
  contendersOnDynamoDb,
  contendersOnPostgres,
  NAIVE,
  PAYONCE,
  POWERTOOLS,
  POWERTOOLS_WITH_KEY,
} from './contenders.ts';
import { runTrial, type Trial, type TrialSize } from './kill-test.ts';
import { Services } from './services.ts';

interface CompareOptions {
  readonly size: TrialSize;
  readonly progress: (text: string) => void;
}

export interface Comparison {
  readonly trials: readonly Trial[];
  /** Keyed by the program's name. Programs on PostgreSQL have no entry. */
  readonly units: ReadonlyMap<string, number | undefined>;
}

/**
 * First installs the libraries of the contenders on PostgreSQL.
 * @throws Error if a library cannot be installed, or a contender cannot be started
 */
export async function compare(
  aws: EmulatorAccess & Pick<LocalAws, 'tables'>,
  { size, progress }: CompareOptions,
): Promise<Comparison> {
  progress('the compared libraries');
  const peers = installPeers();
  const postgres = await startPostgres();
  const bundles = mkdtempSync(join(tmpdir(), 'payonce-compared-'));
  const client = new DynamoDBClient(accessTo(aws));
  try {
    bundleSubjects(bundles);
    const own = {
      ...aws,
      tables: await cloneTables(client, aws.tables, (table) => `compared-${table}-${process.pid}`),
    };
    const services = new Services(aws);
    const onDynamoDb = await contendersOnDynamoDb({ aws: own, services, bundles });
    const trials: Trial[] = [];
    for (const contender of [...onDynamoDb, ...contendersOnPostgres(postgres, peers)]) {
      progress(`${contender.name}, stopped at each call`);
      const around = { aws: own, services, postgres: contender.database === 'postgres' ? postgres : undefined };
      trials.push(await runTrial(contender, around, size));
    }
    return { trials, units: await requestUnits(accessTo(aws), own.tables) };
  } finally {
    client.destroy();
    rmSync(bundles, { recursive: true, force: true });
    await postgres.stop();
  }
}

async function requestUnits(config: DynamoDBClientConfig, tables: LocalAws['tables']): Promise<Comparison['units']> {
  const [payonce] = await measureEngine(config, tables);
  const [naive, powertools] = await measureOthers(config, tables);
  return new Map([
    [NAIVE, naive?.units],
    [POWERTOOLS, powertools?.units],
    [POWERTOOLS_WITH_KEY, powertools?.units],
    [PAYONCE, payonce?.units],
  ]);
}
