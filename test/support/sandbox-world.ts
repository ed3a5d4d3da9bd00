import { handle } from 'hono/aws-lambda';
import type { Books } from '../../lambdas/sandbox-processor/books.ts';
import type { SandboxWorld } from '../../lambdas/sandbox-processor/charging.ts';
import { createMemoryBooks } from '../../lambdas/sandbox-processor/memory-books.ts';
import { createSandbox } from '../../lambdas/sandbox-processor/routes.ts';

export type SandboxHandler = ReturnType<typeof handle>;

/** A sandbox whose time stands still until it is told otherwise, and whose waits are over at once and noted. */
export interface TestSandbox {
  readonly handler: SandboxHandler;
  /** Milliseconds asked for, in order. */
  readonly waits: readonly number[];
  advance(milliseconds: number): void;
}

/** 2026-01-01T00:00:00Z */
export const SANDBOX_START_MS = 1_767_225_600_000;

export function createTestSandbox(books: Books = createMemoryBooks()): TestSandbox {
  let nowMs = SANDBOX_START_MS;
  let ids = 0;
  const waits: number[] = [];
  const run = crypto.randomUUID().slice(0, 8);
  const world: SandboxWorld = {
    books,
    nowMs: () => nowMs,
    newId: (prefix) => {
      ids += 1;
      return `${prefix}${run}_${String(ids).padStart(6, '0')}`;
    },
    wait: async (milliseconds) => {
      waits.push(milliseconds);
    },
  };
  return {
    handler: handle(createSandbox(world)),
    waits,
    advance: (milliseconds) => {
      nowMs += milliseconds;
    },
  };
}
