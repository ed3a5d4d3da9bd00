import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { handle } from 'hono/aws-lambda';
import { createSandbox } from './routes.ts';
import { runTasks } from './task-batch.ts';
import type { SandboxWorld } from './world.ts';

export type ApiHandler = ReturnType<typeof handle>;

export type SandboxHandler = ApiHandler & ((event: SQSEvent) => Promise<SQSBatchResponse>);

/** API requests and queued tasks change the same charges, so one handler serves both. */
export function createHandler(world: SandboxWorld): SandboxHandler {
  const api = handle(createSandbox(world));
  const handler = (event: SQSEvent | Parameters<ApiHandler>[0], context?: Parameters<ApiHandler>[1]) =>
    'Records' in event ? runTasks(world, event) : api(event, context);
  // The result type depends on the event type. An overload can express this; a union cannot.
  return handler as SandboxHandler;
}
