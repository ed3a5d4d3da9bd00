import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import type { RepublishAnswer, RepublishRequest } from '../lambdas/events/contract.ts';
import { CliFailure, ExitCode } from './failure.ts';

/** Without progress, this often: the bus is down. */
const MAX_STANDSTILLS = 5;

/**
 * Publishes a range again, run after run, until all of it is done.
 *
 * @param told after each run
 * @throws CliFailure when the function failed, or makes no progress
 */
export async function republishRange(
  client: LambdaClient,
  functionName: string,
  range: RepublishRequest,
  told: (answer: RepublishAnswer) => void,
): Promise<Required<Omit<RepublishAnswer, 'nextMs'>>> {
  let { sinceMs } = range;
  let found = 0;
  let published = 0;
  let unpublishable = 0;
  for (let standstills = 0; standstills < MAX_STANDSTILLS; ) {
    const answer = await invoke<RepublishAnswer>(client, functionName, { ...range, sinceMs });
    told(answer);
    found += answer.found;
    published += answer.published;
    unpublishable += answer.unpublishable ?? 0;
    if (answer.nextMs === undefined) return { found, published, unpublishable };
    standstills = answer.nextMs > sinceMs ? 0 : standstills + 1;
    sinceMs = answer.nextMs;
  }
  throw new CliFailure(
    ExitCode.incomplete,
    `The bus does not take events: go on later with --created-from ${Math.floor(sinceMs / 1000)}.`,
  );
}

/** @throws CliFailure with the function's own words when it failed */
export async function invoke<Answer>(client: LambdaClient, functionName: string, payload: unknown): Promise<Answer> {
  const { FunctionError, Payload } = await client.send(
    new InvokeCommand({ FunctionName: functionName, Payload: JSON.stringify(payload) }),
  );
  const answer = JSON.parse(Buffer.from(Payload ?? []).toString('utf8')) as unknown;
  if (FunctionError === undefined) return answer as Answer;
  const { errorMessage = FunctionError } = answer as { errorMessage?: string };
  throw new CliFailure(ExitCode.refused, `The function ${functionName} failed: ${errorMessage}`);
}
