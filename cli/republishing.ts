import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import type { RepublishAnswer, RepublishRequest } from '../lambdas/events/contract.ts';
import { CliFailure, ExitCode } from './failure.ts';

const MAX_STALLED_RUNS = 5;

/**
 * @param onAnswer called after each run
 * @throws CliFailure when the function fails or makes no progress
 */
export async function republishRange(
  client: LambdaClient,
  functionName: string,
  range: RepublishRequest,
  onAnswer: (answer: RepublishAnswer) => void,
): Promise<Required<Omit<RepublishAnswer, 'nextMs'>>> {
  let { sinceMs } = range;
  let found = 0;
  let published = 0;
  let unpublishable = 0;
  for (let standstills = 0; standstills < MAX_STALLED_RUNS; ) {
    const answer = await invoke<RepublishAnswer>(client, functionName, { ...range, sinceMs });
    onAnswer(answer);
    found += answer.found;
    published += answer.published;
    unpublishable += answer.unpublishable ?? 0;
    if (answer.nextMs === undefined) return { found, published, unpublishable };
    standstills = answer.nextMs > sinceMs ? 0 : standstills + 1;
    sinceMs = answer.nextMs;
  }
  throw new CliFailure(
    ExitCode.incomplete,
    `The event bus does not accept events: continue later with --created-from ${Math.floor(sinceMs / 1000)}.`,
  );
}

/** @throws CliFailure with the function's error message */
export async function invoke<Answer>(client: LambdaClient, functionName: string, payload: unknown): Promise<Answer> {
  const { FunctionError, Payload } = await client.send(
    new InvokeCommand({ FunctionName: functionName, Payload: JSON.stringify(payload) }),
  );
  const answer = JSON.parse(Buffer.from(Payload ?? []).toString('utf8')) as unknown;
  if (FunctionError === undefined) return answer as Answer;
  const { errorMessage = FunctionError } = answer as { errorMessage?: string };
  throw new CliFailure(ExitCode.refused, `The function ${functionName} failed: ${errorMessage}`);
}
