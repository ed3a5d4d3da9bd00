import type { Command } from 'commander';
import { DynamoDbActivity } from '../lambdas/activity/store/dynamodb-activity.ts';
import { defined } from '../lambdas/kernel/defined.ts';
import type { TenantId } from '../lambdas/kernel/ids.ts';
import { TenantMoves } from '../lambdas/tenants/store/tenant-moves.ts';
import { newestSettings, requireAuthority } from './authority.ts';
import { type ChosenDatabase, databasesOfSettings, readFile, withDatabase } from './database.ts';
import { openTables } from './deployment.ts';
import { CliFailure, ExitCode, endingOf, sentence } from './failure.ts';
import { readTenant } from './keys.ts';
import type { Session } from './session.ts';

interface Chosen {
  readonly to?: string;
  readonly abort?: boolean;
  readonly fromUrl?: string;
  readonly fromSecret?: string;
  readonly toUrl?: string;
  readonly toSecret?: string;
  readonly ca?: string;
}

const STOPPED = "The tenant's writes get 503 until the command is repeated, or the move is aborted with --abort.";

export function addMoveTenant(db: Command, session: Session): void {
  db.command('move-tenant')
    .description(
      'moves a tenant to another database, and answers writes of the tenant with 503 until the move is complete; can be repeated',
    )
    .argument('<tenant>', "the tenant's id", readTenant)
    .option('--to <name>', 'the name of the other database in the settings')
    .option('--abort', 'cancels a move that has not yet switched databases: writes continue in the current database')
    .option('--from-secret <id>', 'id of the secret with the credentials of the table owner in the current database')
    .option('--from-url <url>', 'or its connection URL')
    .option('--to-secret <id>', 'id of the secret with the credentials of the table owner in the other database')
    .option('--to-url <url>', 'or its connection URL')
    .option('--ca <file>', 'CA certificates (PEM), for example the RDS bundle', readFile)
    .action(async (tenant: TenantId, chosen: Chosen) =>
      moveTenantOf(session, await openTables(await session.aws()), tenant, chosen),
    );
}

/** @throws CliFailure when the move is refused or stays unfinished */
export async function moveTenantOf(
  session: Pick<Session, 'aws' | 'during' | 'operator' | 'show'>,
  opened: Awaited<ReturnType<typeof openTables>>,
  id: TenantId,
  { to, abort = false, ca, ...owners }: Chosen,
): Promise<void> {
  if ((to === undefined) !== abort) throw new CliFailure(ExitCode.usage, 'Use either --to or --abort.');
  const { client, tables, pacing } = opened;
  await requireAuthority({ client, tables, pacing }, 'postgres');
  const databases = databasesOfSettings(await newestSettings(opened));
  const named = (name: string): ChosenDatabase => {
    const found = databases.find((each) => each.name === name);
    if (found !== undefined) return found.chosen;
    throw new CliFailure(
      ExitCode.usage,
      `${name === to ? '--to ' : ''}${name} is not a database of the settings: ${databases.map((each) => each.name).join(', ')}.`,
    );
  };
  const { MoveRefused, moveTenant, planMove } = await import('../lambdas/authority/move-tenant.ts');
  const { MoveReplaced } = await import('../lambdas/authority/store/postgres-tenant-rows.ts');
  const moves = new TenantMoves(client, tables.registry, pacing);
  const readPlace = async () => {
    const place = await moves.read(id);
    if (place === undefined) throw new CliFailure(ExitCode.notFound, `There is no tenant ${id}.`);
    return place;
  };
  const place = await readPlace();
  const failed = async (error: unknown): Promise<never> => {
    const isExpected = error instanceof MoveRefused || error instanceof MoveReplaced;
    const given = isExpected ? new CliFailure(ExitCode.refused, sentence(error.message)) : error;
    if ((await readPlace()).move === undefined) throw given;
    const { sentence: reason = '', exitCode } = endingOf(given);
    throw new CliFailure(exitCode, `${reason} ${STOPPED}`);
  };
  try {
    const move = planMove(id, place, to);
    const from = ownerOf(named(move.from), { url: owners.fromUrl, secret: owners.fromSecret, ca });
    const target = ownerOf(named(move.to), { url: owners.toUrl, secret: owners.toSecret, ca });
    const actor = { by: 'command' as const, operator: session.operator };
    await new DynamoDbActivity(client, tables, pacing).record({
      chain: 'deployment',
      action: 'tenant.move_started',
      actor,
      about: [id],
      details: { from: move.from, to: move.to, ...(abort ? { aborted: 'true' } : {}) },
      occurredAtMs: pacing.clock.nowMs(),
    });
    await session.during('Moving', (progress) =>
      withDatabase(session, from, (source) =>
        withDatabase(session, target, (other) =>
          moveTenant({ client, tables, pacing, source, target: other, progress }, move),
        ),
      ),
    );
    const home = abort ? move.from : move.to;
    session.show({ tenant: id, database: home }, [`${id} is in ${home}. Its writes continue within a minute.`]);
  } catch (error) {
    await failed(error);
  }
}

/** Parts of the address that the secret lacks are taken from the settings. */
function ownerOf(
  settings: ChosenDatabase,
  {
    url,
    secret,
    ca,
  }: { readonly url?: string | undefined; readonly secret?: string | undefined; readonly ca?: string | undefined },
): ChosenDatabase {
  if (url !== undefined) return defined({ url, secret, ca });
  return { ...settings, ...defined({ secret, ca }) };
}
