import { Environment } from '../../../lambdas/kernel/contract/environment.ts';
import { PartiesEnvironment } from '../../../lambdas/orders/contract.ts';
import type { Deployment } from './account.ts';
import type { Settings } from './contract.ts';
import { Address, Secret, VARIABLES } from './functions.ts';
import { REGISTRY, registryWithout } from './processors.ts';

export function deploymentOf(settings: Settings): Deployment {
  const { defaultProcessor, routes, clockSkewMs, approvals, emailsADay, without } = settings;
  return {
    variables: {
      ...VARIABLES,
      [PartiesEnvironment.emailsPerRecipient]: String(emailsADay),
      ...(approvals === undefined
        ? {}
        : {
            [Environment.approvals]: JSON.stringify({
              aboveMinor: { '*': approvals.aboveMinor },
              lifetimeMs: approvals.lifetimeMs,
            }),
          }),
      TEST_SECOND_URL: Address.second,
      TEST_SECOND_ACCESS_SECRET_ID: Secret.sandbox,
      SECOND_URL: Address.live,
      SECOND_ACCESS_SECRET_ID: Secret.live,
      [Environment.processorRoutes]: JSON.stringify([
        ...[...routes, { processor: defaultProcessor }].map((rule) => ({ mode: 'test', ...rule })),
        { mode: 'live', processor: 'second' },
      ]),
    },
    processors: without === undefined ? REGISTRY : registryWithout(without),
    clockSkewMs,
  };
}
