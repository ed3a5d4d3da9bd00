import * as z from 'zod';
import { Environment } from '../kernel/contract/environment.ts';
import { tenantId } from '../kernel/ids.ts';
import { jsonOf, queueUrl, readVariables, type Variables } from '../kernel/platform/variables.ts';
import type { Owner } from '../tenants/owners.ts';
import { IntakeEnvironment, type IntakeSettings } from './contract.ts';

export interface IntakeConfig {
  readonly oldestMs: number;
  readonly senders: ReadonlyMap<string, Owner>;
  /** Maps the ARN of each single-sender queue to its sender. */
  readonly queues: ReadonlyMap<string, string>;
  readonly queueUrl: string;
  readonly parkingQueueUrl: string;
}

const text = z.string().min(1);
const settings: z.ZodType<IntakeSettings> = z.strictObject({
  oldestHours: z.int().min(1),
  senders: z.array(z.strictObject({ sender: text, tenant: text, mode: z.enum(['test', 'live']) })),
  queues: z.array(z.strictObject({ arn: text, sender: text })),
});

const environment = z.object({
  [IntakeEnvironment.settings]: jsonOf(settings),
  [IntakeEnvironment.queueUrl]: queueUrl,
  [Environment.parkingQueueUrl]: queueUrl,
});

/** @throws Error naming the variable that is missing or wrong */
export function readIntakeConfig(variables: Variables): IntakeConfig {
  const data = readVariables(environment, variables);
  const { oldestHours, senders, queues } = data[IntakeEnvironment.settings];
  return {
    oldestMs: oldestHours * 60 * 60 * 1000,
    senders: new Map(senders.map(({ sender, tenant, mode }) => [sender, { tenantId: tenantId(tenant), mode }])),
    queues: new Map(queues.map(({ arn, sender }) => [arn, sender])),
    queueUrl: data[IntakeEnvironment.queueUrl],
    parkingQueueUrl: data[Environment.parkingQueueUrl],
  };
}
