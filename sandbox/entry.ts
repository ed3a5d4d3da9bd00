import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { handle } from 'hono/aws-lambda';
import { createSandbox } from './routes.ts';
import { runTasks } from './task-batch.ts';
import type { SandboxWorld } from './world.ts';

/** Answers calls of the API as they come from API Gateway. */
export type ApiHandler = ReturnType<typeof handle>;

export type SandboxHandler = ApiHandler & ((event: SQSEvent) => Promise<SQSBatchResponse>);

/** One function for the API and for what it does later, because both change the same charges. */
export function createHandler(world: SandboxWorld): SandboxHandler {
  const api = handle(createSandbox(world));
  const handler = (event: SQSEvent | Parameters<ApiHandler>[0], context?: Parameters<ApiHandler>[1]) =>
    'Records' in event ? runTasks(world, event) : api(event, context);
  // The shape of the event decides what is answered, which an overload says and a union does not.
  return handler as SandboxHandler;
}
