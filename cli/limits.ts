import { type Command, InvalidArgumentError, Option } from 'commander';
import { HIGHEST_LIMIT, type RateLimit } from '../lambdas/kernel/contract/limits.ts';
import type { Mode, TenantId } from '../lambdas/kernel/ids.ts';
import { LIMIT_KINDS, type LimitKind, type TenantLimit } from '../lambdas/tenants/limits.ts';
import { LimitAdministration } from '../lambdas/tenants/store/limit-administration.ts';
import { openTables } from './deployment.ts';
import { readTenant, throwUnknownTenant } from './keys.ts';
import { type Session, table } from './session.ts';

interface TenantOptions {
  readonly tenant: TenantId;
  readonly mode: Mode;
}

export function addLimits(program: Command, session: Session): void {
  const limits = program.command('limits').description('lists and changes the request limits of a tenant');
  const open = async (): Promise<LimitAdministration> => {
    const { client, tables } = await openTables(await session.aws());
    return new LimitAdministration(client, tables, session.operator);
  };
  const ofTenant = (name: string, description: string) =>
    limits
      .command(name)
      .description(description)
      .requiredOption('--tenant <id>', 'the tenant', readTenant)
      .addOption(new Option('--mode <mode>', 'the mode of the requests').choices(['test', 'live']).default('test'));
  const ofKind = (name: string, description: string) =>
    ofTenant(name, description).addOption(
      new Option('--kind <kind>', 'the kind of request').choices(LIMIT_KINDS).makeOptionMandatory(),
    );
  const show = (shown: readonly TenantLimit[], { tenant, mode }: TenantOptions) => {
    const rows = shown.map(({ kind, own }) =>
      own === undefined ? [kind, 'as deployed', 'as deployed'] : [kind, String(own.rate), String(own.burst)],
    );
    session.show({ tenant, mode, data: shown }, table(['KIND', 'RATE', 'BURST'], rows));
  };

  ofTenant('list', 'lists the limits of a tenant, in requests per second').action(async (of: TenantOptions) =>
    show(await (await open()).list({ tenantId: of.tenant, mode: of.mode }), of),
  );

  ofKind('set', 'sets a limit for one tenant')
    .requiredOption('--rate <number>', 'requests per second', readNumber)
    .requiredOption('--burst <number>', 'maximum burst of requests after a pause', readNumber)
    .action(async ({ kind, rate, burst, ...of }: TenantOptions & RateLimit & { kind: LimitKind }) => {
      await (await open()).set({ tenantId: of.tenant, mode: of.mode, kind }, { rate, burst }).catch(throwUnknownTenant);
      show([{ kind, own: { rate, burst } }], of);
    });

  ofKind('reset', 'resets a tenant to the limit of the deployment').action(
    async ({ kind, ...of }: TenantOptions & { kind: LimitKind }) => {
      await (await open()).set({ tenantId: of.tenant, mode: of.mode, kind }, undefined).catch(throwUnknownTenant);
      show([{ kind }], of);
    },
  );
}

function readNumber(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text) || Number(text) > HIGHEST_LIMIT)
    throw new InvalidArgumentError(`${text} is not a whole number from 1 to ${HIGHEST_LIMIT}.`);
  return Number(text);
}
